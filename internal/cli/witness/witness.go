// Package witness asks everything that can be asked about an environment, for the
// commands that say why something is not well. What cannot be reached is noted, and the
// rest is asked all the same.
package witness

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// patience is how long one way to an environment may take.
const patience = 30 * time.Second

// Witness is everything that can be asked. Each way is opened once, when it is first
// needed; the ways do not wait for each other. Close it in the end.
type Witness struct {
	Loaded *config.Loaded
	// Target is the environment with its cloud and its engine.
	Target func() (*target.Target, error)
	// Cloud is what the environment's own project says.
	Cloud func() (*cause.Cloud, error)
	// Seed is the seed as the state has it.
	Seed func() (*target.Seed, error)
	// Machine is an SSH connection to the seed.
	Machine func() (*remote.Machine, error)
	// OnSeed and Management are the Kubernetes clusters; nil without an error if there is
	// none yet.
	OnSeed, Management func() (*kube.Cluster, error)

	mu    sync.Mutex
	leave []func()
	now   time.Time
	// clouds reads each project once, whoever asks.
	clouds *look.Cache
}

// Open reads the environment file; everything else is opened when it is needed, and lasts
// as long as ctx.
func Open(ctx context.Context, from environment.Flags) (*Witness, error) {
	loaded, err := from.Load()
	if err != nil {
		return nil, err
	}
	w := &Witness{Loaded: loaded, now: time.Now(), clouds: look.NewCache(time.Now)}
	w.Target = once(ctx, func(ctx context.Context) (*target.Target, error) {
		t, err := target.Open(ctx, from, event.Discard{})
		if err == nil {
			w.onClose(t.Cloud.Close)
		}
		return t, err
	})
	w.Cloud = once(ctx, func(ctx context.Context) (*cause.Cloud, error) {
		t, err := w.Target()
		if err != nil {
			return &cause.Cloud{Refused: look.Refusal(err), Login: loaded.Environment.Spec.Cloud}, nil
		}
		return w.clouds.Read(ctx, t.Cloud)
	})
	w.Seed = once(ctx, func(ctx context.Context) (*target.Seed, error) {
		seed, _, err := target.OpenSeed(ctx, from)
		return seed, err
	})
	w.Machine = once(ctx, func(ctx context.Context) (*remote.Machine, error) {
		seed, err := w.Seed()
		if err != nil {
			return nil, err
		}
		machine, err := seed.Login(ctx)
		if err == nil {
			w.onClose(func() { machine.Close() })
		}
		return machine, err
	})
	w.OnSeed, w.Management = once(ctx, w.onSeed), once(ctx, w.management)
	return w, nil
}

// once opens a way once, within its time, however many need it.
func once[T any](ctx context.Context, open func(context.Context) (T, error)) func() (T, error) {
	return sync.OnceValues(func() (T, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
		defer cancel()
		return open(ctx)
	})
}

func (w *Witness) onSeed(context.Context) (*kube.Cluster, error) {
	seed, err := w.Seed()
	if err != nil || seed.Kubeconfig == "" {
		return nil, err
	}
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	return kubernetes.Reach(machine, seed.Kubeconfig)
}

func (w *Witness) management(ctx context.Context) (*kube.Cluster, error) {
	seed, err := w.Seed()
	if err != nil || seed.Management == "" {
		return nil, err
	}
	m, leave, err := seed.OpenManagement(ctx, w.Loaded)
	if err != nil {
		return nil, err
	}
	w.onClose(leave)
	return m.Kube, nil
}

func (w *Witness) onClose(leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave = append(w.leave, leave)
}

// Close ends all connections.
func (w *Witness) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.leave) - 1; i >= 0; i-- {
		w.leave[i]()
	}
	w.leave = nil
}

// Place is a cluster that holds objects of Cluster API.
type Place struct {
	// Name is "seed" or "management".
	Name   string
	Client dynamic.Interface
	// Tenants are how the Magnum API calls its clusters; nil if there is none, or if nobody knows.
	Tenants map[workload.Key]workload.Tenant
	// Way leads to the clusters themselves; nil means that they are not asked.
	Way within.Way
}

