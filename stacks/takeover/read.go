package takeover

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/kube"
)

// The kinds that are read by name.
const kindDeployment = "Deployment"

var (
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kindDeployment}
	definitions = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// get returns an object, nil if it, or its kind, is not there.
func (c *Cluster) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return c.live(ctx, o)
}

// live returns an object as it is on the cluster, nil if it is not there.
func (c *Cluster) live(ctx context.Context, of *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.site.Kube.Resource(of)
	if err == nil {
		var found *unstructured.Unstructured
		if found, err = resource.Get(ctx, of.GetName(), metav1.GetOptions{}); err == nil {
			return found, nil
		}
	}
	if kube.Absent(err) {
		return nil, nil
	}
	return nil, fmt.Errorf("reading %s: %w", kube.Describe(of), err)
}

// all lists the objects of a kind in all namespaces; none if the kind is not there.
func (c *Cluster) all(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	resource, err := c.site.Kube.Everywhere(kind)
	if err == nil {
		var list *unstructured.UnstructuredList
		if list, err = resource.List(ctx, metav1.ListOptions{}); err == nil {
			return list.Items, nil
		}
	}
	if kube.Absent(err) {
		return nil, nil
	}
	return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
}
