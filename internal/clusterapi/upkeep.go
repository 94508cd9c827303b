package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// machineTemplates are what machines are made of.
var machineTemplates = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachinetemplates"}

// Brief is a cluster by its names alone.
type Brief struct {
	types.NamespacedName
	// Infrastructure is the name of its OpenStackCluster.
	Infrastructure string
	// Deleting is set as long as its deletion is not done.
	Deleting bool
}

// ReadBrief lists all clusters; none if the API server does not know the kind.
func ReadBrief(ctx context.Context, client dynamic.Interface) ([]Brief, error) {
	var all []Brief
	err := list(ctx, client, clusters, metav1.NamespaceAll, "", func(c *unstructured.Unstructured) {
		all = append(all, Brief{NamespacedName: types.NamespacedName{Namespace: c.GetNamespace(), Name: c.GetName()},
			Infrastructure: text(c, "spec", "infrastructureRef", "name"), Deleting: c.GetDeletionTimestamp() != nil})
	})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return all, nil
}

// Login reads the login of the cluster, from the Secret that its OpenStackCluster or that one's
// OpenStackClusterIdentity names. ok is false if it names none, if there is no such Secret, or if
// the identity is not for the cluster's namespace.
func (b Brief) Login(ctx context.Context, client dynamic.Interface) (o cloud.Options, ok bool, err error) {
	infrastructure, err := client.Resource(openStackClusters).Namespace(b.Namespace).Get(ctx, b.Infrastructure, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return o, false, nil
	}
	if err != nil {
		return o, false, fmt.Errorf("reading OpenStackCluster %s: %w", b.Infrastructure, err)
	}
	by := identityIn(infrastructure)
	o, err = login(ctx, client, b.Namespace, by)
	if errors.Is(err, errUnnamed) || absent(err) != nil {
		return o, false, nil
	}
	if err != nil {
		return o, false, fmt.Errorf("reading the login by %s: %w", by.name, err)
	}
	return o, true, nil
}

// Image is an image as templates of machines name it: by its id, or by its name and tags.
type Image struct {
	ID, Name string
	Tags     []string
}

// Images are those that new machines of the cluster are made of: of its control plane and of
// its groups of workers.
func (b Brief) Images(ctx context.Context, client dynamic.Interface) ([]Image, error) {
	var names []string
	for resource, path := range map[schema.GroupVersionResource][]string{
		controlPlanes:      {"spec", "machineTemplate", "spec", "infrastructureRef", "name"},
		machineDeployments: {"spec", "template", "spec", "infrastructureRef", "name"},
	} {
		found, err := client.Resource(resource).Namespace(b.Namespace).List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + b.Name})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for i := range found.Items {
			names = append(names, text(&found.Items[i], path...))
		}
	}
	slices.Sort(names)
	var all []Image
	for _, name := range slices.Compact(names) {
		template, err := client.Resource(machineTemplates).Namespace(b.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading OpenStackMachineTemplate %s: %w", name, err)
		}
		all = append(all, imageOf(template))
	}
	return all, nil
}

// imageOf is the image that a template names; empty if an Image of ORC stands for it.
func imageOf(template *unstructured.Unstructured) Image {
	at := func(path ...string) []string { return append([]string{"spec", "template", "spec", "image"}, path...) }
	tags, _, _ := unstructured.NestedStringSlice(template.Object, at("filter", "tags")...)
	return Image{ID: text(template, at("id")...), Name: text(template, at("filter", "name")...), Tags: tags}
}
