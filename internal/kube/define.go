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

// servedTime bounds how long the kinds of a definition may take to be served. servedAgain is the
// time between the first two looks, and servedSlowly between later ones: each costs a slow API server.
const (
	servedTime   = time.Minute
	servedAgain  = 200 * time.Millisecond
	servedSlowly = 2 * time.Second
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
			all := []*unstructured.Unstructured{definition}
			if err := c.ApplyObjects(ctx, all); err != nil {
				return err
			}
			return c.awaitServed(ctx, servedTime, all, func(string) {})
		})
	}
	return group.Wait()
}

// AwaitServed waits until the API server serves all that the CustomResourceDefinitions among the
// objects define: seconds on a usual cloud, minutes on emulated machines. A controller that starts
// before ends. unserved gets the name of a definition that is waited for, again and again.
func (c *Cluster) AwaitServed(ctx context.Context, objects []*unstructured.Unstructured, unserved func(definition string)) error {
	definitions := slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != definition })
	return c.awaitServed(ctx, applyPatience, definitions, unserved)
}

// awaitServed waits until discovery lists the kinds of definitions in all versions that they
// serve, at most for the limit. Listers that start before never look again.
func (c *Cluster) awaitServed(ctx context.Context, limit time.Duration, definitions []*unstructured.Unstructured, tell func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	wanted := map[schema.GroupVersion]map[string]string{}
	for _, definition := range definitions {
		for _, kind := range definedKinds(definition) {
			if wanted[kind.GroupVersion()] == nil {
				wanted[kind.GroupVersion()] = map[string]string{}
			}
			wanted[kind.GroupVersion()][kind.Kind] = definition.GetName()
		}
	}
	for version, definitionOf := range wanted {
		if err := c.awaitVersion(ctx, version, definitionOf, tell); err != nil {
			return err
		}
	}
	return nil
}

// awaitVersion waits for the kinds of a version, each with its definition.
func (c *Cluster) awaitVersion(ctx context.Context, version schema.GroupVersion, definitionOf map[string]string, tell func(string)) error {
	for pause := servedAgain; ; pause = min(pause*3/2, servedSlowly) {
		served, err := c.serves(version)
		if err != nil {
			return fmt.Errorf("listing the kinds of %s: %w", version, err)
		}
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(definitionOf)), func(kind string) bool { return slices.Contains(served, kind) })
		if len(missing) == 0 {
			return nil
		}
		tell(definitionOf[missing[0]])
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s is not served: %w; its conditions say why: kubectl get crd %s -o yaml", version, missing[0], context.Cause(ctx), definitionOf[missing[0]])
		case <-time.After(pause):
		}
	}
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

// serves are the kinds that discovery lists now in a version.
func (c *Cluster) serves(version schema.GroupVersion) (kinds []string, err error) {
	list, err := c.Typed.Discovery().ServerResourcesForGroupVersion(version.String())
	if err != nil {
		if apierrors.IsNotFound(err) || passing(err) {
			return nil, nil
		}
		return nil, err
	}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds, nil
}

// Unserved reports whether an API server answered that it does not serve a kind. Another one of
// the same control plane may serve it a moment earlier.
func Unserved(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
