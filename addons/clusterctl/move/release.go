package move

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
)

// label makes clusterctl find addons: it looks only at definitions that it installed itself, or
// that have its label.
func (s Side) label(ctx context.Context) error {
	list, err := s.Kube.Dynamic.Resource(definitions()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing definitions on the %s: %w", s.Name, err)
	}
	for _, d := range list.Items {
		if group, _, _ := unstructured.NestedString(d.Object, "spec", "group"); group != v1alpha1.Group {
			continue
		}
		if err := mark(ctx, s.Kube.Dynamic.Resource(definitions()), &d, v1alpha3.ClusterctlLabel); err != nil {
			return err
		}
	}
	return nil
}

// labelRelease makes the revisions of the cluster's Helm release move along.
func (s Side) labelRelease(ctx context.Context, cluster types.NamespacedName) error {
	secrets := s.Kube.Dynamic.Resource(secretKind()).Namespace(cluster.Namespace)
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,name=" + cluster.Name})
	if err != nil {
		return fmt.Errorf("listing the release's revisions on the %s: %w", s.Name, err)
	}
	for _, revision := range list.Items {
		if err := mark(ctx, secrets, &revision, v1alpha3.ClusterctlMoveLabel); err != nil {
			return err
		}
	}
	return nil
}

// mark sets a label without a value.
func mark(ctx context.Context, client dynamic.ResourceInterface, o *unstructured.Unstructured, label string) error {
	if _, marked := o.GetLabels()[label]; marked {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{label: ""}}})
	if err == nil {
		_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("labelling %s: %w", kube.Describe(o), err)
	}
	return nil
}

// rest moves what the chart made and clusterctl does not know: an autoscaler with its permissions,
// and server groups of the resource controller.
func (m Move) rest(ctx context.Context, from, target Side) error {
	client, err := helm.New(target.Config, m.Cluster.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	last, err := client.Last(m.Cluster.Name)
	if err != nil || last == nil { // made by somebody without Helm
		return err
	}
	objects, err := kube.Decode(strings.NewReader(last.Manifest))
	if err != nil {
		return fmt.Errorf("reading the release: %w", err)
	}
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(m.Cluster.Namespace)
		}
		if err := carry(ctx, o, from, target); err != nil {
			return fmt.Errorf("moving %s: %w", kube.Describe(o), err)
		}
	}
	return nil
}

// carry moves one object of a kind that cannot be paused.
func carry(ctx context.Context, o *unstructured.Unstructured, from, target Side) error {
	source, err := from.Kube.Resource(o)
	if err != nil {
		return absentIsNil(err)
	}
	live, err := source.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return absentIsNil(err)
	}
	sink, err := target.Kube.Resource(o)
	if err != nil {
		return err
	}
	if _, err := sink.Create(ctx, copied(live), metav1.CreateOptions{FieldManager: kube.FieldManager}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if live.GroupVersionKind().Group == resourceController {
		detach := []byte(`{"spec":{"managedOptions":{"onDelete":"detach"}}}`)
		if _, err := source.Patch(ctx, live.GetName(), types.MergePatchType, detach, metav1.PatchOptions{FieldManager: kube.FieldManager}); err != nil {
			return absentIsNil(err)
		}
	}
	if err := source.Delete(ctx, live.GetName(), metav1.DeleteOptions{}); err != nil {
		return absentIsNil(err)
	}
	return gone(ctx, source, live.GetName())
}

// resourceController is the API group of objects that represent resources in the cloud, and that
// would delete them with themselves.
const resourceController = "openstack.k-orc.cloud"

// copied is an object as it is created again.
func copied(live *unstructured.Unstructured) *unstructured.Unstructured {
	o := live.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences", "finalizers"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	return o
}

// goneTime is how long the deletion of an object may take. Nothing in the cloud is deleted with it.
const goneTime = 45 * time.Second

func gone(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	var keeps []string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, goneTime, true, func(ctx context.Context) (bool, error) {
		left, err := client.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			keeps = left.GetFinalizers()
		}
		return kube.Absent(err), absentIsNil(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("it still exists after %s; it waits for %s", goneTime, cmp.Or(strings.Join(keeps, ", "), "the garbage collector"))
	}
	return err
}

func absentIsNil(err error) error {
	if kube.Absent(err) {
		return nil
	}
	return err
}
