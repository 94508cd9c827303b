// Package catalog finds packages.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// ErrUnusable says why a package cannot be used; its text is for clients.
var ErrUnusable = errors.New("the package cannot be used")

// Load opens a package; a fresh use needs one that is not disabled, and that is offered to the
// project. Others still serve the instances that have them, and what has begun.
func Load(ctx context.Context, c client.Reader, id, project string, fresh bool) (*csar.Content, error) {
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		return nil, fmt.Errorf("%w: there is no package %q", ErrUnusable, id)
	}
	var p v1alpha1.VNFPackage
	err := c.Get(ctx, types.NamespacedName{Name: id}, &p)
	switch {
	case apierrors.IsNotFound(err), err == nil && fresh && len(p.Spec.Projects) > 0 && !slices.Contains(p.Spec.Projects, project):
		return nil, fmt.Errorf("%w: there is no package %q", ErrUnusable, id)
	case err != nil:
		return nil, fmt.Errorf("reading package %s: %w", id, err)
	case fresh && p.Spec.Disabled:
		return nil, fmt.Errorf("%w: package %s is disabled", ErrUnusable, id)
	}
	content, err := csar.Verify(p.Spec.Content)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: package %s: %w", ErrUnusable, id, err)
	case content.ID != id:
		return nil, fmt.Errorf("%w: package %s holds that of vnfdId %s", ErrUnusable, id, content.ID)
	}
	return content, Suits(content)
}

// Suits reports whether the endpoint can run a package: one of a workload cluster. Management
// clusters are for Tacker.
func Suits(content *csar.Content) error {
	s, err := content.Settings()
	if err != nil {
		return nil // not made by Slipway: its objects decide
	}
	if s.Kind != "workload" {
		return fmt.Errorf("%w: it is a management cluster, and the endpoint runs on one", ErrUnusable)
	}
	return nil
}

// Identify says who the VNF of a package is.
func Identify(who *v1alpha1.Identity, c *csar.Content) {
	who.VNFDID, who.Provider, who.Product, who.SoftwareVersion, who.VNFDVersion = c.ID, c.VNFD.Provider, c.VNFD.Product, c.VNFD.SoftwareVersion, c.VNFD.Version
}
