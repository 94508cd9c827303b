package cause

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scene is a snapshot with its objects put in relation.
type scene struct {
	Snapshot
	rules                   []Rule
	cluster, infrastructure *unstructured.Unstructured
	members                 []member
	// parents lead from an object towards the cluster.
	parents map[Ref]Ref
	spoken  []complaint
}

// member is a machine, from Cluster API down to Nova. Only what exists is set.
type member struct {
	machine, infra, server *unstructured.Unstructured
	nova                   *Server
	// id is the server's id in Nova, as Cluster API knows it.
	id string
	// own is set for servers without a Cluster API object.
	own Ref
}

func newScene(s Snapshot) *scene {
	v := &scene{Snapshot: s, rules: rules(), parents: map[Ref]Ref{}}
	v.Objects = named(s.Objects)
	v.cluster = first(v.Objects["Cluster"])
	v.infrastructure = first(v.Objects["OpenStackCluster"])
	v.relate()
	for _, m := range v.Objects["Machine"] {
		v.members = append(v.members, v.member(m))
	}
	for _, own := range s.Servers {
		v.members = append(v.members, member{own: own, id: own.ID, nova: s.Cloud.server(own.ID, "")})
	}
	for _, m := range v.members {
		v.descend(m)
	}
	for _, kind := range slices.Sorted(maps.Keys(v.Objects)) {
		for _, o := range v.Objects[kind] {
			if kind != "Event" {
				v.spoken = append(v.spoken, v.complaints(o)...)
			}
		}
	}
	v.spoken = append(v.spoken, v.events()...)
	v.spoken = append(v.spoken, v.inner()...)
	return v
}

// named gives every object its kind, which lists and fakes may leave out.
func named(all Objects) Objects {
	out := Objects{}
	for kind, list := range all {
		for _, o := range list {
			if o == nil {
				continue
			}
			if o.GetKind() != kind {
				o = &unstructured.Unstructured{Object: maps.Clone(o.Object)}
				o.SetKind(kind)
			}
			out[kind] = append(out[kind], o)
		}
	}
	return out
}

