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
	"k8s.io/client-go/discovery"
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
// serve, at most for the limit. Listers that start before never look again. It looks at the list of
// all groups, as clients do: those of single versions are there a moment earlier.
func (c *Cluster) awaitServed(ctx context.Context, limit time.Duration, definitions []*unstructured.Unstructured, tell func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	definitionOf := map[schema.GroupVersionKind]string{}
	for _, definition := range definitions {
		for _, kind := range definedKinds(definition) {
			definitionOf[kind] = definition.GetName()
		}
	}
	for pause := servedAgain; len(definitionOf) > 0; pause = min(pause*3/2, servedSlowly) {
		served, err := c.served()
		if err != nil {
			return fmt.Errorf("listing the kinds that are served: %w", err)
		}
		maps.DeleteFunc(definitionOf, func(kind schema.GroupVersionKind, _ string) bool { return served[kind] })
		missing := slices.SortedFunc(maps.Keys(definitionOf), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
		if len(missing) == 0 {
			break
		}
		first := missing[0]
		tell(definitionOf[first])
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s is not served: %w; its conditions say why: kubectl get crd %s -o yaml", first.GroupVersion(), first.Kind, context.Cause(ctx), definitionOf[first])
		case <-time.After(pause):
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

// served are the kinds that discovery lists now. An API server that is away lists none.
func (c *Cluster) served() (map[schema.GroupVersionKind]bool, error) {
	_, lists, err := c.Typed.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) && !passing(err) {
		return nil, err
	}
	kinds := map[schema.GroupVersionKind]bool{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			kinds[schema.FromAPIVersionAndKind(list.GroupVersion, r.Kind)] = true
		}
	}
	return kinds, nil
}

// Unserved reports whether an API server answered that it does not serve a kind. Another one of
// the same control plane may serve it a moment earlier.
func Unserved(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
