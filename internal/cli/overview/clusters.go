package overview

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
)

// askTime bounds the questions to all clusters of one place and to their clouds, which are
// asked side by side: status has to answer also if some of them do not.
const askTime = 8 * time.Second

// clusters are those of a cluster, with what `slipway why` would find. The cloud is asked
// about those that are not ready, and about the management cluster in any case: Cluster API
// learns only after minutes that a server is gone. All that have an API are asked themselves.
func clusters(ctx context.Context, c *kube.Cluster, on string, way within.Way) ([]Cluster, error) {
	all, err := clusterapi.ReadAll(ctx, c.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return nil, fmt.Errorf("reading the clusters on the %s cluster: %w", on, err)
	}
	if len(all.Outline()) == 0 {
		return nil, nil
	}
	asking, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("status asks for %s at most; slipway why asks for longer", askTime))
	defer cancel()
	var (
		group       sync.WaitGroup
		themselves  within.Said
		controllers []cause.Controller
	)
	group.Go(func() { controllers = clusterapi.Controllers(asking, c.Dynamic) })
	group.Go(func() {
		themselves = within.Ask(asking, way, all, func(clusterapi.Report) bool { return true })
	})
	said := all.Ask(asking, c.Dynamic, look.NewCache(time.Now), false, func(r clusterapi.Report) bool {
		return clusterapi.Sick(r) || r.Namespace == stacks.ManagementNamespace
	})
	group.Wait()
	var list []Cluster
	for _, report := range all.Judge(func(namespace, name string) clusterapi.Known {
		k := clusterapi.Known{Cloud: said.Of(namespace, name), Controllers: controllers}
		k.Inside, k.Unseen = themselves.Of(namespace, name)
		k.Unseen = append(k.Unseen, said.Unseen(namespace, name)...)
		return k
	}, time.Now()) {
		list = append(list, Cluster{on, report})
	}
	return list, nil
}

// helpless are the causes of a cluster that waiting does not end.
func (c Cluster) helpless() (all []cause.Finding) {
	for _, f := range c.Findings {
		if f.NeedsHelp() || f.Ending == cause.Final {
			all = append(all, f)
		}
	}
	return all
}

// hidden are lines about what is not well of a cluster that Cluster API calls ready, such as
// what the cluster says itself.
func (c Cluster) hidden(now time.Time) (lines [][]string) {
	for _, f := range c.helpless() {
		since := ""
		if !f.Since.IsZero() {
			since = "since " + duration.HumanDuration(now.Sub(f.Since))
		}
		lines = append(lines, []string{"  " + f.Object.Kind, f.Object.Name, shortened(f.Cause, target.MostOfCause), since})
	}
	return lines
}

// unseen is one line about the clusters that were not asked themselves; "" is none.
func (r Overview) unseen() string {
	first, more := "", 0
	for _, c := range r.Clusters {
		for _, u := range c.Unseen {
			if u.What != cause.WithinCluster {
				continue
			}
			if first == "" {
				first = fmt.Sprintf("not looked into cluster %s: %s", c.Name, u.Why)
			} else {
				more++
			}
			break
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return first
}
