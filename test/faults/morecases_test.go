package faults

import (
	"errors"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

// warned is the cluster with a warning about something that a workload asked for.
func warned(kind, name, reason, message string) *cause.Inside {
	return inside(func(i *cause.Inside) {
		i.Warnings = []cause.Warning{{Namespace: "shop", About: cause.Ref{Kind: kind, Name: name}, Reason: reason, Message: message, First: asked.Add(-time.Minute), Last: asked}}
	})
}

// capo is CAPO's controller on the management cluster.
func capo(wanted int, words string) []cause.Controller {
	return []cause.Controller{{Namespace: "capi-system", Name: "capi-controller-manager", Wanted: 1, Ready: 1, Since: asked.Add(-time.Hour)},
		{Namespace: "capo-system", Name: "capo-controller-manager", Wanted: wanted, Words: words, Since: asked.Add(-10 * time.Minute)}}
}

// unmanaged is a cluster that no controller has acted on.
const unmanaged = `
kind: Cluster
metadata: {name: shop}
status: {observedGeneration: 2, phase: Provisioning}
---
kind: OpenStackCluster
metadata: {name: shop}
status: {}
`

// failedInit is what cloud-init and kubeadm print when kubeadm's preflight refuses: three
// rules know a line of it.
const failedInit = `cloud-init[197]: [preflight] Running pre-flight checks
cloud-init[197]: error execution phase preflight: [preflight] Some fatal errors occurred:
cloud-init[197]: 	[ERROR Mem]: the system RAM (512 MB) is less than the minimum 1700 MB
cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)
`

func moreCases() []planted {
	limited := sickPod("ErrImagePull", `failed to pull and unpack image "quay.io/calico/node:v9": failed to copy: httpReadSeeker: failed open: unexpected status code https://quay.io/v2/calico/node/manifests/v9: 429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit.`)
	manager := sickPod("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	manager.Owner.Name, manager.Containers[0].Restarts, manager.Containers[0].Exit = "openstack-cloud-controller-manager", 9, "Error, exit code 255"
	dns := sickPod("", "")
	dns.Owner, dns.Containers, dns.Node, dns.Waits = cause.Ref{Kind: "Deployment", Name: "coredns"}, nil, "", "0/2 nodes are available: 2 node(s) had untolerated taint {node.cloudprovider.kubernetes.io/uninitialized: true}."
	uninitialized := pods(manager)
	uninitialized.Pods = append(uninitialized.Pods, dns)
	return []planted{
		{fault: "controller scaled to zero", reason: "controller-down", object: "Deployment capo-system/capo-controller-manager", objects: unmanaged, controllers: capo(0, "")},
		{fault: "controller that ends again and again", reason: "controller-down", object: "Deployment capo-system/capo-controller-manager", objects: unmanaged, controllers: capo(1, "CrashLoopBackOff, ended 7 times")},
		{fault: "machine paused by an annotation", reason: "paused", object: "Machine shop-w1", objects: waitingWorker + "kind: Machine\nmetadata: {name: shop-w1, annotations: {cluster.x-k8s.io/paused: \"true\"}}\n"},
		{fault: "Secret of the credential deleted", reason: "credential-missing", object: "credential shop-cloud-credentials",
			said: &cause.Cloud{Refused: &cause.Refusal{Absent: true, Words: `secrets "shop-cloud-credentials" not found`}}},
		{fault: "name server of the nodes wrong", reason: "machine-dns", object: "server shop-w1", objects: booting,
			said: console("cloud-init[197]: \t[ERROR ImagePull]: failed to pull image registry.k8s.io/kube-apiserver:v1.34.4: failed to do request: Head \"https://registry.k8s.io/v2/x\": dial tcp: lookup registry.k8s.io on 10.9.9.9:53: server misbehaving\n")},
		{fault: "memory of a machine too small, with all that follows", reason: "kubeadm-preflight", object: "server shop-w1", objects: booting, said: console(failedInit)},
		{fault: "disk full, with all that follows", reason: "disk-full", object: "server shop-w1", objects: booting, said: console(failedInit + "containerd[402]: write /var/lib/containerd/x: No space left on device\n")},
		{fault: "host of a running server lost", reason: "node-silent", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "* Node.Ready: Kubelet stopped posting node status."),
			said: &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "ACTIVE", Created: asked.Add(-time.Hour)}}}},
		{fault: "server paused", reason: "server-stopped", object: "server shop-w1", objects: booting, said: &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "PAUSED"}}}},
		{fault: "availability zone missing", reason: "zone-missing", object: "availability zone az-2", objects: "kind: Machine\nmetadata: {name: shop-w1}\nspec: {failureDomain: az-2}\n---\n" + refused(errors.New("The requested availability zone is not available (400)"))},
		{fault: "image with a wrong property", reason: "image-unusable", object: "OpenStackServer shop-w1", objects: refused(errors.New("Invalid image metadata. Error: Field value floppy is invalid (400)"))},
		{fault: "volume type missing", reason: "volume-not-created", object: "OpenStackServer shop-w1", objects: refused(errors.New("Volume type ssd could not be found. (404)"))},
		{fault: "no floating IP left on the external network", reason: "address-pool-empty", object: "network 5a1f", objects: infrastructure("APIEndpointReady", "FloatingIPError", "Failed to reconcile floating IP: No more IP addresses available on network 5a1f. (409)")},
		{fault: "template of the machines deleted", reason: "controller-says", object: "KubeadmControlPlane shop-control-plane", objects: `
kind: KubeadmControlPlane
metadata: {name: shop-control-plane}
status: {observedGeneration: 1, replicas: 1, conditions: [{type: Available, status: "True"}], deprecated: {v1beta1: {conditions: [{type: MachinesCreated, status: "False", severity: Error,
  reason: InfrastructureTemplateCloningFailed, message: 'failed to retrieve OpenStackMachineTemplate prod/shop-cp: openstackmachinetemplates.infrastructure.cluster.x-k8s.io "shop-cp" not found', lastTransitionTime: "2026-01-02T09:00:00Z"}]}}}
`},
		{fault: "registry that gives no more for now", reason: "registry-unreachable", object: "registry quay.io", inside: pods(limited)},
		{fault: "cloud controller manager ends, and nodes stay tainted", reason: "pod-crash", object: "DaemonSet kube-system/openstack-cloud-controller-manager", inside: uninitialized},
		{fault: "quota of volumes, met by a workload", reason: "volume-not-provisioned", object: "volume claim shop/data", inside: warned("PersistentVolumeClaim", "shop/data", "ProvisioningFailed",
			`failed to provision volume with StorageClass "csi-cinder": rpc error: code = Internal desc = CreateVolume failed with error VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'. (413)`)},
		{fault: "quota of load balancers, met by a Service", reason: "service-load-balancer-failed", object: "Service shop/web", inside: warned("Service", "shop/web", "SyncLoadBalancerFailed",
			"Error syncing load balancer: failed to ensure load balancer: error creating loadbalancer: Quota has been met for resources: Load Balancer (403)")},
	}
}
