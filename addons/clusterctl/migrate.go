package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Migrate writes objects that are stored in an older version of their kind again, in the version
// in which the cluster stores them now, and takes the older one off the definition's
// storedVersions: an API server refuses a newer definition that lacks a stored version. It
// is called before newer definitions are applied, while the former controllers convert.
//
// A definition loses its older stored versions when all its objects are written, so a run that
// was ended begins that kind again.
func Migrate(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	var definitions []unstructured.Unstructured
	var refusals []error
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		definitions = append(definitions, *object)
		refusal, err := unreadable(ctx, c, object)
		if err != nil {
			return err // the same for all others
		}
		refusals = append(refusals, refusal)
	}
	if err := errors.Join(refusals...); err != nil {
		return err
	}
	if err := cluster.NewCRDMigrator(c).Run(ctx, definitions); err != nil {
		return fmt.Errorf("migrating stored objects: %w", err)
	}
	return context.Cause(ctx)
}

// unreadable is the refusal of a newer definition without the version in which the cluster
// stores objects now: nothing could read them.
func unreadable(ctx context.Context, c client.Client, newer *unstructured.Unstructured) (refusal, err error) {
	now := &apiextensionsv1.CustomResourceDefinition{}
	err = c.Get(ctx, client.ObjectKey{Name: newer.GetName()}, now)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the definition %s: %w", newer.GetName(), err)
	}
	stored := slices.IndexFunc(now.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	versions := versionsOf(newer)
	if stored < 0 || slices.Contains(versions, now.Spec.Versions[stored].Name) {
		return nil, nil
	}
	return fault.Usage("definition "+newer.GetName(), fmt.Errorf("its objects are stored as %s, and this Slipway knows %s only", now.Spec.Versions[stored].Name, strings.Join(versions, ", ")),
		"upgrade with a Slipway in between first, whose providers know both"), nil
}

// versionsOf are the names of a definition's versions.
func versionsOf(definition *unstructured.Unstructured) (names []string) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		if one, ok := version.(map[string]any); ok {
			name, _ := one["name"].(string)
			names = append(names, name)
		}
	}
	return names
}
