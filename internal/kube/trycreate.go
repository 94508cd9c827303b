package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TryCreate creates the object of a manifest as a dry run, and retries until the
// cluster accepts it. It ends early if what refuses it cannot run; at the end of the
// context it returns the last refusal.
func (c *Cluster) TryCreate(ctx context.Context, manifest []byte) error {
	objects, err := Decode(bytes.NewReader(manifest))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.tryCreate(ctx, object); err != nil {
			return fmt.Errorf("trying %s: %w", Describe(object), err)
		}
	}
	return nil
}

func (c *Cluster) tryCreate(ctx context.Context, object *unstructured.Unstructured) error {
	attempts := c.Attempts()
	for {
		client, err := c.Resource(object)
		if err == nil {
			_, err = client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		}
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		if vain := attempts.Vain(ctx, err); vain != nil {
			return vain
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(tryAgain):
		}
	}
}
