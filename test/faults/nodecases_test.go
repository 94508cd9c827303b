package faults

func nodeCases() []planted {
	return []planted{
		{fault: "network plugin not ready", reason: "cni-not-ready", object: "Machine shop-w1",
			objects: node("shop-w1", "NodeReady", "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")},
		{fault: "node without memory", reason: "node-memory", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "* Node.MemoryPressure: kubelet has insufficient memory available")},
		{fault: "node without disk space", reason: "disk-full", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "* Node.DiskPressure: kubelet has disk pressure")},
		{fault: "kubelet silent", reason: "node-silent", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "* Node.Ready: Kubelet stopped posting node status.")},
		{fault: "node deleted from the cluster", reason: "node-gone", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "Node shop-w1 has been deleted while the Machine still exists")},
		{fault: "node with too many processes", reason: "node-pids", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "* Node.PIDPressure: kubelet has insufficient PID available")},
		{fault: "container runtime down", reason: "node-runtime", object: "Machine shop-w1", objects: node("shop-w1", "NodeHealthy", "* Node.Ready: container runtime is down")},
	}
}
