package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// several are the kinds of which a cluster has more than one, each with the
// label that names the cluster.
func several(o *observe.Objects) []struct {
	kind  kind
	label string
	into  *[]*unstructured.Unstructured
} {
	return []struct {
		kind  kind
		label string
		into  *[]*unstructured.Unstructured
	}{
		{deployment(), observe.LabelStack, &o.Deployments}, {machine(), v1alpha1.LabelStack, &o.Machines},
		{server(), v1alpha1.LabelStack, &o.Servers}, {instance(), v1alpha1.LabelStack, &o.Servers},
		{serverGroup(), observe.LabelStack, &o.ServerGroups}, {healthCheck(), observe.LabelStack, &o.HealthChecks},
		{release(), observe.LabelStack, &o.Addons}, {manifests(), observe.LabelStack, &o.Addons},
	}
}

// readObjects reads what there is of a cluster. The cache finds lists by the
// index of the stack in how; of a project with a thousand clusters it would look
// at all objects else.
func readObjects(ctx context.Context, from client.Reader, namespace, stack string, how ...client.ListOption) (observe.Objects, error) {
	var o observe.Objects
	for _, one := range []struct {
		kind kind
		name string
		into **unstructured.Unstructured
	}{{capiCluster(), stack, &o.Cluster}, {infrastructure(), stack, &o.Infrastructure}, {controlPlane(), stack + "-control-plane", &o.ControlPlane}} {
		found, err := get(ctx, from, one.kind, namespace, one.name)
		if err != nil {
			return o, err
		}
		*one.into = found
	}
	for _, many := range several(&o) {
		list := many.kind.list()
		if err := from.List(ctx, list, append(how, client.InNamespace(namespace), client.MatchingLabels{many.label: stack})...); err != nil {
			return o, fmt.Errorf("listing objects of kind %s: %w", many.kind.name, err)
		}
		for i := range list.Items {
			*many.into = append(*many.into, &list.Items[i])
		}
	}
	return o, nil
}

// get reads an object, nil if there is none.
func get(ctx context.Context, from client.Reader, k kind, namespace, name string) (*unstructured.Unstructured, error) {
	o := k.object()
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", k.name, name, err)
	}
	return o, nil
}

// specified are the objects whose generation says what was asked of Cluster API.
func (p *pass) specified() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range append([]*unstructured.Unstructured{p.objects.Cluster, p.objects.ControlPlane}, p.objects.Deployments...) {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// remember notes generations that were just read from the API server.
func (p *pass) remember() {
	generations := map[string]int64{}
	for _, o := range p.specified() {
		generations[o.GetKind()+"/"+o.GetName()+"/"+string(o.GetUID())] = o.GetGeneration()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[p.key] = generations
}

// stale says that the cache does not show yet what this program wrote. A status
// of the specification before would be taken for one of the new.
func (p *pass) stale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	expected := p.seen[p.key]
	if len(expected) == 0 {
		return false
	}
	shown := map[string]int64{}
	for _, o := range p.specified() {
		shown[o.GetKind()+"/"+o.GetName()+"/"+string(o.GetUID())] = o.GetGeneration()
	}
	for object, generation := range expected {
		if have, there := shown[object]; there && have < generation {
			return true
		}
	}
	// What is not there at all may have been deleted since, or may be to come.
	// New objects have no status of before, so nothing can be mistaken.
	delete(p.seen, p.key)
	return false
}
