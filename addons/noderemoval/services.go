package noderemoval

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// page is how many Services are read at a time.
const page = 500

// balanced is what load balancers of a cluster need of a node.
type balanced struct {
	// any says that there are some.
	any bool
	// local says that one sends requests to pods of the same node only.
	local bool
}

// balancers reads the Services of a cluster.
func balancers(ctx context.Context, there kubernetes.Interface) (balanced, error) {
	var b balanced
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := there.CoreV1().Services(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return balanced{}, fmt.Errorf("listing Services: %w", err)
		}
		for _, service := range list.Items {
			if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
				b.any = true
				b.local = b.local || service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return b, nil
		}
	}
}

// exclude puts the label on a node.
func exclude(ctx context.Context, there kubernetes.Interface, node string) error {
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {%q: "true"}}}`, ExcludedLabel)
	if _, err := there.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("excluding node %s from load balancers: %w", node, err)
	}
	return nil
}

// connector connects to clusters by the kubeconfigs that Cluster API made.
func connector(live client.Reader, clusters *target.Clusters) func(context.Context, types.NamespacedName) (kubernetes.Interface, error) {
	return func(ctx context.Context, cluster types.NamespacedName) (kubernetes.Interface, error) {
		kubeconfig, err := target.Kubeconfig(ctx, live, cluster)
		if err != nil {
			return nil, err
		}
		if kubeconfig == nil {
			return nil, fmt.Errorf("Cluster %s has no kubeconfig", cluster)
		}
		connection, err := clusters.Connect(cluster, kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("connecting to Cluster %s: %w", cluster, err)
		}
		if err := clusters.Reach(ctx, cluster, connection); err != nil {
			return nil, err
		}
		return connection.Typed, nil
	}
}
