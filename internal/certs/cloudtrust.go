package certs

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
)

// loginTime is how long the cloud may take to answer a login of one cluster.
const loginTime = 30 * time.Second

// Trust is how a cluster trusts the certificates of its cloud.
type Trust struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Secret has the cluster's login and the CA certificates: namespace/name.
	Secret string `json:"secret,omitempty"`
	// Missing are wanted certificates that the Secret does not have, Others those that it has
	// besides; both by their subjects.
	Missing []string `json:"missing,omitempty"`
	Others  []string `json:"others,omitempty"`
	// Pending says why what runs on the cluster may still use certificates of before.
	Pending string `json:"pending,omitempty"`
	// Problem says why the cloud does not accept the cluster's login, or is not trusted.
	Problem string `json:"problem,omitempty"`
}

// Proved reports whether the cluster has all wanted certificates, uses them, and logged in to the
// cloud with its own login and its own certificates.
func (t Trust) Proved() bool { return len(t.Missing) == 0 && t.Pending == "" && t.Problem == "" }

// TrustListing is what was found about all clusters.
type TrustListing struct {
	Clusters []Trust  `json:"clusters"`
	Unseen   []Unseen `json:"unseen,omitempty"`
}

// Add adds another listing.
func (l *TrustListing) Add(other TrustListing) {
	l.Clusters = append(l.Clusters, other.Clusters...)
	l.Unseen = append(l.Unseen, other.Unseen...)
}

// Miss notes what could not be looked at.
func (l *TrustListing) Miss(what string, why error) {
	l.Unseen = append(l.Unseen, Unseen{What: what, Why: why.Error()})
}

// Sort orders by namespace and name.
func (l *TrustListing) Sort() {
	slices.SortFunc(l.Clusters, func(a, b Trust) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
	})
	slices.SortFunc(l.Unseen, func(a, b Unseen) int { return cmp.Compare(a.What, b.What) })
}

// CloudTrust looks how the clusters whose objects are on a Kubernetes with Cluster API trust
// their cloud, which is to be by the wanted certificates. It logs in as each of them.
func CloudTrust(ctx context.Context, on *kube.Cluster, wanted []*x509.Certificate) (TrustListing, error) {
	all, err := clusterapi.ReadAll(ctx, on.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return TrustListing{}, err
	}
	pending, err := pendingTrust(ctx, on)
	if err != nil {
		return TrustListing{}, err
	}
	var (
		found TrustListing
		mu    sync.Mutex
	)
	forEach(all.Outline(), func(r clusterapi.Report) {
		one := trustOf(ctx, on, all, r, wanted)
		one.Pending = pending[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}]
		mu.Lock()
		defer mu.Unlock()
		found.Clusters = append(found.Clusters, one)
	})
	return found, nil
}

func trustOf(ctx context.Context, on *kube.Cluster, all clusterapi.Clusters, r clusterapi.Report, wanted []*x509.Certificate) Trust {
	t := Trust{Cluster: r.Name, Namespace: r.Namespace}
	at, login, err := all.Credential(ctx, on.Dynamic, r.Namespace, r.Name)
	if at.Name != "" {
		t.Secret = at.String()
	}
	if err != nil {
		t.Problem = "reading its credential: " + err.Error()
		return t
	}
	has, err := cert.ParseCertsPEM(login.CABundle)
	if err != nil && len(login.CABundle) > 0 {
		t.Problem = "reading its CA certificates: " + err.Error()
		return t
	}
	t.Missing, t.Others = subjects(wanted, has), subjects(has, wanted)
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	opened, err := cloud.Open(ctx, login)
	if err != nil {
		t.Problem = err.Error()
		return t
	}
	opened.Close()
	return t
}

// subjects are those of certificates that are not among others.
func subjects(of, others []*x509.Certificate) (list []string) {
	for _, c := range of {
		if !slices.ContainsFunc(others, c.Equal) {
			list = append(list, c.Subject.String())
		}
	}
	return list
}

// magnumClusters are those of the Magnum API, whose controllers say when pods have been restarted.
var magnumClusters = schema.GroupVersionResource{Group: "magnum.slipway.sh", Version: "v1alpha1", Resource: "clusters"}

// pendingTrust is what clusters of the Magnum API still wait for.
func pendingTrust(ctx context.Context, on *kube.Cluster) (map[types.NamespacedName]string, error) {
	list, err := on.Dynamic.Resource(magnumClusters).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing clusters of the Magnum API: %w", err)
	}
	pending := map[types.NamespacedName]string{}
	for _, c := range list.Items {
		name, _, _ := unstructured.NestedString(c.Object, "spec", "stackID")
		key := types.NamespacedName{Namespace: c.GetNamespace(), Name: cmp.Or(name, c.GetName())}
		conditions, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
		for _, one := range conditions {
			if is, _ := one.(map[string]any); is["type"] == "CloudCATrusted" && is["status"] != "True" {
				pending[key] = fmt.Sprint(is["message"])
			}
		}
	}
	return pending, nil
}

// Straggling are the clusters that are not proved.
func (l TrustListing) Straggling() []Trust {
	return slices.DeleteFunc(slices.Clone(l.Clusters), Trust.Proved)
}

// Says is what there is to know about a cluster, in one line.
func (t Trust) Says() string {
	var parts []string
	if len(t.Missing) > 0 {
		parts = append(parts, "lacks "+strings.Join(t.Missing, ", "))
	}
	for _, part := range []string{t.Pending, t.Problem} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "trusts the cloud"
	}
	return strings.Join(parts, "; ")
}
