package serve

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// install applies the CustomResourceDefinitions of a group.
func install(ctx context.Context, config *rest.Config, group schema.GroupVersion, definitions func() (map[string][]byte, error)) error {
	cluster, err := kube.New(config)
	if err != nil {
		return err
	}
	files, err := definitions()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := cluster.Apply(ctx, text); err != nil {
			return fault.New("definition "+name, err, "allow this user to create CustomResourceDefinitions, or leave --install-crds out")
		}
	}
	return awaitKinds(ctx, config, group, len(files))
}

// awaitKinds waits until discovery lists n kinds: that happens some time after the
// API server accepted the definitions, and clients do not look again themselves.
func awaitKinds(ctx context.Context, config *rest.Config, group schema.GroupVersion, n int) error {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("client for CustomResourceDefinitions: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		list, err := found.ServerResourcesForGroupVersion(group.String())
		if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kinds := 0
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				kinds++
			}
		}
		return kinds >= n, nil
	})
	if err != nil {
		return fault.New("CustomResourceDefinitions of "+group.Group, err, "check their conditions: kubectl get crd -o yaml")
	}
	return nil
}
