package cause

import (
	"slices"
	"strings"
)

// coversInside reports whether b follows from a, where one of them is told by the cluster
// itself.
func (v *scene) coversInside(a, b *Finding) bool {
	switch {
	case b.Object == v.top() && strings.HasPrefix(b.Reason, "api-"):
		return v.carriesAPI(a)
	case b.Reason == "writes-stall":
		return a.rule.Layer == "etcd" && a.Reason != b.Reason
	case b.Reason == "etcd-unhealthy" && b.words == "":
		return a.Reason == "etcd-no-space" // its API server has no etcd, because that is full
	case b.Reason == "machine-no-node" && v.Inside.node(b.Object.Name) != nil:
		// It is a node, and Cluster API waits for the id that its cloud controller manager writes.
		return a.Reason == "node-uninitialized" && a.Object.Name == b.Object.Name || initialises(a)
	case b.Reason == "node-uninitialized":
		return initialises(a)
	case a.Reason == "node-uninitialized" && initialises(b):
		return false // it tolerates the taint that it removes
	case b.Object.Kind == "Node" && b.Reason == "cni-not-ready":
		// The node waits for a pod of the network plugin.
		return slices.ContainsFunc(a.owners, network.MatchString)
	case b.Object.Kind == "Node":
		// A node follows from its server, its machine and the network of that.
		machine := b.Of("Machine")
		return machine != (Ref{}) && slices.Contains(a.Chain, machine) && a.Object.Kind != "Node" && a.words == "" && a.owners == nil
	case b.owners != nil && a.owners == nil:
		return v.holdsPods(a, b)
	case b.owners != nil:
		// What a webhook or a pod that cannot be pulled keeps from starting.
		return a.Reason == "disk-full" && b.Reason != "disk-full" && subset(b.nodes, a.nodes)
	case len(a.owners) > 0 && (b.Object.Kind == "HelmRelease" || b.Object.Kind == "Manifests"):
		// The addon provider tells of the workload that the pods are of.
		told := b.Cause + strings.Join(b.Evidence, " ")
		return slices.Contains(a.Chain, b.Object) && specific(a) >= specific(b) || slices.ContainsFunc(a.owners, func(owner string) bool { return strings.Contains(told, owner) })
	}
	return false
}

// carriesAPI reports whether a finding is about what the Kubernetes API stands on: its load
// balancer, its address, its network, or the control planes.
func (v *scene) carriesAPI(a *Finding) bool {
	return a.Of("OpenStackCluster") != (Ref{}) || a.Of("KubeadmControlPlane") != (Ref{}) && (a.words == "" || a.rule.Layer == "etcd") || a.rule.Layer == "etcd" && a.Object != v.top()
}

// holdsPods reports whether all pods of b are on nodes that a says are not well.
func (v *scene) holdsPods(a, b *Finding) bool {
	if b.Object.Kind == "webhook" || b.Object.Kind == "Node" {
		return false
	}
	if b.Reason == "pod-unschedulable" && !v.working() {
		return a.Of("MachineDeployment") != (Ref{}) // it waits for the first worker
	}
	if a.Reason == uncertified { // all else runs without
		return slices.ContainsFunc(b.owners, func(owner string) bool { return strings.HasSuffix(owner, "/metrics-server") })
	}
	if a.Reason == "cni-not-ready" { // images are pulled without it
		return b.Reason == "pod-not-started" && subset(b.nodes, []string{a.Object.Name}) && !slices.ContainsFunc(b.owners, network.MatchString)
	}
	var sick []string
	if a.Object.Kind == "Node" {
		sick = append(sick, a.Object.Name)
	}
	for _, m := range v.Objects["Machine"] {
		if slices.Contains(a.Chain, refOf(m)) {
			sick = append(sick, text(m, "status", "nodeRef", "name"))
		}
	}
	return b.Reason != "image-pull" && subset(b.nodes, sick)
}

// working reports whether any worker is a node.
func (v *scene) working() bool {
	return slices.ContainsFunc(v.members, func(m member) bool { return m.machine != nil && !controls(m.machine) && m.node() })
}

// initialises reports whether a finding is about pods of the cloud controller manager.
func initialises(f *Finding) bool {
	return slices.ContainsFunc(f.owners, func(owner string) bool { return strings.Contains(owner, "cloud-controller-manager") })
}

// subset reports whether all of a, of which there is at least one, are in b.
func subset(a, b []string) bool {
	return len(a) > 0 && !slices.ContainsFunc(a, func(one string) bool { return one == "" || !slices.Contains(b, one) })
}
