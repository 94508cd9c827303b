package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// SeedName is the cluster's name of what is on the seed.
const SeedName = "seed"

// k3sRenewDays is how long before their end k3s makes new certificates when it starts
// (k3s' config.CertificateRenewDays).
const k3sRenewDays = 120

// k3sFiles prints each certificate of k3s, after a line with its path.
const k3sFiles = `find /var/lib/rancher/k3s/server/tls /var/lib/rancher/k3s/agent -maxdepth 2 -name '*.crt' -type f -exec sh -c 'for f; do echo "## $f"; cat "$f"; done' sh {} +`

// Machine runs programs as root.
type Machine interface {
	Run(ctx context.Context, program string, args ...string) (string, error)
}

// Seed lists the certificates of k3s on the seed.
func Seed(ctx context.Context, seed Machine) (Listing, error) {
	out, err := seed.Run(ctx, "sh", "-c", k3sFiles)
	if err != nil {
		return Listing{}, fmt.Errorf("reading the certificates of k3s: %w", err)
	}
	l := inFiles(out)
	if len(l.Certificates) == 0 {
		return l, errors.New("there are no certificates of k3s on the seed")
	}
	return l, nil
}

// inFiles reads what k3sFiles printed.
func inFiles(out string) Listing {
	var l Listing
	for _, part := range strings.Split("\n"+out, "\n## ")[1:] {
		file, text, _ := strings.Cut(part, "\n")
		found, err := leaf([]byte(text))
		if err != nil {
			l.miss("file "+file+" on the seed", err)
			continue
		}
		c := Certificate{Cluster: SeedName, Use: UseSeed, Object: "file " + file, Ends: found.NotAfter.UTC(), RenewedBy: ByK3s, RenewsAt: found.NotAfter.AddDate(0, 0, -k3sRenewDays).UTC()}
		if found.IsCA || strings.HasSuffix(path.Base(file), "-ca.crt") {
			c.Use, c.RenewedBy, c.RenewsAt = UseAuthority, ByNobody, time.Time{}
		}
		l.Certificates = append(l.Certificates, c)
	}
	return l
}

// InState lists the client certificate of a kubeconfig that the state has. Without a client
// certificate it is empty. An empty namespace means the seed's.
func InState(namespace, name, kubeconfig string) Listing {
	var l Listing
	object := "kubeconfig in the state"
	found, err := clientOf([]byte(kubeconfig))
	if err != nil {
		l.miss(object+" of "+name, err)
	} else if found != nil {
		at := rereadCluster(found)
		if namespace == "" {
			at = rereadSeed(found)
		}
		l.Certificates = append(l.Certificates, Certificate{Cluster: name, Namespace: namespace, Use: UseKubeconfig, Object: object, Ends: found.NotAfter.UTC(), RenewedBy: ByUp, RenewsAt: at})
	}
	return l
}

// rereadSeed is when k3s makes a new client certificate as soon as it starts.
func rereadSeed(c *x509.Certificate) time.Time { return c.NotAfter.AddDate(0, 0, -k3sRenewDays).UTC() }

// rereadCluster is when Cluster API has renewed the kubeconfig: it does so at half of its
// life, when it looks the next time.
func rereadCluster(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 10 * 6).UTC()
}

// SeedKubeconfigDue reports whether the client certificate of the seed's kubeconfig is old
// enough for k3s to make a new one when it starts.
func SeedKubeconfigDue(kubeconfig string, now time.Time) bool {
	return due(kubeconfig, rereadSeed, now)
}

// ClusterKubeconfigDue reports whether Cluster API has a newer kubeconfig of a cluster than
// this one.
func ClusterKubeconfigDue(kubeconfig string, now time.Time) bool {
	return due(kubeconfig, rereadCluster, now)
}

func due(kubeconfig string, when func(*x509.Certificate) time.Time, now time.Time) bool {
	found, err := clientOf([]byte(kubeconfig))
	return err == nil && found != nil && !now.Before(when(found))
}

// DueOnSeed returns the certificates of k3s that it makes again when it starts.
func DueOnSeed(l Listing, now time.Time) []Certificate {
	var found []Certificate
	for _, c := range l.Certificates {
		if c.RenewedBy == ByK3s && !c.RenewsAt.IsZero() && !now.Before(c.RenewsAt) {
			found = append(found, c)
		}
	}
	return found
}
