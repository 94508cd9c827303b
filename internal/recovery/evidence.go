package recovery

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// Cloud is what the cloud lists in the projects of the restored clusters.
type Cloud struct {
	snapshot.Inventory
	Networks, Routers, SecurityGroups []snapshot.Resource
	// Projects are the IDs of the clusters' projects by "namespace/name".
	Projects map[string]string
	// Unread are clusters whose project could not be listed completely, with the
	// cause: nothing can be proved of them.
	Unread map[string]string
	// ClockOffset is how much the cloud's clock is ahead of ours.
	ClockOffset time.Duration
}

// Evidence is all that the proofs judge.
type Evidence struct {
	Snapshot *snapshot.Snapshot
	Plan     *Plan
	// Live are the objects of the new management cluster, of all the plan's kinds.
	Live  []*unstructured.Unstructured
	Cloud Cloud
	// Controllers are the versions of the new cluster's, as in the snapshot.
	Controllers map[string]string
	Now         time.Time

	index *index
}

// index finds live objects.
type index struct {
	byUID  map[types.UID]*unstructured.Unstructured
	byName map[Reference]*unstructured.Unstructured
	// restored are the live objects by the UID of the backup.
	restored map[types.UID]*unstructured.Unstructured
	// owned are the objects that an owner controls, by its UID.
	owned map[types.UID][]*unstructured.Unstructured
	// ours are the restored objects, in the order of the plan.
	ours []*unstructured.Unstructured
}

// Prove runs all proofs on one evidence. It changes nothing.
func Prove(e Evidence) []Check {
	e.index = newIndex(e)
	return []Check{e.complete(), e.paused(), e.owners(), e.referred(), e.releases(), e.cloudRead(), e.machines(), e.resources(), e.decision(), e.deletions(), e.versions(), e.clocks(), e.strangers()}
}

func newIndex(e Evidence) *index {
	i := &index{byUID: map[types.UID]*unstructured.Unstructured{}, byName: map[Reference]*unstructured.Unstructured{},
		restored: map[types.UID]*unstructured.Unstructured{}, owned: map[types.UID][]*unstructured.Unstructured{}}
	for _, o := range e.Live {
		i.byUID[o.GetUID()], i.byName[selfReference(o)] = o, o
		for _, r := range o.GetOwnerReferences() {
			i.owned[r.UID] = append(i.owned[r.UID], o)
		}
	}
	for _, step := range e.Plan.Steps {
		for _, o := range step {
			if live := i.byName[selfReference(o)]; live != nil && (Same(live, o.GetUID()) || o.GetKind() == kindNamespace) {
				i.restored[o.GetUID()], i.ours = live, append(i.ours, live)
			}
		}
	}
	return i
}

// of are the restored objects of a kind.
func (e Evidence) of(group_, kind string) (all []*unstructured.Unstructured) {
	for _, o := range e.index.ours {
		if is(o, group_, kind) {
			all = append(all, o)
		}
	}
	return all
}

// owned are the live objects of a kind that an owner has.
func (e Evidence) owned(owner *unstructured.Unstructured, kind string) (all []*unstructured.Unstructured) {
	for _, o := range e.index.owned[owner.GetUID()] {
		if o.GetKind() == kind {
			all = append(all, o)
		}
	}
	return all
}

// clusterOf is the "namespace/name" of an object's Cluster, "" if it has none.
func clusterOf(o *unstructured.Unstructured) string {
	name := o.GetLabels()[labelCluster]
	if name == "" {
		name = str(o, "spec", "clusterName")
	}
	if is(o, groupClusterAPI, "Cluster") {
		name = o.GetName()
	}
	for _, r := range o.GetOwnerReferences() {
		if name == "" && r.Kind == "Cluster" {
			name = r.Name
		}
	}
	if name == "" {
		return ""
	}
	return o.GetNamespace() + "/" + name
}

