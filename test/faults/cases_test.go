package faults

import "slices"

// cases are all planted faults. A new one is about ten lines in the file of its layer.
func cases() []planted {
	return slices.Concat(serverCases(), quotaCases(), imageCases(), networkCases(), balancerCases(), identityCases(), bootCases(), clusterCases(), nodeCases(), addonCases())
}

// unplanted are the reasons without a planted fault: those of last resort.
func unplanted() []string {
	return []string{"keystone-absent", "load-balancer-refused", "network-missing", "kubeadm-failed", "cloud-init-failed", "node-pids", "node-runtime",
		"etcd-unhealthy", "volume-not-created"}
}
