package clusterctl

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// Objects are what an [Installation] without settings makes from a bundle, in this order:
// cert-manager, ORC, Cluster API and its providers.
func Objects(ctx context.Context, folder *bundle.Folder) ([]*unstructured.Unstructured, error) {
	p, err := Installation{Bundle: folder}.parts(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(p.certManager, p.orc, p.objects)
	for _, late := range p.late {
		all = append(all, late.deployment)
	}
	return all, nil
}
