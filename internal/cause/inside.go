package cause

import (
	"slices"
	"strings"
	"time"
)

// Inside is what a cluster says of itself at one time: its API server, its nodes, and the
// pods of its system and its addons. Nothing of a tenant's own workloads is in it but
// warnings about volumes and webhooks.
type Inside struct {
	// At is when it was asked; zero means at the time of the snapshot.
	At time.Time `json:"at,omitzero"`
	// Address is the API server's, host and port, as the cluster's kubeconfig has it.
	Address string `json:"address"`
	// From is from where it was asked: "the seed", "this machine".
	From string `json:"from,omitempty"`
	// Unreachable is why the API server could not be asked; nil if it answered. All below is
	// empty then.
	Unreachable *Unreachable `json:"unreachable,omitempty"`
	// Missing are the lists that could not be read in time.
	Missing []Unseen `json:"missing,omitempty"`

	// Version is the API server's, such as v1.34.4.
	Version string `json:"version,omitempty"`
	// Expires is the end of the API server's certificate.
	Expires time.Time `json:"expires,omitzero"`
	// Ahead is by how much its clock is ahead of the asking machine's, to about a second;
	// negative if it is behind.
	Ahead time.Duration `json:"ahead,omitempty"`
	// Failing are the checks of its /readyz that fail, such as etcd.
	Failing []string `json:"failing,omitempty"`

	Nodes []Node `json:"nodes,omitempty"`
	// Pods are those of the system and of addons that are not well; Seen counts all.
	Pods     []Pod     `json:"pods,omitempty"`
	Seen     int       `json:"seen,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
	Hooks    []Hook    `json:"hooks,omitempty"`
	// Leaders are the leases of the control plane's leaders.
	Leaders     []Lease      `json:"leaders,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Uncertified are the newest requests of kubelets for a serving certificate, where there is
	// none yet.
	Uncertified []CertificateRequest `json:"uncertified,omitempty"`
	// PodNetwork is nil if the network plugin's settings are not known.
	PodNetwork *PodNetwork `json:"podNetwork,omitempty"`
}

// PodNetwork is how large the packets of pods may be.
type PodNetwork struct {
	// Plugin is the network plugin, Setting the object that says so.
	Plugin  string `json:"plugin"`
	Setting string `json:"setting"`
	// MTU is in bytes, Overhead what the plugin puts around a packet between nodes.
	MTU      int `json:"mtu"`
	Overhead int `json:"overhead,omitempty"`
}

// The names of the lists, for Inside.Missing.
const (
	ListNodes       = "nodes"
	ListPods        = "pods"
	ListWarnings    = "warning events"
	ListHooks       = "webhooks"
	ListLeases      = "leases"
	ListAttachments = "volume attachments"
	ListRequests    = "certificate signing requests"
	ListSettings    = "settings of the network plugin"
)

// Way says why an API server does not answer.
type Way string

// The ways in which an API server does not answer.
const (
	WayRefused   Way = "refused"   // nothing listens at the address
	WayNoAnswer  Way = "no answer" // no packet comes back in time
	WayNoName    Way = "no name"   // its name cannot be resolved
	WayExpired   Way = "expired"   // its certificate has expired
	WayUntrusted Way = "untrusted" // its certificate is of another authority, or for another name
	WayLogin     Way = "login"     // it does not accept the kubeconfig's certificate
)

// Unreachable is why an API server could not be asked, and the words of the network or of
// the server.
type Unreachable struct {
	Way   Way    `json:"way"`
	Words string `json:"words"`
}

// Node is a node with what its kubelet says.
type Node struct {
	Name string `json:"name"`
	// Version is the kubelet's.
	Version    string          `json:"version,omitempty"`
	Conditions []NodeCondition `json:"conditions,omitempty"`
	Created    time.Time       `json:"created,omitzero"`
	// Renewed is when the kubelet last renewed its lease, by the node's own clock.
	Renewed time.Time `json:"renewed,omitzero"`
	// Taints are the keys of its taints.
	Taints []string `json:"taints,omitempty"`
	// Volumes is how many volumes of one CSI driver may be attached; 0 if it does not say.
	Volumes int `json:"volumes,omitempty"`
}

// NodeCondition is a condition of a node.
type NodeCondition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Pod is a pod that is not well.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node,omitempty"`
	// Owner is the workload that made it: kind DaemonSet, Deployment, StatefulSet or Job;
	// none for static pods.
	Owner Ref `json:"owner,omitzero"`
	// Instance is its label app.kubernetes.io/instance: the Helm release.
	Instance string    `json:"instance,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	// Waits is why the scheduler does not place it.
	Waits string `json:"waits,omitempty"`
	// Ended is why the kubelet ended it, such as an eviction.
	Ended      string      `json:"ended,omitempty"`
	Containers []Container `json:"containers,omitempty"`
}

// Container is a container that is not well.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// Reason and Message are why it waits: ErrImagePull, CrashLoopBackOff.
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	// Exit is how it ended last: "Error, exit code 1", "OOMKilled".
	Exit string `json:"exit,omitempty"`
	// Words are the last lines that it wrote before it ended.
	Words string `json:"words,omitempty"`
}

// Warning is a warning event.
type Warning struct {
	Namespace string    `json:"namespace,omitempty"`
	About     Ref       `json:"about"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
}

