// Package noderemoval takes a node out of the load balancers of Services before its server is
// deleted. Cluster API drains the node, and deletes the server at once: load balancers send
// requests there until their monitors notice, which hang. docs/operations/upgrade.md is its page
// for users, docs/design/0080-nodes-that-are-removed.md says what it decides and why.
package noderemoval

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// Name is the controller's, in logs.
const Name = "node-removal"

// HookAnnotation is on a Machine that is being deleted, as long as load balancers may send requests
// to its node: Cluster API keeps the server until the annotation is gone.
const HookAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/slipway-load-balancers"

// LeftAnnotation is on a Machine whose node left the load balancers; its value is when, in RFC 3339.
const LeftAnnotation = "slipway.sh/left-load-balancers"

// ExcludedLabel is on a node that load balancers of Services leave out
// (https://kubernetes.io/docs/reference/labels-annotations-taints/).
const ExcludedLabel = "node.kubernetes.io/exclude-from-external-load-balancers"

const (
	// leaves is how long the server is kept after its node got the label: the cloud controller
	// manager takes the node out of each load balancer, in seconds, and connections that lead
	// through it end. The Magnum API ends its own after 25 seconds.
	leaves = 40 * time.Second
	// answerTime is how long the clusters may take to answer for one Machine.
	answerTime = 10 * time.Second
	// lookAgain is when to look again whether the kind Machine is there.
	lookAgain = 30 * time.Second
)

// Rules are what the controller may do on the management cluster, as rules of a ClusterRole.
// On other clusters it acts with their kubeconfigs.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters"}, Verbs: []string{"get"}},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"machines"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}
}

// Setup adds the controller to a manager. clusters are the connections to workload clusters,
// which it shares. The definitions of Cluster API may come later.
func Setup(mgr manager.Manager, clusters *target.Clusters) error {
	client, err := metadata.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("client of Machines: %w", err)
	}
	r := &reconciler{mapper: mgr.GetRESTMapper(), metadata: client, live: mgr.GetAPIReader(), write: mgr.GetClient(), connect: connector(mgr.GetAPIReader(), clusters), now: time.Now, lookAgain: lookAgain}
	options := controller.TypedOptions[types.NamespacedName]{Reconciler: r, MaxConcurrentReconciles: 8, SkipNameValidation: ptr.To(true), LogConstructor: named(mgr.GetLogger())}
	c, err := controller.NewTyped(Name, mgr, options)
	if err != nil {
		return fmt.Errorf("creating the controller of nodes that are removed: %w", err)
	}
	if err := c.Watch(source.TypedFunc[types.NamespacedName](r.start)); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	return nil
}

// named puts into each line of the log what it is about.
func named(to logr.Logger) func(*types.NamespacedName) logr.Logger {
	to = to.WithValues("controller", Name)
	return func(machine *types.NamespacedName) logr.Logger {
		if machine == nil {
			return to
		}
		return to.WithValues("machine", machine.String())
	}
}
