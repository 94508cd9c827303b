package workload

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"

	"github.com/slipway-sh/slipway/internal/kube"
)

// collectTime is how long what belonged to the cluster's objects may take to be
// collected after them.
const collectTime = 30 * time.Second

// deleteNamespace deletes the namespace and waits until it is gone. One that is
// not the cluster's stays; so does one with something else in it, and the note
// says what.
func (m *Management) deleteNamespace(ctx context.Context, key Key, progress func(string)) (note string, err error) {
	namespaces := m.Kube.Typed.CoreV1().Namespaces()
	namespace, err := namespaces.Get(ctx, key.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading namespace %s: %w", key.Namespace, err)
	}
	if namespace.Labels[LabelCluster] != key.Name {
		return "", nil
	}
	progress("deleting namespace " + key.Namespace)
	left, err := m.awaitEmpty(ctx, key.Namespace)
	if err != nil {
		return "", fmt.Errorf("looking into namespace %s: %w", key.Namespace, err)
	}
	if left != nil {
		return fmt.Sprintf("namespace %s stays: %s is in it", key.Namespace, kube.Describe(left)), nil
	}
	if err := namespaces.Delete(ctx, key.Namespace, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(namespace.UID))}); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("deleting namespace %s: %w", key.Namespace, err)
	}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, key.Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return "", fmt.Errorf("deleting namespace %s: %w", key.Namespace, orCause(ctx, err))
	}
	return "", nil
}

// awaitEmpty waits a while until nothing is in a namespace, and returns what is
// in the end.
func (m *Management) awaitEmpty(ctx context.Context, namespace string) (left *unstructured.Unstructured, err error) {
	kinds, err := m.listable()
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(collectTime); ; {
		if left, err = m.first(ctx, namespace, kinds); err != nil || left == nil || time.Now().After(end) {
			return left, err
		}
		select {
		case <-ctx.Done():
			return left, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// listable are the kinds of objects in namespaces.
func (m *Management) listable() ([]schema.GroupVersionResource, error) {
	lists, err := m.Kube.Typed.Discovery().ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // of an API that is away, nothing is stored here
		return nil, fmt.Errorf("asking for kinds: %w", err)
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("reading version %s: %w", list.GroupVersion, err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "create") {
				kinds = append(kinds, version.WithResource(resource.Name))
			}
		}
	}
	return kinds, nil
}

// first is the first object in a namespace that somebody put there; nil is none.
func (m *Management) first(ctx context.Context, namespace string, kinds []schema.GroupVersionResource) (*unstructured.Unstructured, error) {
	for _, kind := range kinds {
		list, err := m.Kube.Dynamic.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if kube.Absent(err) || apierrors.IsMethodNotSupported(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			if !ofEach(&list.Items[i]) {
				return &list.Items[i], nil
			}
		}
	}
	return nil, nil
}

// ofEach says that every namespace has such an object, or that nobody will miss
// it.
func ofEach(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Event":
		return true
	case "ConfigMap":
		return o.GetName() == "kube-root-ca.crt"
	case "ServiceAccount":
		return o.GetName() == "default"
	}
	return false
}
