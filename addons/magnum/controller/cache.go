package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// The indexes of the cache.
const (
	indexStack    = "stack"
	indexCluster  = "spec.clusterName"
	indexTemplate = "template"
)

// scheme knows the kinds that are read with their types.
func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	return s, nil
}

// readers are the cache and the way around it.
type readers struct {
	cache cache.Cache
	live  client.Reader
}

// newClient makes a client that reads from a cache of its own. Secrets are not
// cached: there are Helm's records among them.
func newClient(mgr manager.Manager) (client.Client, readers, error) {
	s, err := scheme()
	if err != nil {
		return nil, readers{}, err
	}
	kept, err := cache.New(mgr.GetConfig(), cache.Options{Scheme: s, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), ByObject: byObject()})
	if err != nil {
		return nil, readers{}, fmt.Errorf("creating the cache: %w", err)
	}
	if err := mgr.Add(kept); err != nil {
		return nil, readers{}, fmt.Errorf("adding the cache: %w", err)
	}
	if err := index(kept); err != nil {
		return nil, readers{}, err
	}
	options := client.Options{Scheme: s, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()}
	live, err := client.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, readers{}, fmt.Errorf("making a client: %w", err)
	}
	options.Cache = &client.CacheOptions{Reader: kept, Unstructured: true, DisableFor: []client.Object{&corev1.Secret{}, &corev1.Namespace{}}}
	cached, err := client.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, readers{}, fmt.Errorf("making a client: %w", err)
	}
	return cached, readers{kept, live}, nil
}

// indexOf is what objects of a kind are found by.
type indexOf struct {
	object client.Object
	name   string
	values client.IndexerFunc
}

func indexes() []indexOf {
	all := []indexOf{
		{&v1alpha1.Cluster{}, indexStack, func(o client.Object) []string { return []string{o.(*v1alpha1.Cluster).Stack()} }},
		{&v1alpha1.Cluster{}, indexTemplate, func(o client.Object) []string {
			c := o.(*v1alpha1.Cluster)
			return []string{c.TemplateNamespace() + "/" + c.Spec.TemplateRef.Name}
		}},
		{&v1alpha1.NodeGroup{}, indexCluster, func(o client.Object) []string { return []string{o.(*v1alpha1.NodeGroup).Spec.ClusterName} }},
	}
	for _, many := range several(&observe.Objects{}) {
		all = append(all, indexOf{many.kind.object(), indexStack, func(o client.Object) []string {
			if stack, ok := o.GetLabels()[many.label]; ok {
				return []string{stack}
			}
			return nil
		}})
	}
	return all
}

func index(kept cache.Cache) error {
	for _, i := range indexes() {
		if err := kept.IndexField(context.Background(), i.object, i.name, i.values); err != nil {
			return fmt.Errorf("indexing by %s: %w", i.name, err)
		}
	}
	return nil
}

// byObject keeps of other controllers' objects only what is read: with a
// thousand clusters most of the memory would be machine templates, scripts and
// managed fields.
func byObject() map[client.Object]cache.ByObject {
	all := map[client.Object]cache.ByObject{}
	for _, k := range watched() {
		all[k.object()] = cache.ByObject{Transform: slim}
	}
	ours, _ := labels.NewRequirement(v1alpha1.LabelCluster, selection.Exists, nil)
	all[secretMetadata()] = cache.ByObject{Label: labels.NewSelector().Add(*ours), Transform: cache.TransformStripManagedFields()}
	for _, o := range []client.Object{&v1alpha1.Cluster{}, &v1alpha1.NodeGroup{}, &v1alpha1.ClusterTemplate{}} {
		all[o] = cache.ByObject{Transform: cache.TransformStripManagedFields()}
	}
	return all
}

func secretMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return o
}

// slim leaves of an object what package observe and the reconciler read.
func slim(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	u.SetManagedFields(nil)
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	kept := map[string]any{}
	for _, key := range []string{"clusterName", "replicas", "version", "providerID", "controlPlaneEndpoint", "infrastructureRef", "bootstrap", "selector", "externalNetwork", "apiServerPort", "managedSubnets",
		"apiServerLoadBalancer", "disableAPIServerFloatingIP", "apiServerFloatingIP", "apiServerFixedIP", "disableExternalNetwork", "networkMTU", "tags", "clusterNetwork"} {
		if value, ok := spec[key]; ok {
			kept[key] = value
		}
	}
	if version, ok, _ := unstructured.NestedString(spec, "template", "spec", "version"); ok {
		kept["template"] = map[string]any{"spec": map[string]any{"version": version}}
	}
	u.Object["spec"] = kept
	for _, field := range []string{"notes", "resources", "network", "externalNetwork", "bastion", "resolved"} {
		unstructured.RemoveNestedField(u.Object, "status", field)
	}
	return u, nil
}
