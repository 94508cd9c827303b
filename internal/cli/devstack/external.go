package devstack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// openToExternal opens the host to the pods of a cluster that somebody else made on it:
// devstack-plugin-container's have 10.244.0.0/16, not SLIPWAY_POD_CIDR. What pods of a cluster
// elsewhere send comes from their nodes.
func openToExternal(ctx context.Context, on *kube.Cluster, host string, run devstack.Runner) error {
	nodes, err := on.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the nodes of the management cluster: %w", err)
	}
	for _, node := range nodes.Items {
		here := slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP && a.Address == host })
		if !here {
			continue
		}
		for _, pods := range podNetworks(node) {
			if err := devstack.OpenToPods(ctx, run, pods); err != nil {
				return err
			}
		}
	}
	return nil
}

// podNetworks are those of IPv4, which iptables knows.
func podNetworks(node corev1.Node) []string {
	all := node.Spec.PodCIDRs
	if len(all) == 0 && node.Spec.PodCIDR != "" {
		all = []string{node.Spec.PodCIDR}
	}
	return slices.DeleteFunc(slices.Clone(all), func(network string) bool { return strings.Contains(network, ":") })
}
