// Package inventory is what the REST API reads: the custom resources in
// memory, as informers tell of them, found by project, uuid and name.
// Everything in it is shared and must not be changed.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Informers is the part of controller-runtime's cache that is needed.
type Informers interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Inventory is safe for concurrent use.
type Inventory struct {
	synced []toolscache.ResourceEventHandlerRegistration

	mu        sync.RWMutex
	changed   chan struct{}
	versions  map[kindKey]string
	templates table[*v1alpha1.ClusterTemplate]
	clusters  table[*v1alpha1.Cluster]
	groups    map[types.NamespacedName]map[string]*v1alpha1.NodeGroup
	quotas    map[string]*v1alpha1.Quota
	views     map[types.NamespacedName]*View
	lists     map[string][]*View
	// counts are the clusters of each project.
	counts map[string]int
}

// kindKey names an object of any kind.
type kindKey struct {
	kind string
	types.NamespacedName
}

// Kind is the name by which AwaitVersion knows the kind of an object.
func Kind(o client.Object) string { return fmt.Sprintf("%T", o) }

func keyOf(o client.Object) kindKey { return kindKey{Kind(o), client.ObjectKeyFromObject(o)} }

// New returns an inventory that follows the informers until their cache stops.
// It starts nothing: the cache is its owner's.
func New(ctx context.Context, informers Informers) (*Inventory, error) {
	i := newInventory()
	for _, kind := range []client.Object{&v1alpha1.ClusterTemplate{}, &v1alpha1.Cluster{}, &v1alpha1.NodeGroup{}, &v1alpha1.Quota{}} {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { i.put(o) },
			UpdateFunc: func(_, o any) { i.put(o) },
			DeleteFunc: func(o any) { i.drop(o) },
		})
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
		i.synced = append(i.synced, registration)
	}
	return i, nil
}

func newInventory() *Inventory {
	return &Inventory{changed: make(chan struct{}), versions: map[kindKey]string{}, templates: newTable[*v1alpha1.ClusterTemplate](), clusters: newTable[*v1alpha1.Cluster](),
		groups: map[types.NamespacedName]map[string]*v1alpha1.NodeGroup{}, quotas: map[string]*v1alpha1.Quota{},
		views: map[types.NamespacedName]*View{}, lists: map[string][]*View{}, counts: map[string]int{}}
}

// Synced reports whether everything that existed at the start has been seen.
func (i *Inventory) Synced() bool {
	return !slices.ContainsFunc(i.synced, func(r toolscache.ResourceEventHandlerRegistration) bool { return !r.HasSynced() })
}

// belongs reports whether an object is in the namespace of the project it names; others are not
// served: who may write to one namespace must not put clusters into another project's list.
func belongs(o client.Object, project string) bool {
	return o.GetNamespace() == v1alpha1.Namespace(project)
}

func (i *Inventory) put(o any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch o := o.(type) {
	case *v1alpha1.ClusterTemplate:
		if belongs(o, o.Spec.ProjectID) {
			i.templates.put(o)
		}
	case *v1alpha1.Cluster:
		if belongs(o, o.Spec.ProjectID) {
			i.clusters.put(o)
			i.review(client.ObjectKeyFromObject(o))
		}
	case *v1alpha1.NodeGroup:
		if belongs(o, o.Spec.ProjectID) {
			i.putGroup(o)
		}
	case *v1alpha1.Quota:
		if belongs(o, o.Spec.ProjectID) && o.Name == v1alpha1.QuotaName(o.Spec.Resource) {
			i.quotas[o.Spec.ProjectID] = o
		}
	}
	if o, ok := o.(client.Object); ok {
		i.versions[keyOf(o)] = o.GetResourceVersion()
	}
	i.tell()
}

func (i *Inventory) drop(o any) {
	if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch o := o.(type) {
	case *v1alpha1.ClusterTemplate:
		i.templates.drop(client.ObjectKeyFromObject(o))
	case *v1alpha1.Cluster:
		i.clusters.drop(client.ObjectKeyFromObject(o))
		i.review(client.ObjectKeyFromObject(o))
	case *v1alpha1.NodeGroup:
		key := groupOwner(o)
		delete(i.groups[key], o.Name)
		if len(i.groups[key]) == 0 {
			delete(i.groups, key)
		}
		i.review(key)
	case *v1alpha1.Quota:
		if belongs(o, o.Spec.ProjectID) {
			delete(i.quotas, o.Spec.ProjectID)
		}
	}
	if o, ok := o.(client.Object); ok {
		delete(i.versions, keyOf(o))
	}
	i.tell()
}