// Clusters are the names, "namespace/name", of the Clusters that a plan restores.
func (p *Plan) Clusters() []string {
	names := map[string]bool{}
	for _, step := range p.Steps {
		for _, o := range step {
			if is(o, groupClusterAPI, "Cluster") {
				names[clusterOf(o)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// byID are resources by their ID.
func byID(list []snapshot.Resource) map[string]snapshot.Resource {
	all := make(map[string]snapshot.Resource, len(list))
	for _, r := range list {
		all[r.ID] = r
	}
	return all
}

// Originals are the Clusters of a plan that were never gone: the live one is the same
// as in the backup.
func (p *Plan) Originals(live []*unstructured.Unstructured) (names []string) {
	uids := map[types.UID]bool{}
	for _, o := range live {
		uids[o.GetUID()] = true
	}
	for _, step := range p.Steps {
		for _, o := range step {
			if is(o, groupClusterAPI, "Cluster") && uids[o.GetUID()] {
				names = append(names, clusterOf(o))
			}
		}
	}
	return names
}

// Released are the Clusters of a plan that a former run restored and unpaused.
func Released(p *Plan, live []*unstructured.Unstructured) (names []string) {
	restored := map[types.UID]bool{}
	for _, step := range p.Steps {
		for _, o := range step {
			restored[o.GetUID()] = true
		}
	}
	for _, o := range live {
		if is(o, groupClusterAPI, "Cluster") && restored[types.UID(o.GetAnnotations()[AnnotationUID])] && !Held(o) {
			names = append(names, clusterOf(o))
		}
	}
	return names
}

// AtWork are the Clusters of a plan that are there and not held.
func AtWork(p *Plan, live []*unstructured.Unstructured) (names []string) {
	ours := p.Clusters()
	for _, o := range live {
		if is(o, groupClusterAPI, "Cluster") && slices.Contains(ours, clusterOf(o)) && !Held(o) {
			names = append(names, clusterOf(o))
		}
	}
	return names
}

// Without is the plan without all that belongs to some clusters: their controllers
// are at work, so the backup proves nothing about them any more.
func (p *Plan) Without(clusters []string) *Plan {
	if len(clusters) == 0 {
		return p
	}
	rest := *p
	rest.Steps, rest.Dangling = nil, nil
	namespaces := map[string]bool{}
	for _, name := range clusters {
		namespaces[name] = true
	}
	for _, step := range p.Steps {
		var kept []*unstructured.Unstructured
		for _, o := range step {
			if !namespaces[clusterOf(o)] {
				kept = append(kept, o)
			}
		}
		if len(kept) > 0 {
			rest.Steps = append(rest.Steps, kept)
		}
	}
	for _, f := range p.Dangling {
		if !namespaces[f.Cluster] {
			rest.Dangling = append(rest.Dangling, f)
		}
	}
	return &rest
}

// Holdable are the objects of a plan that a restore holds, by their Cluster, which is
// the first of its list.
func (p *Plan) Holdable() map[string][]*unstructured.Unstructured {
	return p.byCluster(func(o *unstructured.Unstructured) bool { return Hold(o.DeepCopy()) })
}

// Reporting are the objects of a plan by which machines come and go, and whose controllers
// say of each whether they see it paused, by their Cluster, which is the first of its list.
func (p *Plan) Reporting() map[string][]*unstructured.Unstructured {
	return p.byCluster(func(o *unstructured.Unstructured) bool {
		_, reported := Condition(o, ConditionPaused)
		return is(o, groupClusterAPI, "Cluster") || reported && (group(o) == groupClusterAPI || group(o) == groupControlPlane)
	})
}

// byCluster are the objects that a restore keeps, by their Cluster, which is the first of
// its list.
func (p *Plan) byCluster(keep func(*unstructured.Unstructured) bool) map[string][]*unstructured.Unstructured {
	all := map[string][]*unstructured.Unstructured{}
	for _, step := range p.Steps {
		for _, o := range step {
			if !keep(o) {
				continue
			}
			name := clusterOf(o)
			if is(o, groupClusterAPI, "Cluster") {
				all[name] = append([]*unstructured.Unstructured{o}, all[name]...)
			} else {
				all[name] = append(all[name], o)
			}
		}
	}
	return all
}
