package clusterapi

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cause"
)

// assess builds the report of a cluster, with what the cloud says of it; said is nil if
// the cloud was not asked. It is pure.
func assess(o objects, name string, said *cause.Cloud, now time.Time) Report {
	return judge(o, name, Known{Cloud: said}, now)
}

// judge builds the report of a cluster with what is known of it.
func judge(o objects, name string, k Known, now time.Time) Report {
	r, cluster := outline(o, name)
	if cluster == nil {
		return r
	}
	r.explain(cause.Explain(cause.Snapshot{Objects: o.scene(name), Cloud: k.Cloud, Inside: k.Inside, Controllers: k.Controllers, Unseen: k.Unseen, Now: now}))
	r.bare(conditions(cluster))
	return r
}

// outline is the report of a cluster without causes, and the Cluster; nil if there is none.
func outline(o objects, name string) (Report, *unstructured.Unstructured) {
	r := Report{Name: name}
	cluster := o.named(clusters, name)
	if cluster == nil {
		return r, nil
	}
	r.Exists, r.Created = true, cluster.GetCreationTimestamp().Time
	r.Parts = append(r.Parts, clusterPart(cluster))
	if infrastructure := o.named(openStackClusters, text(cluster, "spec", "infrastructureRef", "name")); infrastructure != nil {
		r.Parts = append(r.Parts, infrastructurePart(infrastructure))
	} else {
		r.Parts = append(r.Parts, Part{Kind: "OpenStackCluster", Name: name, Level: 1, State: "missing"})
	}
	for _, group := range o.of(serverGroups, name) {
		r.Parts = append(r.Parts, serverGroupPart(group))
	}
	seen := map[string]bool{}
	machinesOf := func(owner *unstructured.Unstructured, kind string) {
		for _, machine := range o.of(machines, name) {
			if belongs(machine, owner, kind) {
				seen[machine.GetName()] = true
				r.Parts = append(r.Parts, machinePart(o, machine))
			}
		}
	}
	for _, plane := range o.of(controlPlanes, name) {
		r.Version = cmp.Or(text(plane, "status", "version"), text(plane, "spec", "version"))
		r.ControlPlane.add(plane)
		r.Parts = append(r.Parts, replicasPart(plane, "KubeadmControlPlane"))
		machinesOf(plane, "KubeadmControlPlane")
	}
	for _, group := range o.of(machineDeployments, name) {
		r.Workers.add(group)
		r.Parts = append(r.Parts, replicasPart(group, "MachineDeployment"))
		machinesOf(group, "MachineDeployment")
	}
	for _, machine := range o.of(machines, name) {
		r.Machines = append(r.Machines, machineOf(machine))
		if !seen[machine.GetName()] {
			r.Parts = append(r.Parts, machinePart(o, machine))
		}
	}
	for _, addon := range o.of(helmReleases, name) {
		r.Parts = append(r.Parts, addonPart(addon, "HelmRelease", r.Workers))
	}
	for _, addon := range o.of(manifests, name) {
		r.Parts = append(r.Parts, addonPart(addon, "Manifests", r.Workers))
	}
	return r, cluster
}

// explain gives the causes to the parts that they keep from being ready: each to the
// deepest part that its chain leads through. What Cluster API itself says of a part that
// waits for others is only told if there is no cause.
func (r *Report) explain(a cause.Answer) {
	r.Findings, r.Unseen = a.Findings, a.Unseen
	var waiting []int
	for _, f := range a.Findings {
		deepest := -1
		for _, ref := range f.Chain {
			i := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Kind == ref.Kind && p.Name == ref.Name })
			if i >= 0 {
				waiting = append(waiting, i)
				deepest = i
			}
		}
		if deepest < 0 {
			continue
		}
		p := &r.Parts[deepest]
		if p.Ready || p.told {
			continue
		}
		p.told, p.Cause = true, f.Cause
		if f.Object.Kind != p.Kind && f.Object.Name != p.Name {
			p.Cause = f.Object.String() + ": " + f.Cause
		}
		// An addon's controller tries again by itself.
		p.Hopeless = f.Ending != cause.Passing && p.Kind != "HelmRelease" && p.Kind != "Manifests"
		if !f.Since.IsZero() {
			p.Since = f.Since
		}
	}
	for _, i := range waiting {
		if p := &r.Parts[i]; !p.told {
			p.Cause = ""
		}
	}
}

// add counts the machines of a control plane or of a deployment.
func (c *Count) add(object *unstructured.Unstructured) {
	c.Ready += int(number(object, "status", "readyReplicas"))
	c.Wanted += int(number(object, "spec", "replicas"))
}

