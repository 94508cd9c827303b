package cause

import (
	"regexp"
	"time"
)

// outage is how long a webhook may be away: its pod starts anew, or its API server is
// overloaded. Who asked it tries again after a pause about as long as it was away. A webhook
// whose pod cannot run is told at once, as controller-down.
const outage = 10 * time.Minute

// noHook is how an API server says that it could not ask a webhook.
const noHook = `failed calling webhook "(?P<object>[^"]+)"`

// clusterRules are about the cluster as a whole and its control plane.
func clusterRules() []Rule {
	const k = "Kubernetes"
	return []Rule{
		{ID: "paused", Layer: "Cluster API", Ending: Outside, Meaning: "The cluster or a part of it is paused, so no controller acts on it.",
			Fix: "end the pause when the work that needed it is done: kubectl patch cluster NAME --type merge -p '{\"spec\":{\"paused\":false}}'; of a part, remove the annotation cluster.x-k8s.io/paused",
			find: func(v *scene) []hit {
				if !flag(v.cluster, "spec", "paused") {
					return v.pausedParts()
				}
				return []hit{{object: refOf(v.cluster), cause: "spec.paused is set", evidence: []string{"Cluster " + v.cluster.GetName() + ": spec.paused is true"}}}
			}},
		// What is installed on a cluster is refused by a webhook of that cluster, which may be its tenant's.
		{ID: "cluster-webhook-down", Layer: k, Ending: Outside, lasts: outage, Meaning: "A webhook of the cluster does not answer, so its API server refuses what the webhook is to check.", kind: "webhook",
			Fix:  "start the pods of its service again; if what it belongs to is gone, delete its configuration: kubectl delete validatingwebhookconfiguration or mutatingwebhookconfiguration",
			find: deadHooks, kinds: []string{"HelmRelease", "Manifests"}, words: regexp.MustCompile(noHook)},
		{ID: "webhook-down", Layer: k, Ending: Outside, lasts: outage, Operator: true, Meaning: "A webhook of the management cluster does not answer.", kind: "webhook",
			Fix:   "see why with kubectl get pods of the namespace that the webhook's service is in",
			words: regexp.MustCompile(noHook)},
		{ID: "clock-skew", Layer: k, Ending: Outside, Meaning: "A machine's clock is wrong: it differs from others, or a certificate is from its future.",
			Fix: "compare date on the machines, and on the one that asks; give those that are wrong a time server that they reach (NTP), and delete Machines that could not join because of it: kubectl delete machine NAME", find: wrongClocks, words: regexp.MustCompile(`x509: certificate has expired or is not yet valid: current time \S+ is before`)},
		{ID: "certificate-expired", Layer: k, Ending: Outside, Meaning: "A certificate has expired.",
			Fix: "if the Kubernetes API still answers, run slipway certs renew CLUSTER; else Cluster API cannot reach it either: as root on each control plane, run kubeadm certs renew all and restart the containers of etcd and of the Kubernetes control plane, and then run slipway certs renew CLUSTER", find: reached(WayExpired),
			kinds: []string{"Cluster", "KubeadmControlPlane", "MachineDeployment", "Machine", "MachineHealthCheck", "HelmRelease", "Manifests", "Node"}, // others ask the cloud
			words: regexp.MustCompile(`x509: certificate has expired`)},
		{ID: "etcd-no-space", Layer: "etcd", Ending: Outside, Meaning: "etcd is out of space and takes no writes.",
			Fix: "run slipway etcd defrag as root on a control plane, which defragments it and clears the alarm; then delete what fills it", find: etcdFull, words: regexp.MustCompile(`(?i)etcd reports alarms: .*NOSPACE|database space exceeded`)},
		{ID: "etcd-unhealthy", Layer: "etcd", Ending: Outside, Meaning: "A member of etcd is not healthy.",
			Fix:   "see whether its machine is well with slipway why MACHINE; with a majority of members left, delete the Machine: kubectl delete machine NAME",
			find:  etcdFails,
			words: regexp.MustCompile(`Etcd reports alarms: |Etcd endpoint \S+ reports errors|Failed to connect to etcd|Failed to get etcd (members|alarms)|etcd member hosted on this Machine is not included|Etcd member \d+ \(Name not yet assigned\)`), not: joining},
		{ID: "version-skew", Layer: "Cluster API", Ending: Outside, Meaning: "The versions of Kubernetes of the control plane and of the workers do not fit together.",
			Fix: "upgrade the control plane first, one minor version at a time, then the node groups", find: skewed, words: regexp.MustCompile(`(?i)version skew|KubeletVersionSkew|ControlPlaneVersionSkew|minor version.*(higher|greater) than`)},
		{ID: "api-unreachable", Layer: k, Ending: Outside, Meaning: "The management cluster cannot reach the Kubernetes API of the cluster.",
			Fix:  "see the load balancer and the control planes in this answer; test the way with curl -k https://ADDRESS:PORT/livez from the management cluster",
			find: reached(WayNoAnswer, WayNoName),
			// Conditions of the control plane and of machines say it too (reason ConnectionDown).
			kind: "Cluster", of: func(v *scene, _ complaint) string { return v.top().Name },
			words: regexp.MustCompile(`(?i)remote connection (probe failed|down)|last successful probe at|remote connection probe failed, probe last succeeded|lost connection to the workload cluster`), not: neverAnswered},
	}
}

// pausedParts are objects of the cluster that somebody paused one by one.
func (v *scene) pausedParts() []hit {
	var hits []hit
	for _, kind := range []string{"OpenStackCluster", "KubeadmControlPlane", "MachineDeployment", "Machine", "OpenStackMachine", "OpenStackServer"} {
		for _, o := range v.Objects[kind] {
			if _, paused := o.GetAnnotations()["cluster.x-k8s.io/paused"]; paused {
				hits = append(hits, hit{object: refOf(o), cause: "it has the annotation cluster.x-k8s.io/paused", evidence: []string{refOf(o).String() + ": annotation cluster.x-k8s.io/paused"}})
			}
		}
	}
	return hits
}
