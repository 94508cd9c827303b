// Package expiry lists the certificates of an environment, for the commands that tell when
// they end.
package expiry

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
)

const (
	// SoonDays are fewer than those before the end at which certificates are renewed: what
	// is left then has not been renewed.
	SoonDays = 21
	// Patience is how long all may take to answer.
	Patience = 2 * time.Minute
)

// List asks all at the same time. What could not be looked at is in the listing.
func List(ctx context.Context, w *witness.Witness) (certs.Listing, error) {
	seed, err := w.Seed()
	if err != nil {
		return certs.Listing{}, err
	}
	name := w.Loaded.Environment.Metadata.Name
	var all certs.Listing
	if seed.Kubeconfig != "" {
		all.Add(certs.InState("", certs.SeedName, seed.Kubeconfig))
	}
	if seed.Management != "" {
		all.Add(certs.InState(stacks.ManagementNamespace, name, seed.Management))
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	look := func(what string, find func() (certs.Listing, error)) {
		group.Go(func() {
			found, err := find()
			mu.Lock()
			defer mu.Unlock()
			all.Add(found)
			if err != nil {
				all.Unseen = append(all.Unseen, certs.Unseen{What: what, Why: err.Error()})
			}
		})
	}
	if seed.Kubeconfig != "" {
		look("k3s on the seed", func() (certs.Listing, error) {
			machine, err := w.Machine()
			if err != nil {
				return certs.Listing{}, err
			}
			return certs.Seed(ctx, machine)
		})
		look("Kubernetes on the seed", func() (certs.Listing, error) { return onPlace(ctx, w, w.OnSeed, "", certs.SeedName) })
	}
	look("management cluster", func() (certs.Listing, error) {
		return onPlace(ctx, w, w.Management, stacks.ManagementNamespace, name)
	})
	group.Wait()
	all.Sort()
	return all, nil
}

// onPlace lists what serves TLS on a Kubernetes, and the clusters whose objects it has.
func onPlace(ctx context.Context, w *witness.Witness, open func() (*kube.Cluster, error), namespace, name string) (certs.Listing, error) {
	on, err := open()
	if err != nil || on == nil {
		return certs.Listing{}, err
	}
	all, err := certs.Serving(ctx, on, namespace, name)
	if err != nil {
		return all, err
	}
	machine, err := w.Machine()
	if err != nil {
		machine = nil // clusters are reached directly then
	}
	clusters, err := certs.Clusters(ctx, on, target.Way(on, machine))
	all.Add(clusters)
	return all, err
}

// Folded has one line for the many files of k3s: the one that ends first.
func Folded(all []certs.Certificate) []certs.Certificate {
	var rows []certs.Certificate
	files := map[string]int{}
	for _, c := range all { // in the order of their ends
		if c.Cluster != certs.SeedName || !strings.HasPrefix(c.Object, "file ") {
			rows = append(rows, c)
			continue
		}
		if files[c.Use]++; files[c.Use] == 1 {
			rows = append(rows, c)
		}
	}
	for i, c := range rows {
		if n := files[c.Use]; n > 1 && c.Cluster == certs.SeedName && strings.HasPrefix(c.Object, "file ") {
			rows[i].Object = fmt.Sprintf("%d files, the first: %s", n, c.Object[strings.LastIndex(c.Object, "/")+1:])
		}
	}
	return rows
}

// Cluster names the cluster that needs a certificate.
func Cluster(c certs.Certificate) string {
	if c.Namespace == "" || c.Namespace == c.Cluster || c.Namespace == stacks.ManagementNamespace {
		return c.Cluster
	}
	return c.Namespace + "/" + c.Cluster
}

// Left says how long it is until a certificate ends: "20d", "ended 2d ago".
func Left(ends, now time.Time) string {
	if ends.Before(now) {
		return "ended " + duration.HumanDuration(now.Sub(ends)) + " ago"
	}
	return duration.HumanDuration(ends.Sub(now))
}

// Renewal says what renews a certificate, and from when on.
func Renewal(c certs.Certificate) string {
	word := map[string]string{certs.ByRollout: "a new machine", certs.ByClusterAPI: "Cluster API", certs.ByCertManager: "cert-manager", certs.ByK3s: "k3s when it starts",
		certs.ByUp: "slipway up", certs.ByNobody: "nobody"}[c.RenewedBy]
	if !c.RenewsAt.IsZero() {
		word += ", from " + c.RenewsAt.Format(time.DateOnly)
	}
	return word
}
