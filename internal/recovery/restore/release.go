package restore

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
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
