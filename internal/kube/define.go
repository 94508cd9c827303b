package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// servedTime bounds how long the kinds of a definition may take to be served, and servedAgain
// is the time between two looks.
const (
	servedTime  = time.Minute
	servedAgain = 200 * time.Millisecond
)

// Define applies CustomResourceDefinitions, one in each text, and waits until the API server
// serves their kinds. It accepts a definition before that: an object of the kind that is sent
// at once is answered with 404.
func (c *Cluster) Define(ctx context.Context, definitions map[string][]byte) error {
	var group errgroup.Group
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		group.Go(func() error {
			definition := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(definitions[name], &definition.Object); err != nil {
				return fmt.Errorf("reading definition %s: %w", name, err)
			}
			if err := c.ApplyObjects(ctx, []*unstructured.Unstructured{definition}); err != nil {
				return err
			}
			return c.awaitKinds(ctx, definition)
		})
	}
	return group.Wait()
}

// awaitKinds waits until discovery lists the kind of a definition in all versions that it
// serves. Listers that start before never look again.
func (c *Cluster) awaitKinds(ctx context.Context, definition *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeoutCause(ctx, servedTime, fmt.Errorf("its conditions say why: kubectl get crd %s -o yaml", definition.GetName()))
	defer cancel()
	for _, kind := range definedKinds(definition) {
		for {
			served, err := c.serves(kind)
			if err != nil {
				return fmt.Errorf("listing the kinds of %s: %w", kind.GroupVersion(), err)
			}
			if served {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s %s is not served: %w", kind.GroupVersion(), kind.Kind, context.Cause(ctx))
			case <-time.After(servedAgain):
			}
		}
	}
	return nil
}

// definedKinds are the kinds of a definition, one for each version that it serves.
func definedKinds(definition *unstructured.Unstructured) (kinds []schema.GroupVersionKind) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); version["served"] == true {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}

// serves reports whether discovery lists a kind now.
func (c *Cluster) serves(kind schema.GroupVersionKind) (bool, error) {
	list, err := c.Typed.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		if apierrors.IsNotFound(err) || passing(err) {
			return false, nil
		}
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && !strings.Contains(r.Name, "/")
	}), nil
}

// Unserved reports whether an API server answered that it does not serve a kind. Another one of
// the same control plane may serve it a moment earlier.
func Unserved(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