func first(list []*unstructured.Unstructured) *unstructured.Unstructured {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func find(list []*unstructured.Unstructured, name string) *unstructured.Unstructured {
	if i := slices.IndexFunc(list, func(o *unstructured.Unstructured) bool { return o.GetName() == name }); i >= 0 && name != "" {
		return list[i]
	}
	return nil
}

// relate says which objects belong to the cluster directly, and which machines to whom.
func (v *scene) relate() {
	if v.cluster == nil {
		return
	}
	top := refOf(v.cluster)
	for kind, list := range v.Objects {
		for _, o := range list {
			if kind != "Cluster" && kind != "Machine" && kind != "Event" {
				v.parents[refOf(o)] = top
			}
		}
	}
	for _, m := range v.Objects["Machine"] {
		v.parents[refOf(m)] = v.ownerOf(m, top)
	}
}

// ownerOf is the control plane or the node group of a machine.
func (v *scene) ownerOf(m *unstructured.Unstructured, top Ref) Ref {
	labels := m.GetLabels()
	if planes := v.Objects["KubeadmControlPlane"]; controls(m) && len(planes) > 0 {
		return refOf(planes[0])
	}
	for _, group := range v.Objects["MachineDeployment"] {
		if name := labels["cluster.x-k8s.io/deployment-name"]; name != "" && group.GetName() == name {
			return refOf(group)
		}
	}
	return top
}

func controls(machine *unstructured.Unstructured) bool {
	_, ok := machine.GetLabels()["cluster.x-k8s.io/control-plane"]
	return ok
}

// member finds what stands for a Machine further down.
func (v *scene) member(machine *unstructured.Unstructured) member {
	name := text(machine, "spec", "infrastructureRef", "name")
	if name == "" {
		name = machine.GetName()
	}
	m := member{machine: machine, infra: find(v.Objects["OpenStackMachine"], name), server: find(v.Objects["OpenStackServer"], name)}
	id := text(machine, "spec", "providerID") // openstack://REGION/ID
	m.id = id[strings.LastIndex(id, "/")+1:]
	for _, o := range []*unstructured.Unstructured{m.server, m.infra} {
		if id := text(o, "status", "instanceID"); m.id == "" && id != "" {
			m.id = id
		}
	}
	if m.nova = v.Cloud.server(m.id, name); m.nova != nil && machine.GetCreationTimestamp().After(m.nova.Created) && m.id == "" {
		m.nova = nil // a server of an earlier machine of the same name
	}
	return m
}

// descend records the parents of what a member is made of.
func (v *scene) descend(m member) {
	above := m.own
	for _, o := range []*unstructured.Unstructured{m.machine, m.infra, m.server} {
		if o == nil {
			continue
		}
		if above != (Ref{}) {
			v.parents[refOf(o)] = above
		}
		above = refOf(o)
	}
	if own := m.ref(); own != above {
		v.parents[own] = above
	}
}

// ref names the server.
func (m member) ref() Ref {
	switch {
	case m.nova != nil:
		return Ref{Kind: "server", Name: m.nova.Name, ID: m.nova.ID}
	case m.machine == nil:
		return m.own
	}
	name := m.machine.GetName()
	if m.infra != nil {
		name = m.infra.GetName()
	}
	return Ref{Kind: "server", Name: name, ID: m.id}
}

// leaving reports whether the machine is being deleted.
func (m member) leaving() bool { return m.machine != nil && m.machine.GetDeletionTimestamp() != nil }

// node reports whether the machine has been a node.
func (m member) node() bool { return text(m.machine, "status", "nodeRef", "name") != "" }

// since is when Cluster API created the machine.
func (m member) since() time.Time {
	if m.machine == nil {
		return time.Time{}
	}
	return m.machine.GetCreationTimestamp().Time
}

// under records the parent of an object in the cloud, if it has none, and returns the
// object.
func (v *scene) under(parent, object Ref) Ref {
	if v.cluster != nil && object == refOf(v.cluster) {
		return object // it is above all
	}
	if _, known := v.parents[object]; !known && parent != (Ref{}) && parent != object {
		v.parents[object] = parent
	}
	return object
}

// machineOf returns the Machine whose infrastructure has a name.
func (v *scene) machineOf(name string) *unstructured.Unstructured {
	for _, m := range v.Objects["Machine"] {
		if ref := text(m, "spec", "infrastructureRef", "name"); ref == name || ref == "" && m.GetName() == name {
			return m
		}
	}
	return nil
}

// infra is the OpenStackCluster, or the Cluster while there is none.
func (v *scene) infra() Ref {
	switch {
	case v.infrastructure != nil:
		return refOf(v.infrastructure)
	case v.cluster != nil:
		return refOf(v.cluster)
	}
	return Ref{}
}

// ending reports whether the cluster is being deleted: its parts in the cloud go one by
// one then, as they should.
func (v *scene) ending() bool { return v.cluster != nil && v.cluster.GetDeletionTimestamp() != nil }

// resource is the name that CAPO gives what it creates for the cluster.
func (v *scene) resource() string {
	if v.cluster == nil {
		return ""
	}
	return v.cluster.GetNamespace() + "-" + v.cluster.GetName()
}

// chain leads from the cluster to an object.
func (v *scene) chain(object Ref) []Ref {
	chain := []Ref{object}
	for parent, ok := v.parents[object]; ok && !slices.Contains(chain, parent); parent, ok = v.parents[parent] {
		chain = append(chain, parent)
	}
	slices.Reverse(chain)
	return chain
}

// Details are what is worth a call of its own, by id.
type Details struct {
	// Consoles are of servers that run and whose machines are no nodes yet: only their
	// consoles tell why.
	Consoles []string
	// Balancers are load balancers with members that may not be well.
	Balancers []string
	// Shapes are of servers that found no host.
	Shapes []Shape
}

// Closer returns what of a cluster's own is worth a closer look.
func Closer(s Snapshot) (d Details) {
	v := newScene(s)
	for _, m := range v.members {
		if m.machine != nil && m.nova != nil && m.nova.Status == "ACTIVE" && !m.node() && !m.leaving() {
			d.Consoles = append(d.Consoles, m.nova.ID)
		}
	}
	d.Shapes = v.homeless()
	if b := v.api(); b != nil && b.Provisioning == "ACTIVE" && (b.Operating != "ONLINE" && b.Operating != "NO_MONITOR" || v.thin(*b) || !v.disconnected().IsZero()) {
		d.Balancers = append(d.Balancers, b.ID)
	}
	return d
}

// Sick returns the ids of servers whose machines are not ready: their consoles and what
// was done with them tell more.
func Sick(s Snapshot) []string {
	var ids []string
	for _, m := range newScene(s).members {
		ready := m.machine != nil && slices.ContainsFunc(Conditions(m.machine), func(c Condition) bool { return c.Type == "Ready" && c.Status == "True" })
		if m.id != "" && !ready {
			ids = append(ids, m.id)
		} else if m.nova != nil && !ready {
			ids = append(ids, m.nova.ID)
		}
	}
	return ids
}