// Snapshots asks about all clusters, or about those that may have to do with an object of
// a name or an ID; an empty namespace means all.
func (w *Witness) Snapshots(ctx context.Context, asked, namespace string) support.Snapshots {
	s := support.Snapshots{Environment: w.Loaded.Environment.Metadata.Name, At: w.now}
	miss := func(what string, why error) { s.Unseen = append(s.Unseen, cause.Unseen{What: what, Why: why.Error()}) }
	own, err := w.Cloud()
	if err != nil {
		miss("the cloud", err)
	}
	seed, noSeed := w.Seed()
	if noSeed != nil {
		miss("the seed", noSeed)
	}
	for _, way := range []struct {
		name, unseen string
		open         func() (*kube.Cluster, error)
	}{{"seed", "Kubernetes on the seed", w.OnSeed}, {"management", "the management cluster", w.Management}} {
		if noSeed != nil {
			continue
		}
		cluster, err := way.open()
		switch {
		case err != nil:
			miss(way.unseen, err)
		case cluster != nil:
			place := Place{Name: way.name, Client: cluster.Dynamic, Way: w.way(cluster)}
			if place.Tenants, err = workload.Tenants(ctx, cluster.Dynamic, metav1.NamespaceAll); err != nil {
				miss("the names of clusters in the Magnum API on the "+way.name+" cluster", err)
			}
			all, err := clusterapi.ReadAll(ctx, place.Client, metav1.NamespaceAll)
			if err != nil {
				miss("the clusters on the "+way.name+" cluster", err)
				continue
			}
			s.Scenes = append(s.Scenes, Scenes(ctx, place, all, w.clouds, asked, namespace, w.now)...)
		}
	}
	if seed != nil && seed.ServerID != "" && namespace == "" {
		servers := cause.Snapshot{Cloud: own, Now: w.now, Servers: []cause.Ref{{Kind: "server", Name: seed.Name, ID: seed.ServerID}}}
		s.Scenes = append([]support.Scene{{On: "cloud", Snapshot: servers}}, s.Scenes...)
	}
	return s
}

// Scenes are the snapshots of the clusters of one place: of those that are asked about,
// or that have the object that is.
func Scenes(ctx context.Context, p Place, all clusterapi.Clusters, cache *look.Cache, asked, namespace string, now time.Time) []support.Scene {
	reports := all.Outline()
	wanted := func(r clusterapi.Report) bool { return namespace == "" || r.Namespace == namespace }
	if asked != "" {
		exact := map[string]bool{}
		for _, r := range reports {
			if snapshot := (cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Now: now}); wanted(r) && (p.scene(r).Called(asked) || snapshot.Has(asked)) {
				exact[r.Namespace+"/"+r.Name] = true
			}
		}
		in := wanted
		// What no object names may be a resource of the cloud: all clusters are asked then.
		wanted = func(r clusterapi.Report) bool { return in(r) && (len(exact) == 0 || exact[r.Namespace+"/"+r.Name]) }
	}
	var themselves within.Said
	var group sync.WaitGroup
	var controllers []cause.Controller
	group.Go(func() { controllers = clusterapi.Controllers(ctx, p.Client) })
	group.Go(func() { themselves = within.Ask(ctx, p.Way, all, wanted) })
	clouds := all.Ask(ctx, p.Client, cache, true, wanted)
	group.Wait()
	var scenes []support.Scene
	for _, r := range reports {
		if !wanted(r) {
			continue
		}
		snapshot := cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Cloud: clouds.Of(r.Namespace, r.Name), Controllers: controllers, Now: now}
		snapshot.Inside, snapshot.Unseen = themselves.Of(r.Namespace, r.Name)
		snapshot.Unseen = append(snapshot.Unseen, clouds.Unseen(r.Namespace, r.Name)...)
		scene := p.scene(r)
		snapshot.Magnum = scene.UUID
		scene.Snapshot = snapshot
		scenes = append(scenes, scene)
	}
	return scenes
}

// scene is that of a cluster, without what is known of it.
func (p Place) scene(r clusterapi.Report) support.Scene {
	tenant := p.Tenants[workload.Key{Namespace: r.Namespace, Name: r.Name}]
	return support.Scene{On: p.Name, Namespace: r.Namespace, Cluster: r.Name, Title: tenant.Name, UUID: tenant.UUID}
}