// Hook is an admission webhook that a service in the cluster answers.
type Hook struct {
	// Name is the webhook's, Configuration the object's that has it.
	Name          string `json:"name"`
	Configuration string `json:"configuration"`
	// Service is namespace/name, Ready how many of its endpoints are ready.
	Service string `json:"service"`
	Ready   int    `json:"ready"`
	// Required is set if the API server refuses what the webhook does not answer for.
	Required bool      `json:"required,omitempty"`
	Created  time.Time `json:"created,omitzero"`
}

// Lease is the lease of a leader.
type Lease struct {
	Name    string    `json:"name"`
	Renewed time.Time `json:"renewed,omitzero"`
}

// Attachment is a volume that is to be attached to a node.
type Attachment struct {
	Node   string `json:"node"`
	Volume string `json:"volume"`
	// Error is the CSI driver's.
	Error string    `json:"error,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// CertificateRequest is the request of a kubelet for its serving certificate.
type CertificateRequest struct {
	Name string `json:"name"`
	// Node is the one whose kubelet asks.
	Node    string    `json:"node"`
	Created time.Time `json:"created,omitzero"`
	// Decision is Approved, Denied or Failed; empty while it is pending.
	Decision string `json:"decision,omitempty"`
	// Words are those of who decided, or of the approver that does not approve it.
	Words string `json:"words,omitempty"`
}

// knows reports whether the cluster answered, and a list was read.
func (i *Inside) knows(list string) bool {
	return i != nil && i.Unreachable == nil && !slices.ContainsFunc(i.Missing, func(u Unseen) bool { return u.What == list })
}

// Answers reports whether a cluster's own API server is worth asking: its control plane
// was up once, and it is not being deleted.
func Answers(objects Objects) bool {
	cluster := first(objects["Cluster"])
	if cluster == nil || cluster.GetDeletionTimestamp() != nil {
		return false
	}
	return slices.ContainsFunc(Conditions(cluster), func(c Condition) bool { return c.Type == "ControlPlaneInitialized" && c.Status == "True" })
}

// System reports whether a namespace is one in which the system or addons of a cluster run,
// and not a tenant's own workloads.
func System(namespace string) bool {
	return strings.HasPrefix(namespace, "kube-") || strings.HasSuffix(namespace, "-system") || slices.Contains([]string{"tigera-operator", "calico-apiserver", "cert-manager", "node-feature-discovery",
		"gpu-operator", "network-operator", "node-problem-detector", "ingress-nginx", "traefik"}, namespace)
}

// node returns a Node, nil if it was not seen.
func (i *Inside) node(name string) *Node {
	if i == nil {
		return nil
	}
	if at := slices.IndexFunc(i.Nodes, func(n Node) bool { return n.Name == name }); at >= 0 {
		return &i.Nodes[at]
	}
	return nil
}

// condition returns a condition of a node, the zero one if it has none of the type.
func (n Node) condition(kind string) NodeCondition {
	if i := slices.IndexFunc(n.Conditions, func(c NodeCondition) bool { return c.Type == kind }); i >= 0 {
		return n.Conditions[i]
	}
	return NodeCondition{}
}

// ref names a pod with its namespace.
func (p Pod) ref() Ref { return Ref{Kind: "Pod", Name: p.Namespace + "/" + p.Name} }

// object is the workload that a pod is of, with its namespace; the pod itself if it is of
// none.
func (p Pod) object() Ref {
	if p.Owner.Name == "" {
		return p.ref()
	}
	return Ref{Kind: p.Owner.Kind, Name: p.Namespace + "/" + p.Owner.Name}
}

// inner are the nodes as what complains: their conditions have the words that Cluster API
// repeats on Machines.
func (v *scene) inner() []complaint {
	if !v.Inside.knows(ListNodes) {
		return nil
	}
	var all []complaint
	for _, n := range v.Inside.Nodes {
		object := v.under(v.nodeParent(n.Name), Ref{Kind: "Node", Name: n.Name})
		for _, c := range n.Conditions {
			bad := c.Status == "True"
			if c.Type == "Ready" {
				bad = c.Status != "True"
			}
			if bad {
				all = append(all, complaint{object: object, kind: c.Type, message: "Node." + c.Type + ": " + oneLine(c.Message), since: c.Since, loud: true})
			}
		}
	}
	return all
}

// nodeParent is the Machine of a node, or the Cluster.
func (v *scene) nodeParent(node string) Ref {
	for _, m := range v.Objects["Machine"] {
		if text(m, "status", "nodeRef", "name") == node {
			return refOf(m)
		}
	}
	return v.top()
}

// top is the Cluster.
func (v *scene) top() Ref {
	if v.cluster == nil {
		return Ref{}
	}
	return refOf(v.cluster)
}
