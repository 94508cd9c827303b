package faults

import (
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

// inside is what the cluster says of itself when it is well, with changes.
func inside(changes ...func(*cause.Inside)) *cause.Inside {
	ready := []cause.NodeCondition{{Type: "Ready", Status: "True", Reason: "KubeletReady"}, {Type: "MemoryPressure", Status: "False"}, {Type: "DiskPressure", Status: "False"}}
	i := &cause.Inside{At: asked, Address: "203.0.113.7:6443", From: "the seed", Version: "v1.34.4", Expires: asked.AddDate(1, 0, 0), Seen: 20,
		Leaders: []cause.Lease{{Name: "kube-controller-manager", Renewed: asked.Add(-time.Second)}, {Name: "kube-scheduler", Renewed: asked}}}
	for _, name := range []string{"shop-cp1", "shop-w1"} {
		i.Nodes = append(i.Nodes, cause.Node{Name: name, Version: "v1.34.4", Conditions: ready, Created: asked.Add(-time.Hour), Renewed: asked.Add(-5 * time.Second), Volumes: 25})
	}
	i.Hooks = []cause.Hook{{Name: "validate.example.com", Configuration: "ValidatingWebhookConfiguration example", Service: "example-system/hook", Ready: 1, Required: true, Created: asked.Add(-time.Hour)}}
	for _, change := range changes {
		change(i)
	}
	return i
}

// unreachable is a cluster whose API does not answer.
func unreachable(way cause.Way, words string) *cause.Inside {
	return &cause.Inside{At: asked, Address: "203.0.113.7:6443", From: "the seed", Unreachable: &cause.Unreachable{Way: way, Words: words}}
}

// worker changes the worker as a node.
func worker(change func(*cause.Node)) *cause.Inside {
	return inside(func(i *cause.Inside) { change(&i.Nodes[1]) })
}

// condition is the worker with a condition.
func condition(kind, status, reason, message string) *cause.Inside {
	return worker(func(n *cause.Node) {
		n.Conditions = []cause.NodeCondition{{Type: kind, Status: status, Reason: reason, Message: message, Since: asked.Add(-time.Hour)}}
	})
}

// uncertified is the worker whose kubelet asked for a serving certificate ten minutes ago.
func uncertified(r cause.CertificateRequest) *cause.Inside {
	r.Name, r.Node, r.Created = "csr-7xk2p", "shop-w1", asked.Add(-10*time.Minute)
	return inside(func(i *cause.Inside) { i.Uncertified = []cause.CertificateRequest{r} })
}

// probed is the cluster whose API Cluster API does not reach.
const probed = `
kind: Cluster
metadata: {name: shop}
status: {observedGeneration: 2, conditions: [{type: RemoteConnectionProbe, status: "False", reason: ProbeFailed, message: "Remote connection probe failed, probe last succeeded at 2026-01-02T08:59:00Z"}]}
`

func apiCases() []planted {
	return []planted{
		{fault: "API refuses connections", reason: "api-refused", object: "Cluster shop", objects: probed, inside: unreachable(cause.WayRefused, "dial tcp 203.0.113.7:6443: connect: connection refused")},
		{fault: "API refuses connections, because its load balancer is in ERROR", reason: "load-balancer-error", object: "load balancer " + balancer, objects: probed,
			inside: unreachable(cause.WayRefused, "connect: connection refused"), said: &cause.Cloud{Balancers: []cause.Balancer{{ID: "1f", Name: balancer, Provisioning: "ERROR", Operating: "ERROR"}}}},
		{fault: "API refuses connections, because the control plane is stopped", reason: "server-stopped", object: "server shop-cp1", objects: probed + "---\nkind: Machine\nmetadata: {name: shop-cp1}\nspec: {providerID: \"openstack:///cp\"}\n",
			inside: unreachable(cause.WayRefused, "connect: connection refused"), said: &cause.Cloud{Servers: []cause.Server{{ID: "cp", Name: "shop-cp1", Status: "SHUTOFF", Updated: asked.Add(-time.Hour)}, {ID: "w1", Name: "shop-w1", Status: "ACTIVE"}}}},
		{fault: "API does not answer", reason: "api-unreachable", object: "Cluster shop", inside: unreachable(cause.WayNoAnswer, "context deadline exceeded")},
		{fault: "name of the API cannot be resolved", reason: "api-unreachable", object: "Cluster shop", inside: unreachable(cause.WayNoName, "dial tcp: lookup api.shop.example: no such host")},
		{fault: "certificate of the API expired", reason: "certificate-expired", object: "Cluster shop", objects: probed,
			inside: unreachable(cause.WayExpired, "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-02T10:00:00Z is after 2026-01-01T00:00:00Z")},
		{fault: "another server behind the API's address", reason: "api-untrusted", object: "Cluster shop", inside: unreachable(cause.WayUntrusted, "x509: certificate signed by unknown authority")},
		{fault: "kubeconfig not accepted", reason: "api-login-refused", object: "Cluster shop", inside: unreachable(cause.WayLogin, "Unauthorized (401)")},
		{fault: "check of the API server fails", reason: "api-not-ready", object: "Cluster shop", inside: inside(func(i *cause.Inside) { i.Failing = []string{"poststarthook/rbac/bootstrap-roles"} })},
		{fault: "etcd without a leader", reason: "etcd-unhealthy", object: "Cluster shop", inside: inside(func(i *cause.Inside) { i.Failing = []string{"etcd", "etcd-readiness"} })},
		{fault: "etcd out of space, told by the API server's log", reason: "etcd-no-space", object: "Cluster shop", inside: inside(func(i *cause.Inside) {
			i.Failing = []string{"etcd"}
			i.Warnings = []cause.Warning{{About: cause.Ref{Kind: "Pod", Name: "kube-system/kube-apiserver-shop-cp1"}, Reason: "Unhealthy", Message: "etcdserver: mvcc: database space exceeded", Last: asked}}
		})},
		{fault: "cluster that takes no writes", reason: "writes-stall", object: "Cluster shop", inside: inside(func(i *cause.Inside) {
			for n := range i.Leaders {
				i.Leaders[n].Renewed = asked.Add(-10 * time.Minute)
			}
			for n := range i.Nodes {
				i.Nodes[n].Renewed = asked.Add(-10 * time.Minute)
			}
		})},
		{fault: "clock of the API server wrong", reason: "clock-skew", object: "Cluster shop", inside: inside(func(i *cause.Inside) {
			i.Ahead = -7 * time.Minute
			for n := range i.Leaders {
				i.Leaders[n].Renewed = asked.Add(i.Ahead)
			}
			for n := range i.Nodes {
				i.Nodes[n].Renewed = asked.Add(i.Ahead)
			}
		})},
	}
}

func insideCases() []planted {
	return []planted{
		{fault: "node whose clock is ahead", reason: "clock-skew", object: "Node shop-w1", inside: worker(func(n *cause.Node) { n.Renewed = asked.Add(5 * time.Minute) })},
		{fault: "node whose clock is behind", reason: "clock-skew", object: "Node shop-w1", inside: worker(func(n *cause.Node) { n.Renewed = asked.Add(-time.Hour) })},
		{fault: "kubelet newer than the API server", reason: "version-skew", object: "Node shop-w1", inside: worker(func(n *cause.Node) { n.Version = "v1.35.0" })},
		{fault: "kubelet four minor versions old", reason: "version-skew", object: "Node shop-w1", inside: worker(func(n *cause.Node) { n.Version = "v1.30.2" })},
		{fault: "node without network plugin, asked itself", reason: "cni-not-ready", object: "Node shop-w1", inside: condition("Ready", "False", "KubeletNotReady",
			"container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"),
			objects: node("shop-w1", "NodeReady", "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")},
		{fault: "node without memory, asked itself", reason: "node-memory", object: "Node shop-w1", inside: condition("MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")},
		{fault: "node without disk space, asked itself", reason: "disk-full", object: "Node shop-w1", inside: condition("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")},
		{fault: "node with too many processes, asked itself", reason: "node-pids", object: "Node shop-w1", inside: condition("PIDPressure", "True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available")},
		{fault: "kubelet stopped, asked itself", reason: "node-silent", object: "Node shop-w1", inside: condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")},
		{fault: "kubelet stopped, because its server is", reason: "server-stopped", object: "server shop-w1", inside: condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
			objects: "kind: Machine\nmetadata: {name: shop-w1}\nspec: {providerID: \"openstack:///w1\"}\n",
			said:    &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "SHUTOFF", Updated: asked.Add(-time.Hour)}, {ID: "cp", Name: "shop-cp1", Status: "ACTIVE"}}}},
		{fault: "node not ready for a reason that no rule knows", reason: "controller-says", object: "Node shop-w1", inside: condition("Ready", "False", "KubeletNotReady", "the moon is in the way")},
		{fault: "webhook without endpoints", reason: "cluster-webhook-down", object: "webhook validate.example.com", inside: inside(func(i *cause.Inside) { i.Hooks[0].Ready = 0 })},
		{fault: "webhook that does not answer", reason: "cluster-webhook-down", object: "webhook validate.example.com", inside: inside(func(i *cause.Inside) {
			i.Warnings = []cause.Warning{{About: cause.Ref{Kind: "ReplicaSet", Name: "kube-system/coredns-7f"}, Reason: "FailedCreate", Last: asked,
				Message: `Error creating: Internal error occurred: failed calling webhook "validate.example.com": failed to call webhook: Post "https://hook.example-system.svc:443/?timeout=10s": context deadline exceeded`}}
		})},
		{fault: "kubelet that asks for another node's address", reason: "kubelet-certificate", object: "Node shop-w1", inside: uncertified(cause.CertificateRequest{
			Words: "node shop-w1 asks for 192.168.3.9, which Machine shop-w1 does not have"})},
		{fault: "request of a kubelet that nobody approves", reason: "kubelet-certificate", object: "Node shop-w1", inside: uncertified(cause.CertificateRequest{})},
		{fault: "request of a kubelet that was denied", reason: "kubelet-certificate", object: "Node shop-w1", inside: uncertified(cause.CertificateRequest{Decision: "Denied", Words: "not ours"})},
		{fault: "request of a kubelet that nobody signs", reason: "kubelet-certificate", object: "Node shop-w1", inside: uncertified(cause.CertificateRequest{Decision: "Approved"})},
		{fault: "node with as many volumes as it can have", reason: "volume-attach-limit", object: "Node shop-w1", inside: inside(func(i *cause.Inside) {
			i.Attachments = []cause.Attachment{{Node: "shop-w1", Volume: "pvc-1", Since: asked, Error: `rpc error: code = Internal desc = [ControllerPublishVolume] Attach Volume failed with error failed to attach: The maximum allowed number of disk devices (26) to attach to a single instance has been exceeded.`}}
		})},
		{fault: "no node with room for another volume", reason: "volume-attach-limit", object: "volumes of pod shop/db-7", inside: inside(func(i *cause.Inside) {
			i.Warnings = []cause.Warning{{About: cause.Ref{Kind: "Pod", Name: "shop/db-7"}, Reason: "FailedScheduling", Last: asked, Message: "0/2 nodes are available: 1 node(s) exceed max volume count, 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }."}}
		})},
		{fault: "volume that cannot be attached", reason: "volume-attach-failed", object: "persistent volume pvc-1", inside: inside(func(i *cause.Inside) {
			i.Attachments = []cause.Attachment{{Node: "shop-w1", Volume: "pvc-1", Since: asked, Error: "rpc error: code = Internal desc = volume 5a1f is in error state"}}
		})},
	}
}