func groupOwner(g *v1alpha1.NodeGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ClusterName}
}

func (i *Inventory) putGroup(g *v1alpha1.NodeGroup) {
	key := groupOwner(g)
	if i.groups[key] == nil {
		i.groups[key] = map[string]*v1alpha1.NodeGroup{}
	}
	i.groups[key][g.Name] = g
	i.review(key)
}

// review makes a new view of a cluster, or none when it is gone.
func (i *Inventory) review(key types.NamespacedName) {
	clear(i.lists)
	if old := i.views[key]; old != nil {
		delete(i.views, key)
		i.count(old, -1)
	}
	c, ok := i.clusters.byKey[key]
	if !ok {
		return
	}
	view := &View{Cluster: c, ID: SortID(c), Groups: missingGroups(c, i.groups[key])}
	for _, g := range i.groups[key] {
		view.Groups = append(view.Groups, g)
	}
	slices.SortFunc(view.Groups, groupOrder)
	i.views[key] = view
	i.count(view, 1)
}

func (i *Inventory) count(v *View, by int) {
	project := v.Cluster.Spec.ProjectID
	if i.counts[project] += by; i.counts[project] == 0 {
		delete(i.counts, project)
	}
}

// missingGroups are the default groups that the controllers have not written
// yet, or have let go before the cluster, as they are from the cluster's
// creation to its end. They have no resourceVersion, and nobody may change them:
// a cluster that waits for the controllers refuses changes.
func missingGroups(c *v1alpha1.Cluster, stored map[string]*v1alpha1.NodeGroup) []*v1alpha1.NodeGroup {
	has := func(name string) bool { return stored[v1alpha1.NodeGroupName(c, name)] != nil }
	if has(v1alpha1.DefaultMaster) && has(v1alpha1.DefaultWorker) {
		return nil
	}
	return slices.DeleteFunc(v1alpha1.DefaultGroups(c), func(g *v1alpha1.NodeGroup) bool { return stored[g.Name] != nil })
}

func groupOrder(a, b *v1alpha1.NodeGroup) int {
	rank := func(g *v1alpha1.NodeGroup) int {
		switch {
		case g.Spec.IsDefault && Master(g):
			return 0
		case g.Spec.IsDefault:
			return 1
		}
		return 2
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return byID(a, b)
}

func (i *Inventory) tell() {
	close(i.changed)
	i.changed = make(chan struct{})
}

// await waits until done says so; done is called under the lock.
func (i *Inventory) await(ctx context.Context, limit time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		i.mu.RLock()
		ok, changed := done(), i.changed
		i.mu.RUnlock()
		if ok {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// Await waits until the inventory has o as it was written, or later, and with
// deleted until it no longer has o in this version; this is how a client that
// reads after its own write sees it. It gives up after limit and says whether
// it has seen it.
func (i *Inventory) Await(ctx context.Context, o client.Object, deleted bool, limit time.Duration) bool {
	return i.AwaitVersion(ctx, Kind(o), client.ObjectKeyFromObject(o), o.GetResourceVersion(), deleted, limit)
}

// AwaitVersion is Await for an object that another replica wrote.
func (i *Inventory) AwaitVersion(ctx context.Context, kind string, name types.NamespacedName, version string, deleted bool, limit time.Duration) bool {
	key := kindKey{kind, name}
	return i.await(ctx, limit, func() bool {
		if deleted {
			have := i.versions[key]
			return have != version && (have == "" || reached(have, version))
		}
		return reached(i.versions[key], version)
	})
}

// reached compares resource versions. Those of one API server are numbers that
// rise (Kubernetes KEP-5504); others can only be equal.
func reached(have, want string) bool {
	h, err1 := strconv.ParseUint(have, 10, 64)
	w, err2 := strconv.ParseUint(want, 10, 64)
	if err1 != nil || err2 != nil {
		return have == want
	}
	return h >= w
}
