package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// AwaitSecrets waits until the secrets of a namespace exist.
func (c *Cluster) AwaitSecrets(ctx context.Context, namespace string, names []string) error {
	for _, name := range names {
		err := c.await(ctx, "secrets", types.NamespacedName{Namespace: namespace, Name: name}, &corev1.Secret{}, func(runtime.Object) bool { return true })
		if err != nil {
			return fmt.Errorf("waiting for secret %s/%s: %w", namespace, name, err)
		}
	}
	return nil
}

// await watches an object of the core group until it exists and done returns true.
func (c *Cluster) await(ctx context.Context, resource string, name types.NamespacedName, kind runtime.Object, done func(runtime.Object) bool) error {
	one := cache.NewListWatchFromClient(c.Typed.CoreV1().RESTClient(), resource, name.Namespace, fields.OneTermEqualSelector("metadata.name", name.Name))
	_, err := toolswatch.UntilWithSync(ctx, one, kind, nil, func(e watch.Event) (bool, error) {
		return (e.Type == watch.Added || e.Type == watch.Modified) && done(e.Object), nil
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
