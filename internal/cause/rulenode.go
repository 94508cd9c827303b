package cause

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// nodeRules are about nodes, as Cluster API repeats their conditions on Machines.
func nodeRules() []Rule {
	const k = "Kubernetes"
	return []Rule{
		{ID: "cni-not-ready", Layer: k, Ending: Passing, Meaning: "The node has no network plugin yet.",
			Fix:   "see the addon of the network plugin (Calico or Cilium) in slipway cluster describe, and its pods with kubectl get pods -n kube-system",
			words: regexp.MustCompile(`NetworkPluginNotReady|cni plugin not initialized|NetworkUnavailable: .*(not|fail)`), not: starting},
		{ID: "node-memory", Layer: k, Ending: Outside, Meaning: "The node has too little memory.",
			Fix: "give pods requests and limits, or choose a larger flavor", words: regexp.MustCompile(`Node\.MemoryPressure|insufficient memory available|System OOM`)},
		{ID: "node-pids", Layer: k, Ending: Outside, Meaning: "The node has too many processes.", Fix: "find the pod that starts them, or choose a larger flavor", words: regexp.MustCompile(`Node\.PIDPressure|insufficient PID`)},
		{ID: "node-silent", Layer: k, Ending: Outside, healthCheck: true, Meaning: "The kubelet of the node reports nothing any more.",
			Fix:   "see whether the server runs with slipway why MACHINE; a machine health check replaces it, or delete the Machine: kubectl delete machine NAME",
			words: regexp.MustCompile(`(?i)kubelet stopped posting node status|Node Ready condition is Unknown|Node \S+ is unreachable`)},
		{ID: "node-runtime", Layer: k, Ending: Outside, healthCheck: true, Meaning: "The container runtime of the node is not well.",
			Fix: "see the journal of containerd and of the kubelet on the node" + again, words: regexp.MustCompile(`(?i)container runtime is down|PLEG is not healthy|container runtime status check may not have completed`)},
		{ID: "node-uninitialized", Layer: k, Ending: Outside, Meaning: "The cloud controller manager has not initialised the node, so nothing is scheduled to it.",
			Fix: "see the pods of openstack-cloud-controller-manager in kube-system, and the Secret cloud-config that they log in with", find: uninitialized},
		{ID: uncertified, Layer: k, Ending: Outside, Meaning: "The kubelet of the node asked for its serving certificate and has none, so kubectl logs and exec, and the node's metrics, do not work.",
			Fix: "compare what it asks for with the addresses of its Machine: kubectl describe machine NAME. If they are the node's, approve it on the cluster: kubectl certificate approve REQUEST", find: uncertifiedNodes},
		{ID: "node-gone", Layer: k, Ending: Outside, healthCheck: true, Meaning: "The node was deleted from the cluster, but its Machine is there.",
			Fix: "delete the Machine so that Cluster API creates another: kubectl delete machine NAME", words: regexp.MustCompile(`(?i)node \S+ (does not exist|has been deleted)|NodeDeleted`),
			not: func(v *scene, c complaint, _ string) bool {
				if c.object.Kind != "Machine" {
					return c.object.Kind != "Node" // others only repeat what a Machine says, and may do so late
				}
				machine := find(v.Objects["Machine"], c.object.Name)
				return machine != nil && (machine.GetDeletionTimestamp() != nil || text(machine, "status", "nodeRef", "name") == "") // its node goes first; it was never there
			}},
	}
}

// starts is how long a node or a pod may take for what each of them does at first: a network
// plugin that is not there, a Secret that is just being made. Before, it is no cause.
const starts = time.Minute

// starting takes words back that are said of everything that starts.
func starting(v *scene, c complaint, _ string) bool {
	return !c.since.IsZero() && v.Now.Sub(c.since) < starts
}

const (
	// uncertified is the reason of a node whose kubelet has no serving certificate.
	uncertified = "kubelet-certificate"
	// certifies is how long the approver and the signer may take together.
	certifies = 5 * time.Minute
)

// uncertifiedNodes are nodes whose kubelets asked for a serving certificate, and have none.
func uncertifiedNodes(v *scene) []hit {
	if !v.Inside.knows(ListRequests) || v.cluster == nil {
		return nil
	}
	var hits []hit
	for _, r := range v.Inside.Uncertified {
		if r.Decision != "Denied" && r.Decision != "Failed" && v.Now.Sub(r.Created) < certifies {
			continue
		}
		state, words := "pending", cmp.Or(r.Words, "nobody has approved it")
		switch r.Decision {
		case "Denied", "Failed":
			state = strings.ToLower(r.Decision)
		case "Approved":
			state, words = "approved, but not signed", "see kube-controller-manager"
		}
		object := v.under(v.nodeParent(r.Node), Ref{Kind: "Node", Name: r.Node})
		hits = append(hits, hit{object: object, cause: "certificate signing request " + r.Name + " is " + state + ": " + words, since: r.Created, source: "its request",
			evidence: []string{"CertificateSigningRequest " + r.Name + ": " + state + ": " + words}})
	}
	return hits
}

// initializes is how long the cloud controller manager may take for a node.
const initializes = 5 * time.Minute

// uninitialized are nodes that still have the taint with which their kubelet came.
func uninitialized(v *scene) []hit {
	if !v.Inside.knows(ListNodes) || v.cluster == nil {
		return nil
	}
	var hits []hit
	for _, n := range v.Inside.Nodes {
		if !slices.Contains(n.Taints, "node.cloudprovider.kubernetes.io/uninitialized") || v.Now.Sub(n.Created) < initializes {
			continue
		}
		object := v.under(v.nodeParent(n.Name), Ref{Kind: "Node", Name: n.Name})
		hits = append(hits, hit{object: object, cause: "it has the taint node.cloudprovider.kubernetes.io/uninitialized", since: n.Created, source: "its taints",
			evidence: []string{"Node " + n.Name + ": taint node.cloudprovider.kubernetes.io/uninitialized"}})
	}
	return hits
}
