package restore

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Sight follows what Cluster API's controllers have seen of the clusters of a plan: once
// they say of an object that it is not paused, they have acted on it or are about to.
type Sight struct {
	on *kube.Cluster
	// left are the objects that they have not seen unpaused yet, by cluster.
	left map[string][]*unstructured.Unstructured
}

// NewSight has seen nothing yet.
func NewSight(on *kube.Cluster, plan *recovery.Plan) *Sight {
	return &Sight{on, plan.Reporting()}
}

// Settled reports whether the controllers have seen that a cluster is unpaused, each of its
// objects, and if not, what is missing. What its operator paused stays so and is not waited
// for. The error does not pass if the Cluster is gone, or if a controller cannot run.
func (s *Sight) Settled(ctx context.Context, cluster string) (bool, string, error) {
	for len(s.left[cluster]) > 0 {
		o := s.left[cluster][0]
		live, err := s.read(ctx, o)
		if err != nil {
			return false, "", fmt.Errorf("reading %s: %w", recovery.Describe(o), err)
		}
		if live != nil {
			if recovery.Held(live) {
				return false, recovery.Describe(o) + " is held", nil
			}
			if paused, _, _ := unstructured.NestedBool(live.Object, "spec", "paused"); paused && o.GetKind() == kindCluster {
				break // by its operator, with all that belongs to it
			}
			if !seen(live) {
				return false, "Cluster API has not seen that " + recovery.Describe(o) + " is unpaused", s.on.Stuck(ctx, controllersOf(o))
			}
		}
		s.left[cluster] = s.left[cluster][1:]
	}
	delete(s.left, cluster)
	return true, "", nil
}

const kindCluster = "Cluster"

// read reads an object as it is now; none is what nobody wants any more.
func (s *Sight) read(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if o.GetKind() == kindCluster {
		o = o.DeepCopy()
		o.SetAPIVersion("cluster.x-k8s.io/v1beta2") // of which a backup may have an older one
	}
	client, err := s.on.Resource(o)
	if err != nil {
		return nil, err
	}
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case !apierrors.IsNotFound(err):
		return live, err
	case o.GetKind() == kindCluster:
		return nil, vain.Final(err)
	}
	return nil, nil
}

// seen reports whether an object's controller says that it is not paused, or that its own
// annotation pauses it.
func seen(o *unstructured.Unstructured) bool {
	condition, reported := recovery.Condition(o, recovery.ConditionPaused)
	_, paused := o.GetAnnotations()[recovery.AnnotationPaused]
	return reported && (condition["status"] == "False" || paused)
}

// controllersOf is the namespace of the controllers of an object.
func controllersOf(o *unstructured.Unstructured) string {
	if o.GroupVersionKind().Group == "controlplane.cluster.x-k8s.io" {
		return "capi-kubeadm-control-plane-system"
	}
	return "capi-system"
}
