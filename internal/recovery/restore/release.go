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

// Release lets controllers act on an object that was held. It does nothing to one
// that is not held, and to one that is gone.
func Release(ctx context.Context, on *kube.Cluster, o *unstructured.Unstructured) error {
	return change(ctx, on, o, "releasing", recovery.Release)
}

// Pause holds an object again; one that is held stays so.
func Pause(ctx context.Context, on *kube.Cluster, o *unstructured.Unstructured) error {
	return change(ctx, on, o, "pausing", func(o *unstructured.Unstructured) bool { return !recovery.Held(o) && recovery.Hold(o) })
}

// change reads an object, changes it and writes it, until nobody wrote in between.
func change(ctx context.Context, on *kube.Cluster, o *unstructured.Unstructured, what string, do func(*unstructured.Unstructured) bool) error {
	client, err := on.Resource(o)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, recovery.Describe(o), err)
	}
	err = patiently(ctx, on, func() error {
		live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if kube.Absent(err) {
			return nil
		}
		if err != nil || !do(live) {
			return err
		}
		_, err = client.Update(ctx, live, metav1.UpdateOptions{FieldManager: kube.FieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, recovery.Describe(o), err)
	}
	return nil
}

// controllerNamespace is that of Cluster API's own controllers.
const controllerNamespace = "capi-system"

// Unpaused reports whether Cluster API says of a Cluster that it is not paused, and if
// not, what is missing. A Cluster that was paused before the backup stays so. The error
// does not pass if the Cluster is gone, or if its controller cannot run.
func Unpaused(ctx context.Context, on *kube.Cluster, namespace, name string) (bool, string, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	o.SetKind("Cluster")
	o.SetNamespace(namespace)
	client, err := on.Resource(o)
	if err == nil {
		o, err = client.Get(ctx, name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		err = vain.Final(err)
	}
	if err != nil {
		return false, "", fmt.Errorf("reading Cluster %s/%s: %w", namespace, name, err)
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused {
		return !recovery.Held(o), "it is held", nil
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Paused" && condition["status"] == "False" {
			return true, "", nil
		}
	}
	return false, "Cluster API has not seen that it is unpaused", on.Stuck(ctx, controllerNamespace)
}