// belongs reports whether a machine belongs to a control plane or a MachineDeployment;
// machines of a MachineDeployment have its name in a label.
func belongs(machine, owner *unstructured.Unstructured, kind string) bool {
	labels := machine.GetLabels()
	_, plane := labels["cluster.x-k8s.io/control-plane"]
	if kind == "KubeadmControlPlane" {
		return plane
	}
	return !plane && labels["cluster.x-k8s.io/deployment-name"] == owner.GetName()
}

func clusterPart(cluster *unstructured.Unstructured) Part {
	p := Part{Kind: "Cluster", Name: cluster.GetName(), State: text(cluster, "status", "phase")}
	available := find(conditions(cluster), "Available")
	p.Ready, p.Since = available.Status == "True" && p.State == "Provisioned", available.Since
	switch {
	case cluster.GetDeletionTimestamp() != nil:
		p.Ready, p.State, p.Cause = false, StateDeleting, find(conditions(cluster), "Deleting").Message
	case flag(cluster, "spec", "paused"):
		p.State = "paused"
	case p.Ready:
		p.State = "Available"
	}
	return p
}

func infrastructurePart(object *unstructured.Unstructured) Part {
	p := Part{Kind: "OpenStackCluster", Name: object.GetName(), Level: 1, Ready: flag(object, "status", "ready"), State: "Provisioning"}
	if p.Ready {
		p.State = "Ready"
	}
	return p
}

// serverGroupPart reports on a server group, which machines need before they can be
// created. Its controller does not retry what the cloud refused.
func serverGroupPart(group *unstructured.Unstructured) Part {
	p := Part{Kind: "ServerGroup", Name: group.GetName(), Level: 1, State: "Pending"}
	available, progressing := find(conditions(group), "Available"), find(conditions(group), "Progressing")
	p.Ready, p.Since = available.Status == "True", available.Since
	if p.Ready {
		p.State = "Available"
		return p
	}
	if progressing.Reason != "Progressing" && progressing.Reason != "" {
		p.State, p.Cause = progressing.Reason, cause.Text(progressing.Message)
	}
	return p
}

// replicasPart reports on a control plane or a node group: it is ready if all its
// machines are ready and up to date.
func replicasPart(object *unstructured.Unstructured, kind string) Part {
	wanted := number(object, "spec", "replicas")
	ready, current, all := number(object, "status", "readyReplicas"), number(object, "status", "upToDateReplicas"), number(object, "status", "replicas")
	p := Part{Kind: kind, Name: object.GetName(), Level: 1, State: fmt.Sprintf("%d of %d ready", ready, wanted), Empty: wanted == 0}
	seen := number(object, "status", "observedGeneration") >= object.GetGeneration()
	p.wanted, p.readyMachines, p.current = wanted, ready, seen && current == wanted && all == wanted
	p.Ready = p.current && ready == wanted
	p.Outdated = !seen || current < all
	if current < wanted && all >= wanted {
		p.State += fmt.Sprintf(", %d up to date", current)
	}
	rolling := find(conditions(object), "Available")
	p.Since = rolling.Since
	if !p.Ready {
		p.Cause = summary(object)
	}
	return p
}

func machinePart(o objects, machine *unstructured.Unstructured) Part {
	p := Part{Kind: "Machine", Name: machine.GetName(), Level: 2, State: cmp.Or(text(machine, "status", "phase"), "Pending")}
	ready := find(conditions(machine), "Ready")
	p.Ready, p.Since = ready.Status == "True", ready.Since
	if p.Ready {
		return p
	}
	p.Server = serverOf(machine)
	p.Cause = cause.Text(ready.Message)
	return p
}

// waitingForWorkers is the reason of an addon's condition Ready while its release
// cannot run without workers.
const waitingForWorkers = "WaitingForWorkers"

// addonPart is an addon of a cluster with so many workers. One that cannot run
// without them is as ready as it can be where there are to be none.
func addonPart(addon *unstructured.Unstructured, kind string, workers Count) Part {
	p := Part{Kind: kind, Name: addon.GetName(), Level: 1, State: cmp.Or(text(addon, "status", "phase"), "Pending")}
	p.Ready = p.State == "Deployed"
	if ready := find(conditions(addon), "Ready"); ready.Status == "False" && ready.Reason == waitingForWorkers {
		p.State, p.Ready, p.Since = "waits for workers", workers.Wanted == 0, ready.Since
		if p.Ready {
			return p
		}
	}
	if !p.Ready {
		p.Cause = cmp.Or(cause.Text(text(addon, "status", "failureMessage")), summary(addon))
	}
	return p
}

// summary is what Cluster API says of an object that waits for others: the message of
// the first condition that is False; Ready comes last, because it summarises the others.
func summary(object *unstructured.Unstructured) string {
	last := ""
	for _, c := range conditions(object) {
		if c.Status != "False" || c.Message == "" {
			continue
		}
		if c.Type != "Ready" && c.Type != "Available" {
			return cause.Text(c.Message)
		}
		last = cause.Text(c.Message)
	}
	return last
}
