package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Migrate rewrites objects that are stored in an older version of their kind, in the version in
// which the cluster stores them now, and removes the older version from the definition's
// storedVersions: an API server refuses a newer definition that lacks a stored version. It is
// called before newer definitions are applied, while the former controllers convert.
//
// A definition loses its older stored versions when all its objects are written, so a run after an
// interrupted one begins that kind again.
func Migrate(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	there, err := definitions(ctx, c)
	if err != nil {
		return err
	}
	var older []unstructured.Unstructured
	var refusals []error
	for _, object := range objects {
		now, found := there[object.GetName()]
		if object.GetKind() != definitionKind || !found {
			continue
		}
		stored := storedNow(now)
		refusals = append(refusals, unreadable(stored, object))
		if !slices.Equal(now.Status.StoredVersions, []string{stored}) {
			older = append(older, *object)
		}
	}
	if err := errors.Join(refusals...); err != nil {
		return err
	}
	if err := cluster.NewCRDMigrator(c).Run(ctx, older); err != nil {
		return fmt.Errorf("migrating stored objects: %w", err)
	}
	return context.Cause(ctx)
}

const definitionKind = "CustomResourceDefinition"

// definitionsAtOnce is how many definitions one response has: some are half a megabyte.
const definitionsAtOnce = 50

// definitions returns the definitions that the cluster has, by name. They come in few responses:
// one request for each definition, and a second one by clusterctl, took minutes on a machine that
// had just booted.
func definitions(ctx context.Context, c client.Client) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for more := ""; ; {
		page := &apiextensionsv1.CustomResourceDefinitionList{}
		if err := c.List(ctx, page, client.Limit(definitionsAtOnce), client.Continue(more)); err != nil {
			return nil, fmt.Errorf("reading the cluster's definitions: %w", err)
		}
		for _, definition := range page.Items {
			all[definition.Name] = &definition
		}
		if more = page.Continue; more == "" {
			return all, nil
		}
	}
}

// storedNow is the version in which objects of a definition are stored now; "" if there is none.
func storedNow(definition *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// unreadable is the error that refuses a newer definition without the version in which the cluster
// stores objects now: nothing could read them.
func unreadable(stored string, newer *unstructured.Unstructured) error {
	versions := versionsOf(newer)
	if stored == "" || slices.Contains(versions, stored) {
		return nil
	}
	return fault.Usage("definition "+newer.GetName(), fmt.Errorf("its objects are stored as %s, and this Slipway knows %s only", stored, strings.Join(versions, ", ")),
		"upgrade with a Slipway in between first, whose providers know both")
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
