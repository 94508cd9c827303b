package serve

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// install applies the CustomResourceDefinitions of a group, and waits until they are served.
func install(ctx context.Context, config *rest.Config, group schema.GroupVersion, definitions func() (map[string][]byte, error)) error {
	cluster, err := kube.New(config)
	if err != nil {
		return err
	}
	texts, err := definitions()
	if err != nil {
		return err
	}
	if err := cluster.Define(ctx, texts); err != nil {
		return fault.New("CustomResourceDefinitions of "+group.Group, err, "allow this user to create CustomResourceDefinitions, or leave --install-crds out")
	}
	return nil
}
