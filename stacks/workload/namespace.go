package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/vain"
)

// collectTime bounds the wait for the garbage collection of the cluster's dependents.
const collectTime = 30 * time.Second

// mayUse refuses a namespace that the cluster cannot be in, and, where none was given, to make a
// second cluster of a name beside the one in another namespace that is meant.
func (m *Management) mayUse(ctx context.Context, w Wanted, key Key, there known) error {
	place := "namespace " + key.Namespace
	switch {
	case there.namespace != nil && there.namespace.DeletionTimestamp != nil:
		return fault.New(place, errors.New("it is being deleted"), "run the same command again when it is gone")
	case there.namespace != nil && there.namespace.Labels[v1alpha1.LabelProject] != "": // whose cluster it is would be read from the label
		return fault.Usage(place, errors.New("it belongs to a project of the Magnum API, and no other clusters are managed in it"), "choose another --namespace")
	case there.namespace != nil && w.Namespace == "" && !there.owns(key) && there.origin != Ours:
		return fault.Usage(place, errors.New("it exists already, but does not belong to this cluster"),
			"give --namespace "+key.Namespace+" to use it anyway, or choose another name or --namespace")
	case w.Namespace != "" || there.exists || there.release != nil:
		return nil
	}
	all, err := m.named(ctx, key.Name, metav1.NamespaceAll)
	if err != nil {
		return fmt.Errorf("looking for clusters of this name: %w", err)
	}
	for _, one := range all {
		if one.Namespace != key.Namespace {
			return fault.Usage(object(key), fmt.Errorf("a cluster of this name is in namespace %s", one.Namespace),
				fmt.Sprintf("give --namespace %s to change that one, or choose another name; --namespace %s makes a second one, which belongs in another project", one.Namespace, key.Namespace))
		}
	}
	return nil
}

// deleteNamespace deletes the namespace and waits until it is gone. It keeps a namespace
// that does not belong to the cluster or contains something else, and the note says what.
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
		return "", fmt.Errorf("listing the objects in namespace %s: %w", key.Namespace, err)
	}
	if left != nil {
		return fmt.Sprintf("namespace %s stays: it contains %s", key.Namespace, kube.Describe(left)), nil
	}
	if err := namespaces.Delete(ctx, key.Namespace, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(namespace.UID))}); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("deleting namespace %s: %w", key.Namespace, err)
	}
	var hopeless vain.Watch
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		left, err := namespaces.Get(ctx, key.Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		why := keeps(left)
		if hopeless.Over(why != "") {
			err = fault.New("namespace "+key.Namespace, errors.New("its deletion stands still: "+why), "remove what its conditions name, then run the same command again")
		}
		return false, err
	})
	if err != nil {
		return "", fmt.Errorf("deleting namespace %s: %w", key.Namespace, orCause(ctx, err))
	}
	return "", nil
}

// keeps is what Kubernetes says of a namespace whose deletion stands still: an API that it
// cannot ask (a dead extension server), or objects with finalizers that nobody removes.
func keeps(n *corev1.Namespace) string {
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Type != corev1.NamespaceContentRemaining {
			return c.Message
		}
	}
	return ""
}

// awaitEmpty waits a while for a namespace to become empty, and returns what is left.
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
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // an API that is unavailable stores nothing here
		return nil, fmt.Errorf("listing kinds: %w", err)
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

// first returns the first object in a namespace that somebody created; nil if none.
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

// ofEach reports whether every namespace has such an object, or it does not matter.
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
