package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// AwaitSecrets waits until the secrets of a namespace exist.
func (c *Cluster) AwaitSecrets(ctx context.Context, namespace string, names []string) error {
	for _, name := range names {
		secrets := cache.NewListWatchFromClient(c.Typed.CoreV1().RESTClient(), "secrets", namespace, fields.OneTermEqualSelector("metadata.name", name))
		_, err := toolswatch.UntilWithSync(ctx, secrets, &corev1.Secret{}, nil, func(e watch.Event) (bool, error) {
			return e.Type == watch.Added || e.Type == watch.Modified, nil
		})
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("waiting for secret %s/%s: %w", namespace, name, err)
		}
	}
	return nil
}
