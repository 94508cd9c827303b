// Package clusterapi reads what Cluster API says about one cluster: its parts
// from the infrastructure to the addons, which of them are ready, and the first
// cause of those that are not.
package clusterapi

import (
	"fmt"
	"slices"
	"time"
)

// Part is one object of a cluster as people see it.
type Part struct {
	// Kind and Name are the object's.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Level is how deep the part is in the cluster's tree; the cluster is 0.
	Level int  `json:"level"`
	Ready bool `json:"ready"`
	// State is a few words: "3 of 3 ready", "Provisioning".
	State string `json:"state"`
	// Cause says why the part is not ready, in the words of the controller
	// that knows.
	Cause string `json:"cause,omitempty"`
	// Since is when the state was entered; zero where nobody says it.
	Since time.Time `json:"since,omitzero"`
	// Hopeless is set if the cause does not go away by waiting.
	Hopeless bool `json:"hopeless,omitempty"`
	// Empty is set if the part is a node group that wants no machines.
	Empty bool `json:"empty,omitempty"`
	// Server is the ID in Nova of a machine that is not ready, once it has one.
	Server string `json:"server,omitempty"`
	// Outdated is set if the part is a control plane or a node group with machines
	// that are to be replaced by others.
	Outdated bool `json:"outdated,omitempty"`

	// wanted, readyMachines and withoutNetwork count the machines of a control plane
	// or a node group; current is that there are no others, and none is outdated.
	wanted, readyMachines, withoutNetwork int64
	current                               bool
}

// Report is a cluster with its parts, what is made first before what is made
// of it.
type Report struct {
	// Namespace and Name of the cluster.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Exists says that there is such a Cluster.
	Exists bool `json:"exists"`
	// Created is when the Cluster was made.
	Created time.Time `json:"created,omitzero"`
	// Version is that of Kubernetes that the control plane runs, else the one
	// that it is to run, such as "v1.34.4".
	Version string `json:"version,omitempty"`
	// ControlPlane and Workers are machines.
	ControlPlane Count  `json:"controlPlane"`
	Workers      Count  `json:"workers"`
	Parts        []Part `json:"parts"`
}

// Count is how many machines are ready of those that are wanted.
type Count struct {
	Ready  int `json:"ready"`
	Wanted int `json:"wanted"`
}

// String is the count as people write it: "2/3".
func (c Count) String() string { return fmt.Sprintf("%d/%d", c.Ready, c.Wanted) }

// StateDeleting is the state of a cluster that is being deleted.
const StateDeleting = "Deleting"

// State is the cluster's own, in a word or two: "Available", "Provisioning",
// "Deleting".
func (r Report) State() string {
	for _, p := range r.Parts {
		if p.Kind == "Cluster" {
			return p.State
		}
	}
	return ""
}

// OnlyControlPlane is the report without what a control plane does not need to
// be ready: workers, addons, and the Cluster itself, which sums up all.
func (r Report) OnlyControlPlane() Report {
	var parts []Part
	group := ""
	for _, p := range r.Parts {
		if p.Level < 2 {
			group = p.Kind
		}
		if group == "OpenStackCluster" || group == "KubeadmControlPlane" {
			parts = append(parts, p)
		}
	}
	r.Parts = parts
	return r
}

// ControlPlaneReady says that the control plane is, with what it stands on.
func (r Report) ControlPlaneReady() bool {
	planes, _ := r.Count("KubeadmControlPlane")
	return planes > 0 && r.OnlyControlPlane().Ready()
}

// Ready says that every part is.
func (r Report) Ready() bool {
	return r.Exists && len(r.Parts) > 0 && !slices.ContainsFunc(r.Parts, func(p Part) bool { return !p.Ready })
}

// Usable says that the cluster's API answers and that pods find a node: a machine
// of the control plane is ready, and one of the node groups if there are any. It
// is not while machines are replaced: what is installed then would come to those
// that go, which do not have a newer bundle's images (F03).
func (r Report) Usable() bool {
	planes, workers, groups := 0, 0, false
	owner := ""
	for _, p := range r.Parts {
		switch {
		case p.Outdated:
			return false
		case p.Level == 1:
			owner = p.Kind
			groups = groups || p.Kind == "MachineDeployment" && !p.Empty
		case p.Kind != "Machine" || !p.Ready:
		case owner == "KubeadmControlPlane":
			planes++
		default:
			workers++
		}
	}
	return r.Exists && planes > 0 && (workers > 0 || !groups)
}

// Waiting is the deepest cause: the first part that is not ready and says why,
// else the first that is not ready. False is that all are ready.
func (r Report) Waiting() (Part, bool) {
	var first *Part
	for _, p := range r.Parts {
		if p.Ready {
			continue
		}
		if first == nil || (deeper(p, *first)) {
			first = &p
		}
	}
	if first == nil {
		return Part{}, false
	}
	return *first, true
}

// deeper prefers a hopeless cause to any other, a cause to none, and then
// machines to what waits for them: a control plane only repeats what its
// machine says.
func deeper(p, than Part) bool {
	if p.Hopeless != than.Hopeless {
		return p.Hopeless
	}
	if (p.Cause != "") != (than.Cause != "") {
		return p.Cause != ""
	}
	return rank(p.Kind) < rank(than.Kind)
}

func rank(kind string) int {
	order := []string{"OpenStackCluster", "ServerGroup", "Machine", "KubeadmControlPlane", "MachineDeployment", "HelmRelease", "Manifests", "Cluster"}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// Count counts the parts of a kind that are ready, of how many.
func (r Report) Count(kind string) (ready, all int) {
	for _, p := range r.Parts {
		if p.Kind != kind {
			continue
		}
		all++
		if p.Ready {
			ready++
		}
	}
	return ready, all
}

// Progress is how far the cluster is, in a line.
func (r Report) Progress() string {
	machines, all := r.Count("Machine")
	text := fmt.Sprintf("%d of %d machines", machines, all)
	releases, allReleases := r.Count("HelmRelease")
	sets, allSets := r.Count("Manifests")
	if n := allReleases + allSets; n > 0 {
		text += fmt.Sprintf(", %d of %d addons", releases+sets, n)
	}
	if part, waiting := r.Waiting(); waiting {
		text += fmt.Sprintf("; %s %s: %s", part.Kind, part.Name, part.State)
		if part.Cause != "" {
			text += ": " + part.Cause
		}
	}
	return text
}
