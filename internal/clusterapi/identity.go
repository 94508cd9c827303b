package clusterapi

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var (
	identities = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Resource: "openstackclusteridentities"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

var (
	errUnnamed = errors.New("no Secret is named")
	errEmpty   = errors.New("it has no clouds.yaml")
	errBarred  = errors.New("its namespaceSelector does not admit the cluster's namespace")
)

// identity is how a cluster logs in to OpenStack, as CAPO's identityRef says it.
type identity struct {
	// shared says that name is of an OpenStackClusterIdentity, which names a Secret for the
	// clusters of several namespaces; else it is of a Secret in the cluster's own.
	shared bool
	name   string
	// entry is that of the Secret's clouds.yaml, and region that of the cluster, if it is not the
	// entry's.
	entry, region string
}

// identityIn reads the identity of an OpenStackCluster.
func identityIn(infrastructure *unstructured.Unstructured) identity {
	at := func(field string) string { return text(infrastructure, "spec", "identityRef", field) }
	return identity{shared: at("type") == "ClusterIdentity", name: at("name"), entry: at("cloudName"), region: at("region")}
}

// secret is where the login is. It finds what CAPO finds (pkg/scope/provider.go), so that a
// namespace which CAPO refuses to an identity is refused here.
func (i identity) secret(ctx context.Context, client dynamic.Interface, namespace string) (types.NamespacedName, error) {
	at := types.NamespacedName{Namespace: namespace, Name: i.name}
	if i.name == "" {
		return at, errUnnamed
	}
	if !i.shared {
		return at, nil
	}
	found, err := client.Resource(identities).Get(ctx, i.name, metav1.GetOptions{})
	if err != nil {
		return at, err
	}
	if err := admits(ctx, client, found, namespace); err != nil {
		return at, fmt.Errorf("OpenStackClusterIdentity %s: %w", i.name, err)
	}
	return types.NamespacedName{Namespace: text(found, "spec", "secretRef", "namespace"), Name: text(found, "spec", "secretRef", "name")}, nil
}

// admits checks whether clusters of a namespace may use a shared identity. One without a
// selector is for all.
func admits(ctx context.Context, client dynamic.Interface, shared *unstructured.Unstructured, namespace string) error {
	given, there, err := unstructured.NestedMap(shared.Object, "spec", "namespaceSelector")
	if err != nil || !there {
		return err
	}
	var parsed metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &parsed); err != nil {
		return fmt.Errorf("namespaceSelector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&parsed)
	if err != nil {
		return fmt.Errorf("namespaceSelector: %w", err)
	}
	found, err := client.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !selector.Matches(labels.Set(found.GetLabels())) {
		return errBarred
	}
	return nil
}
