package clusterapi

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// assess builds the report of a cluster. It is pure.
func assess(o objects, name string) Report {
	r := Report{Name: name}
	cluster := o.named(clusters, name)
	if cluster == nil {
		return r
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
	r.bare(conditions(cluster))
	return r
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
	p.Cause = cmp.Or(text(object, "status", "failureMessage"), complaint(object))
	if p.Ready {
		p.Cause = ""
	}
	p.Hopeless = !p.Ready && hopeless(p.Cause)
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
		p.State, p.Cause = progressing.Reason, clean(progressing.Message)
	}
	p.Hopeless = progressing.Reason == "InvalidConfiguration" || progressing.Reason == "UnrecoverableError"
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
		p.Cause = complaint(object)
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
	// openstack://REGION/ID, the region may be empty.
	p.Server = text(machine, "spec", "providerID")
	p.Server = p.Server[strings.LastIndex(p.Server, "/")+1:]
	server := o.named(openStackMachines, text(machine, "spec", "infrastructureRef", "name"))
	if server != nil {
		p.Cause = cmp.Or(text(server, "status", "failureMessage"), complaint(server))
		p.Hopeless = hopeless(p.Cause)
	}
	p.Cause = cmp.Or(p.Cause, clean(ready.Message))
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
		p.Cause = cmp.Or(clean(text(addon, "status", "failureMessage")), complaint(addon))
	}
	return p
}

// complaint returns the message of the first condition that is False with a reason;
// Ready comes last, because it summarises the others.
func complaint(object *unstructured.Unstructured) string {
	last := ""
	for _, c := range conditions(object) {
		if c.Status != "False" || c.Message == "" {
			continue
		}
		if c.Type != "Ready" && c.Type != "Available" {
			return clean(c.Message)
		}
		last = clean(c.Message)
	}
	return last
}

// clean puts a message that is a nested list on one line.
func clean(message string) string {
	var b strings.Builder
	for line := range strings.Lines(message) {
		line = strings.TrimLeft(strings.TrimSpace(line), "* ")
		switch {
		case line == "":
			continue
		case strings.HasSuffix(b.String(), ":"): // the heading of what follows
			b.WriteString(" ")
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// hopelessText matches messages after which a retry does not help (row S-26).
var hopelessText = regexp.MustCompile(`(?i)quota|no valid host|not enough hosts|exceeds? allowed|could not find|no (image|flavor|network|subnet)s?\b.*found|not found|(code|status)? ?\[?40[13]\b|unauthorized|forbidden|went to error|in error state|state ERROR|invalid`)

func hopeless(cause string) bool { return cause != "" && hopelessText.MatchString(cause) }
