package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// Correct compares a deployed release with what is on the cluster and restores what is missing or
// was changed by hand, without a new revision. It returns what it corrected. It keeps the number of
// replicas that somebody scaled to.
func (c *Client) Correct(ctx context.Context, state State) ([]string, error) {
	cfg := c.configuration(ctx, nil)
	record, err := cfg.Releases.Get(c.Name, state.Revision)
	if err != nil {
		return nil, fmt.Errorf("reading release: %w", err)
	}
	var lists [2]kube.ResourceList // as stored, as wanted
	for i := range lists {
		if lists[i], err = cfg.KubeClient.Build(bytes.NewBufferString(record.Manifest), false); err == nil {
			err = lists[i].Visit(func(info *resource.Info, err error) error {
				return errors.Join(err, own(info, c.Name, c.Namespace))
			})
		}
		if err != nil {
			return nil, classify(fmt.Errorf("reading manifest of release: %w", err), true)
		}
	}
	stored, wanted, versions, err := comparison(ctx, lists[0], lists[1])
	if err != nil {
		return nil, classify(err, true)
	}
	if _, err := cfg.KubeClient.Update(stored, wanted, false); err != nil {
		return nil, classify(fmt.Errorf("correcting release: %w", err), true)
	}
	return changed(wanted, versions), nil
}

// comparison leaves out what must not be compared, and returns the versions of the rest that exist
// on the cluster.
func comparison(ctx context.Context, stored, wanted kube.ResourceList) (s, w kube.ResourceList, versions map[string]string, err error) {
	versions = map[string]string{}
	for i, info := range wanted {
		kind := info.Mapping.GroupVersionKind.Kind
		if kind == "Job" || kind == "Pod" { // would run again
			continue
		}
		live, err := get(info)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("reading %s: %w", describe(info), err)
		}
		if live != nil {
			if injected(kind) {
				continue
			}
			versions[describe(info)] = live.GetResourceVersion()
			keepReplicas(info, live)
		}
		s, w = append(s, stored[i]), append(w, info)
	}
	return s, w, versions, nil
}

// injected reports whether others fill in fields of a kind that charts leave empty, as certificate
// injectors do.
func injected(kind string) bool {
	return slices.Contains([]string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService", "CustomResourceDefinition"}, kind)
}

// get reads a resource; it returns nil if the resource is missing.
func get(info *resource.Info) (*unstructured.Unstructured, error) {
	object, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("unexpected type %T", object)
	}
	return live, nil
}

// own sets the metadata by which Helm knows its resources, as Helm itself does when it installs:
// restored resources must have it.
func own(info *resource.Info, name, namespace string) error {
	accessor, err := meta.Accessor(info.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", describe(info), err)
	}
	labels, annotations := accessor.GetLabels(), accessor.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "Helm"
	annotations["meta.helm.sh/release-name"] = name
	annotations["meta.helm.sh/release-namespace"] = namespace
	accessor.SetLabels(labels)
	accessor.SetAnnotations(annotations)
	return nil
}

// keepReplicas keeps the number of replicas that an autoscaler or `kubectl scale` set: both write
// through the subresource scale.
func keepReplicas(info *resource.Info, live *unstructured.Unstructured) {
	if !scaled(live.GetManagedFields()) {
		return
	}
	object, ok := info.Object.(*unstructured.Unstructured)
	replicas, found, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if ok && found {
		unstructured.SetNestedField(object.Object, replicas, "spec", "replicas") //nolint:errcheck // spec is a map, or live had none
	}
}

func scaled(fields []metav1.ManagedFieldsEntry) bool {
	for _, entry := range fields {
		if entry.Subresource == "scale" {
			return true
		}
	}
	return false
}

// changed are the resources whose version is now another one.
func changed(resources kube.ResourceList, versions map[string]string) []string {
	var names []string
	for _, info := range resources {
		if info.ResourceVersion != versions[describe(info)] {
			names = append(names, describe(info))
		}
	}
	return names
}
