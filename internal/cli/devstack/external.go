package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// openToExternal opens the host to the pods of a cluster that somebody else made on it:
// devstack-plugin-container's have 10.244.0.0/16, not SLIPWAY_POD_CIDR. What pods of a cluster
// elsewhere send comes from their nodes.
func openToExternal(ctx context.Context, on *kube.Cluster, host string, run devstack.Runner) error {
	nodes, err := on.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the nodes of the management cluster: %w", err)
	}
	for _, node := range nodes.Items {
		here := slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP && a.Address == host })
		if !here {
			continue
		}
		for _, pods := range podNetworks(node) {
			if err := devstack.OpenToPods(ctx, run, pods); err != nil {
				return err
			}
		}
	}
	return nil
}

// podNetworks are those of IPv4, which iptables knows.
func podNetworks(node corev1.Node) []string {
	all := node.Spec.PodCIDRs
	if len(all) == 0 && node.Spec.PodCIDR != "" {
		all = []string{node.Spec.PodCIDR}
	}
	return slices.DeleteFunc(slices.Clone(all), func(network string) bool { return strings.Contains(network, ":") })
}

// madeLabel marks the definitions that the plugin brought to a cluster of somebody else.
// Definitions that were there before have no mark, and stay there.
const madeLabel = "slipway.sh/devstack"

// maker owns the mark. The API, which applies its definitions at every start, is another
// owner and leaves it.
const maker = kube.FieldManager + "-devstack"

// define applies a definition on a cluster of somebody else.
func define(ctx context.Context, on *kube.Cluster, text []byte) error {
	objects, err := kube.Decode(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for _, object := range objects {
		client, err := on.Resource(object)
		if err != nil {
			return err
		}
		there, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading %s: %w", kube.Describe(object), err)
		}
		if err == nil && there.GetLabels()[madeLabel] == "" {
			if err := on.ApplyObjects(ctx, []*unstructured.Unstructured{object}); err != nil {
				return err
			}
			continue
		}
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[madeLabel] = "made"
		object.SetLabels(labels)
		if _, err := client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: maker, Force: true}); err != nil {
			return fmt.Errorf("applying %s: %w", kube.Describe(object), err)
		}
	}
	return nil
}

// withdrawTime bounds how long what the plugin brought may take to be deleted.
const withdrawTime = 2 * time.Minute

// withdraw takes from a cluster what the plugin brought there: the namespaces of projects, the
// Secret of a credential that is revoked, and the definitions that define marked on a cluster of
// somebody else. Clusters are gone by then.
func withdraw(ctx context.Context, s devstack.Settings) error {
	if _, err := os.Stat(s.Kubeconfig); errors.Is(err, os.ErrNotExist) {
		return nil // its plugin has deleted the cluster
	}
	client, err := onManagement(s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, withdrawTime)
	defer cancel()
	return removeBrought(ctx, client, time.Second)
}

// onManagement is a client of the management cluster, whatever it serves.
func onManagement(s devstack.Settings) (dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, fault.Usage("kubeconfig "+s.Kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
	}
	config.Timeout = 30 * time.Second
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a Kubernetes client: %w", err)
	}
	return client, nil
}

// removeBrought deletes and looks every pause until nothing of it is left.
func removeBrought(ctx context.Context, client dynamic.Interface, pause time.Duration) error {
	for {
		left, err := brought(ctx, client)
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fault.New("management cluster", fmt.Errorf("%w; still there: %s", fault.Deadline{After: withdrawTime}, strings.Join(left, ", ")),
				"delete them with kubectl: they are of the plugin")
		case <-time.After(pause):
		}
	}
}

// brought lists what is left of the plugin, and asks for its deletion. Namespaces of projects
// have the label of magnum-capi-helm, which may use the cluster too: those that this program
// made are the plugin's.
func brought(ctx context.Context, client dynamic.Interface) (left []string, err error) {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	projects, err := remove(ctx, client.Resource(namespaces), metav1.ListOptions{LabelSelector: v1alpha1.LabelProject}, madeHere)
	if err != nil {
		return nil, err
	}
	login, err := remove(ctx, client.Resource(secrets).Namespace(corev1.NamespaceDefault), metav1.ListOptions{FieldSelector: "metadata.name=" + cloudSecret}, isLogin)
	if err != nil {
		return nil, err
	}
	if left = append(projects, login...); len(left) > 0 {
		return left, nil // what is in a namespace has kinds until it is deleted
	}
	return remove(ctx, client.Resource(definitions), metav1.ListOptions{LabelSelector: madeLabel}, anybody)
}

func isLogin(object *unstructured.Unstructured) bool { return object.GetName() == cloudSecret }

func anybody(*unstructured.Unstructured) bool { return true }

// madeHere says whether this program wrote an object.
func madeHere(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == kube.FieldManager })
}

// remove asks for the deletion of those in a list that are meant, and returns what is left.
func remove(ctx context.Context, client dynamic.ResourceInterface, of metav1.ListOptions, meant func(*unstructured.Unstructured) bool) (left []string, err error) {
	list, err := client.List(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("listing what the plugin made on the management cluster: %w", err)
	}
	for _, object := range list.Items {
		if !meant(&object) {
			continue
		}
		left = append(left, kube.Describe(&object))
		if object.GetDeletionTimestamp() != nil {
			continue
		}
		if err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("deleting %s: %w", kube.Describe(&object), err)
		}
	}
	return left, nil
}
