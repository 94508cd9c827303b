// Package certs finds the certificates of an environment that end one day: those of
// clusters, of the seed and of what serves TLS on them, with what renews each and when.
package certs

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The renewers of certificates. They are part of the output.
const (
	// ByRollout is Cluster API, which replaces the machine.
	ByRollout = "rollout"
	// ByClusterAPI is Cluster API, in place.
	ByClusterAPI  = "cluster-api"
	ByCertManager = "cert-manager"
	// ByK3s is k3s on the seed: when it starts.
	ByK3s = "k3s"
	// ByUp is the next slipway up or refresh, which reads what has been renewed elsewhere.
	ByUp = "up"
	// ByNobody is for certificates that somebody has to replace.
	ByNobody = "nobody"
)

// The uses of certificates that people look for.
const (
	UseMachine    = "control plane machine"
	UseServed     = "API server, as served"
	UseKubeconfig = "kubeconfig"
	UseAuthority  = "authority"
	UseServing    = "serving"
	UseSeed       = "k3s"
)

// Certificate is a certificate, or a set of them with one end.
type Certificate struct {
	// Cluster is the cluster that needs it, "seed" for the seed. Namespace is that of the
	// cluster's objects; empty for the seed.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace,omitempty"`
	Use       string `json:"use"`
	// Object is where it is: a Machine, a Secret, a file or an address.
	Object string    `json:"object"`
	Ends   time.Time `json:"ends"`
	// RenewedBy is what renews it, RenewsAt the time from which on; zero if that is not
	// known.
	RenewedBy string    `json:"renewedBy"`
	RenewsAt  time.Time `json:"renewsAt,omitzero"`
}

// Unseen is what could not be looked at.
type Unseen struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Listing is what was found.
type Listing struct {
	Certificates []Certificate `json:"certificates"`
	Unseen       []Unseen      `json:"unseen,omitempty"`
}

// Add adds another listing.
func (l *Listing) Add(other Listing) {
	l.Certificates = append(l.Certificates, other.Certificates...)
	l.Unseen = append(l.Unseen, other.Unseen...)
}

func (l *Listing) miss(what string, why error) {
	l.Unseen = append(l.Unseen, Unseen{What: what, Why: why.Error()})
}

// Sort orders by cluster, those of the seed first, then by end.
func (l *Listing) Sort() {
	slices.SortFunc(l.Certificates, func(a, b Certificate) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster), a.Ends.Compare(b.Ends), cmp.Compare(a.Object, b.Object))
	})
	slices.SortFunc(l.Unseen, func(a, b Unseen) int { return cmp.Compare(a.What, b.What) })
}

func rank(c Certificate) int {
	if c.Namespace == "" {
		return 0
	}
	return 1
}

// EndingBy returns those that end before a time.
func (l *Listing) EndingBy(at time.Time) []Certificate {
	var due []Certificate
	for _, c := range l.Certificates {
		if c.Ends.Before(at) {
			due = append(due, c)
		}
	}
	return due
}

// leaf returns the first certificate in PEM: the others are of its issuers.
func leaf(text []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate: %w", err)
		}
		return c, nil
	}
	return nil, errors.New("it has no certificate in PEM")
}

// halfway is when half of the life of a certificate is over.
func halfway(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 2).UTC()
}
