// Package clusterapi reads the state of clusters from Cluster API: their parts, from
// the infrastructure to the addons, which of them are ready, and the first cause of
// those that are not.
package clusterapi

import (
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Part is one object of a cluster, as shown to people.
type Part struct {
	// Kind and Name identify the object.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Level is how deep the part is in the cluster's tree; the cluster is 0.
	Level int  `json:"level"`
	Ready bool `json:"ready"`
	// State is a few words: "3 of 3 ready", "Provisioning".
	State string `json:"state"`
	// Cause says why the part is not ready: the message of its controller.
	Cause string `json:"cause,omitempty"`
	// Since is when the state was entered; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Hopeless is set if waiting does not help.
	Hopeless bool `json:"hopeless,omitempty"`
	// Empty is set if the part is a node group with zero desired machines.
	Empty bool `json:"empty,omitempty"`
	// Server is the ID in Nova of a machine that is not ready, once it has one.
	Server string `json:"server,omitempty"`
	// Outdated is set if the part is a control plane or a node group with machines
	// that are about to be replaced.
	Outdated bool `json:"outdated,omitempty"`

	// wanted, readyMachines and withoutNetwork count the machines of a control plane
	// or a node group; current is that there are no others, and none is outdated.
	wanted, readyMachines, withoutNetwork int64
	current                               bool
	// fix is what to do about the cause, if it is not the same for all.
	fix string
	// told is set once a cause was given to the part.
	told bool
}

// Report is a cluster with its parts, in the order in which they are created.
type Report struct {
	// Namespace and Name of the cluster.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Exists reports whether the Cluster exists.
	Exists bool `json:"exists"`
	// Created is when the Cluster was created.
	Created time.Time `json:"created,omitzero"`
	// Version is the Kubernetes version that the control plane runs, else its
	// desired version, such as "v1.34.4".
	Version string `json:"version,omitempty"`
	// ControlPlane and Workers are machines.
	ControlPlane Count  `json:"controlPlane"`
	Workers      Count  `json:"workers"`
	Parts        []Part `json:"parts"`
	// Machines are the servers, the oldest first.
	Machines []Machine `json:"machines,omitempty"`
	// Findings are the causes of what is not well, the worst first.
	Findings []cause.Finding `json:"findings,omitempty"`
	// Unseen is what could not be looked at for them.
	Unseen []cause.Unseen `json:"unseen,omitempty"`
}

// Count is the number of ready and of desired machines.
type Count struct {
	Ready  int `json:"ready"`
	Wanted int `json:"wanted"`
}

// String formats the count, such as "2/3".
func (c Count) String() string { return fmt.Sprintf("%d/%d", c.Ready, c.Wanted) }

// StateDeleting is the state of a cluster that is being deleted.
const StateDeleting = "Deleting"

// State is the state of the cluster itself: "Available", "Provisioning",
// "Deleting".
func (r Report) State() string {
	for _, p := range r.Parts {
		if p.Kind == "Cluster" {
			return p.State
		}
	}
	return ""
}

// OnlyControlPlane returns the report without the parts that a control plane does not
// need: workers, addons, and the Cluster itself, which summarises all.
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

// ControlPlaneReady reports whether the control plane and what it depends on are
// ready.
func (r Report) ControlPlaneReady() bool {
	planes, _ := r.Count("KubeadmControlPlane")
	return planes > 0 && r.OnlyControlPlane().Ready()
}

// Ready reports whether all parts are ready.
func (r Report) Ready() bool {
	return r.Exists && len(r.Parts) > 0 && !slices.ContainsFunc(r.Parts, func(p Part) bool { return !p.Ready })
}

// Complete is Ready by the Machines themselves: as many are ready as are wanted. The parts
// count Machines that were just deleted until their controllers have looked again.
func (r Report) Complete() bool {
	planes, workers := 0, 0
	for _, m := range r.Machines {
		switch {
		case !m.Ready:
		case m.Role == RoleControlPlane:
			planes++
		default:
			workers++
		}
	}
	return r.Ready() && planes >= r.ControlPlane.Wanted && workers >= r.Workers.Wanted
}

// Usable reports whether the cluster's API answers and pods find a node: a machine of
// the control plane is ready, and one of the node groups if there are any. It is false
// while machines are replaced: pods could be scheduled to old machines, which do not
// have a newer bundle's images (F03).
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

// Waiting returns the deepest cause: the first part that is not ready and has a
// cause, else the first that is not ready. It returns false if all are ready.
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

// deeper prefers a hopeless cause to any other, a cause to none, and then machines to
// what waits for them: a control plane only repeats its machine's cause.
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

// Count returns the number of ready and of all parts of a kind.
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

// Progress describes the progress of the cluster in one line.
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
