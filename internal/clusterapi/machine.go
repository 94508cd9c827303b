package clusterapi

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The roles of machines.
const (
	RoleControlPlane = "control-plane"
	RoleWorker       = "worker"
)

// Machine is a server of a cluster, for programs that go to it.
type Machine struct {
	Name string `json:"name"`
	// Role is RoleControlPlane or RoleWorker.
	Role string `json:"role"`
	// Group is the name of the worker's MachineDeployment; empty for a control plane.
	Group string `json:"group,omitempty"`
	// Node is the name in Kubernetes; empty until the machine has joined.
	Node string `json:"node,omitempty"`
	// Server is the ID in Nova; empty until there is one.
	Server string `json:"server,omitempty"`
	// Address is the first on the cluster's network, ExternalAddress the floating IP.
	Address         string `json:"address,omitempty"`
	ExternalAddress string `json:"externalAddress,omitempty"`
	// State is Cluster API's phase: "Provisioning", "Running", "Deleting".
	State   string            `json:"state"`
	Created time.Time         `json:"created,omitzero"`
	Ready   bool              `json:"ready"`
	Version string            `json:"version,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// machineOf reads a Machine of Cluster API.
func machineOf(object *unstructured.Unstructured) Machine {
	labels := object.GetLabels()
	m := Machine{Name: object.GetName(), Role: RoleWorker, Group: labels["cluster.x-k8s.io/deployment-name"], Node: text(object, "status", "nodeRef", "name"),
		Server: serverOf(object), State: cmp.Or(text(object, "status", "phase"), "Pending"), Ready: find(conditions(object), "Ready").Status == "True",
		Version: text(object, "spec", "version"), Labels: labels, Created: object.GetCreationTimestamp().Time}
	if _, plane := labels["cluster.x-k8s.io/control-plane"]; plane {
		m.Role = RoleControlPlane
	}
	m.Address, m.ExternalAddress = addressOf(object, "InternalIP"), addressOf(object, "ExternalIP")
	return m
}

// serverOf is the ID in Nova: the last word of openstack://REGION/ID, whose region may be
// empty.
func serverOf(machine *unstructured.Unstructured) string {
	id := text(machine, "spec", "providerID")
	return id[strings.LastIndex(id, "/")+1:]
}

// addressOf returns the first address of a kind, such as "InternalIP".
func addressOf(machine *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(machine.Object, "status", "addresses")
	for _, item := range list {
		if one, is := item.(map[string]any); is && one["type"] == kind {
			address, _ := one["address"].(string)
			return address
		}
	}
	return ""
}
