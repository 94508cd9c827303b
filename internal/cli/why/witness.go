package why

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// witness is everything that can be asked about an environment. What cannot be reached
// is noted, and the rest is asked all the same.
type witness struct {
	loaded *config.Loaded
	seed   *target.Seed
	own    *cause.Cloud
	places []place
	unseen []cause.Unseen
	leave  []func()
	now    time.Time
}

// place is a cluster that holds objects of Cluster API.
type place struct {
	name   string
	client dynamic.Interface
}

func open(ctx context.Context, from environment.Flags) (*witness, error) {
	loaded, err := from.Load()
	if err != nil {
		return nil, err
	}
	w := &witness{loaded: loaded, now: time.Now()}
	t, noCloud := target.Open(ctx, from, event.Discard{})
	if noCloud != nil {
		w.own = &cause.Cloud{Refused: look.Refusal(noCloud), Login: string(loaded.Environment.Spec.Cloud)}
		w.seed, _, err = target.OpenSeed(ctx, from)
	} else {
		w.leave = append(w.leave, t.Cloud.Close)
		if w.own, err = look.Take(ctx, t.Cloud); err != nil {
			w.miss("the cloud", err)
		}
		w.seed, err = t.Seed(ctx)
	}
	if err != nil {
		w.miss("the seed", err)
		return w, nil
	}
	w.reach(ctx)
	return w, nil
}

func (w *witness) miss(what string, why error) {
	w.unseen = append(w.unseen, cause.Unseen{What: what, Why: why.Error()})
}

// reach connects to the seed's Kubernetes and to the management cluster.
func (w *witness) reach(ctx context.Context) {
	machine, err := w.seed.Login(ctx)
	if err != nil {
		w.miss("Kubernetes on the seed", err)
	} else {
		w.leave = append(w.leave, func() { machine.Close() })
		if w.seed.Kubeconfig != "" {
			on, err := kubernetes.Reach(machine, w.seed.Kubeconfig)
			if err != nil {
				w.miss("Kubernetes on the seed", err)
			} else {
				w.places = append(w.places, place{"seed", on.Dynamic})
			}
		}
	}
	if w.seed.Management == "" {
		return
	}
	m, leave, err := w.seed.OpenManagement(ctx, w.loaded)
	if err != nil {
		w.miss("the management cluster", err)
		return
	}
	w.leave = append(w.leave, leave)
	w.places = append(w.places, place{"management", m.Kube.Dynamic})
}

func (w *witness) close() {
	for i := len(w.leave) - 1; i >= 0; i-- {
		w.leave[i]()
	}
}

// answer explains all, or what has a name or an ID.
func (w *witness) answer(ctx context.Context, asked, namespace string) result {
	r := result{Environment: w.loaded.Environment.Metadata.Name, Asked: asked, At: w.now, Unseen: w.unseen}
	cache := look.NewCache(time.Now)
	for _, p := range w.places {
		all, err := clusterapi.ReadAll(ctx, p.client, metav1.NamespaceAll)
		if err != nil {
			r.Unseen = append(r.Unseen, cause.Unseen{What: "the clusters on the " + p.name + " cluster", Why: err.Error()})
			continue
		}
		r.Answers = append(r.Answers, explain(ctx, p, all, cache, asked, namespace, w.now)...)
	}
	if own := w.servers(); len(own.Servers) > 0 && namespace == "" {
		if asked == "" || own.Has(asked) {
			r.Answers = append([]answer{{On: "cloud", Answer: cause.Explain(own)}}, r.Answers...)
		}
	}
	return r
}

// servers are the environment's own: the seed.
func (w *witness) servers() cause.Snapshot {
	s := cause.Snapshot{Cloud: w.own, Now: w.now}
	if w.seed != nil && w.seed.ServerID != "" {
		s.Servers = []cause.Ref{{Kind: "server", Name: w.seed.Name, ID: w.seed.ServerID}}
	}
	return s
}

// explain explains the clusters of one place: those that are asked about, or that have
// the object that is.
func explain(ctx context.Context, p place, all clusterapi.Clusters, cache *look.Cache, asked, namespace string, now time.Time) []answer {
	reports := all.Reports(nil, now)
	wanted := func(r clusterapi.Report) bool { return namespace == "" || r.Namespace == namespace }
	if asked != "" {
		exact := map[string]bool{}
		for _, r := range reports {
			if snapshot := (cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Now: now}); wanted(r) && (r.Name == asked || snapshot.Has(asked)) {
				exact[r.Namespace+"/"+r.Name] = true
			}
		}
		in := wanted
		// What no object names may be a resource of the cloud: all clusters are asked then.
		wanted = func(r clusterapi.Report) bool { return in(r) && (len(exact) == 0 || exact[r.Namespace+"/"+r.Name]) }
	}
	said := all.Ask(ctx, p.client, cache, true, wanted)
	var answers []answer
	for _, r := range reports {
		if !wanted(r) {
			continue
		}
		snapshot := cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Cloud: said.Of(r.Namespace, r.Name), Now: now}
		a := answer{On: p.name, Namespace: r.Namespace, Cluster: r.Name, Answer: cause.Explain(snapshot)}
		if asked == "" || r.Name == asked {
			answers = append(answers, a)
			continue
		}
		if found := a.About(asked); len(found.Findings) > 0 || snapshot.Has(asked) {
			a.Answer = found
			answers = append(answers, a)
		}
	}
	return answers
}
