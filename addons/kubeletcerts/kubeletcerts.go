// Package kubeletcerts approves the serving certificates of kubelets: kubelets with
// serverTLSBootstrap ask their cluster for one, and get it if they ask for the names and addresses
// that Cluster API knows of their Machine. docs/guides/clusters.md is its page for users,
// docs/design/0064-kubelet-serving-certificates.md says what it decides and why.
package kubeletcerts

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

// Name is the name of the controller in logs.
const Name = "kubelet-certificates"

// ClusterLabel is on Clusters whose kubelets ask for serving certificates; its value is
// "true". Other clusters are not watched.
const ClusterLabel = "slipway.sh/kubelet-serving-certificates"

// ReasonAnnotation is set on a request that is not approved, and says why.
const ReasonAnnotation = "slipway.sh/reason"

// Rules are what the controller may do on the management cluster, as rules of a ClusterRole.
// On other clusters it acts with their kubeconfigs.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"machines"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}
}

// Setup adds the controller to a manager. clusters are the connections to workload clusters,
// which it shares. The definitions of Cluster API may come later.
func Setup(mgr manager.Manager, clusters *target.Clusters) error {
	_, err := setup(mgr, clusters, settles, lookAgain)
	return err
}

func setup(mgr manager.Manager, clusters *target.Clusters, settles, lookAgain time.Duration) (*reconciler, error) {
	client, err := metadata.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("client of Clusters: %w", err)
	}
	r := &reconciler{mapper: mgr.GetRESTMapper(), metadata: client, live: mgr.GetAPIReader(), clusters: clusters, settles: settles, lookAgain: lookAgain, watches: map[key]*watch{}}
	c, err := controller.NewTyped(Name, mgr, controller.TypedOptions[request]{Reconciler: r, MaxConcurrentReconciles: 8, SkipNameValidation: ptr.To(true), LogConstructor: named(mgr.GetLogger())})
	if err != nil {
		return nil, fmt.Errorf("creating the controller of serving certificates: %w", err)
	}
	if err := c.Watch(source.TypedFunc[request](r.start)); err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	return r, nil
}

// named adds to each line of the log what it is about.
func named(to logr.Logger) func(*request) logr.Logger {
	to = to.WithValues("controller", Name)
	return func(q *request) logr.Logger {
		if q == nil {
			return to
		}
		return to.WithValues("cluster", types.NamespacedName(q.cluster).String(), "request", q.name)
	}
}
