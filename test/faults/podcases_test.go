package faults

import (
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

// sickPod is a pod of calico on the worker with a container that waits.
func sickPod(reason, message string) cause.Pod {
	return cause.Pod{Namespace: "kube-system", Name: "calico-node-x7", Node: "shop-w1", Owner: cause.Ref{Kind: "DaemonSet", Name: "calico-node"}, Created: asked.Add(-time.Hour),
		Containers: []cause.Container{{Name: "calico-node", Image: "quay.io/calico/node:v9", Reason: reason, Message: message}}}
}

// pods is the cluster with pods that are not well, and warnings.
func pods(sick cause.Pod, warnings ...cause.Warning) *cause.Inside {
	return inside(func(i *cause.Inside) { i.Pods, i.Warnings = []cause.Pod{sick}, warnings })
}

// of is a warning about the pod.
func of(reason, message string) cause.Warning {
	return cause.Warning{Namespace: "kube-system", About: cause.Ref{Kind: "Pod", Name: "kube-system/calico-node-x7"}, Reason: reason, Message: message, First: asked.Add(-time.Minute), Last: asked}
}

func podCases() []planted {
	crash := sickPod("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	crash.Containers[0].Restarts, crash.Containers[0].Exit, crash.Containers[0].Words = 7, "Error, exit code 1", "FATAL: cannot read felix.cfg"
	waits, evicted := sickPod("", ""), sickPod("", "")
	waits.Containers, waits.Node, waits.Waits = nil, "", "0/2 nodes are available: 2 Insufficient cpu."
	evicted.Containers, evicted.Ended = nil, "Evicted: The node was low on resource: ephemeral-storage."
	full := condition("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")
	full.Pods = []cause.Pod{evicted}
	twice := pods(sickPod("ImagePullBackOff", `Back-off pulling image "quay.io/calico/node:v9": ErrImagePull: quay.io/calico/node:v9: not found`))
	other := twice.Pods[0]
	other.Name, other.Node = "calico-node-x8", "shop-cp1"
	twice.Pods = append(twice.Pods, other)
	bare := condition("Ready", "False", "KubeletNotReady", "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
	bare.Pods = []cause.Pod{crash}
	return []planted{
		{fault: "image of an addon not found, on two nodes", reason: "image-pull", object: "container image quay.io/calico/node:v9", inside: twice,
			objects: addon(`DaemonSet kube-system/calico-node: container calico-node: ImagePullBackOff: Back-off pulling image`)},
		{fault: "registry of an addon unreachable", reason: "registry-unreachable", object: "registry quay.io", inside: pods(sickPod("ErrImagePull",
			`failed to pull and unpack image "quay.io/calico/node:v9": failed to resolve reference "quay.io/calico/node:v9": failed to do request: Head "https://quay.io/v2/calico/node/manifests/v9": dial tcp: lookup quay.io on 10.0.0.2:53: no such host`))},
		{fault: "registry unreachable, and the pod backs off", reason: "registry-unreachable", object: "registry quay.io", inside: pods(sickPod("ImagePullBackOff", `Back-off pulling image "quay.io/calico/node:v9"`),
			of("Failed", `Failed to pull image "quay.io/calico/node:v9": failed to do request: Head "https://quay.io/v2/calico/node/manifests/v9": net/http: TLS handshake timeout`))},
		{fault: "no space for an image", reason: "disk-full", object: "Node shop-w1", inside: pods(sickPod("ErrImagePull", `failed to pull and unpack image "quay.io/calico/node:v9": write /var/lib/containerd/io.containerd.content.v1.content/ingest/x/data: no space left on device`))},
		{fault: "pod evicted from a full disk", reason: "disk-full", object: "Node shop-w1", inside: full},
		{fault: "pod that ends again and again", reason: "pod-crash", object: "DaemonSet kube-system/calico-node", inside: pods(crash), objects: addon("DaemonSet kube-system/calico-node: container calico-node: CrashLoopBackOff")},
		{fault: "no network plugin, because its pod ends again and again", reason: "pod-crash", object: "DaemonSet kube-system/calico-node", inside: bare},
		{fault: "pod without its Secret", reason: "pod-not-started", object: "DaemonSet kube-system/calico-node", inside: pods(sickPod("CreateContainerConfigError", `secret "calico-certs" not found`))},
		{fault: "pod without its volume", reason: "pod-not-started", object: "DaemonSet kube-system/calico-node", inside: pods(sickPod("ContainerCreating", ""), of("FailedMount", `MountVolume.SetUp failed for volume "etc" : configmap "calico" not found`))},
		{fault: "no node with room for an addon", reason: "pod-unschedulable", object: "DaemonSet kube-system/calico-node", inside: pods(waits)},
		{fault: "no host for the first worker, for which an addon waits", reason: "no-valid-host", object: "server shop-w1", inside: pods(waits),
			objects: server("ERROR", "w1", "InstanceStateError", ""), said: nova("No valid host was found. There are not enough hosts available.")},
	}
}
