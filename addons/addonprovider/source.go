package addonprovider

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// waitError is an error about something that is still missing. It is no failure; the addon is tried
// again when the missing object appears.
type waitError struct{ reason, message string }

func (e *waitError) Error() string { return e.message }

// source reads a Secret or ConfigMap that an addon refers to, and labels it so that changes of it
// are seen.
func (r *reconciler) source(ctx context.Context, kind string, key types.NamespacedName) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	err := r.live.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return nil, &waitError{v1alpha1.ReasonSourceMissing, fmt.Sprintf("%s %s is missing", kind, key.Name)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, key.Name, err)
	}
	if _, ok := object.GetLabels()[v1alpha1.WatchLabel]; ok || object.GetDeletionTimestamp() != nil {
		return object, nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, v1alpha1.WatchLabel)
	labelled := object.DeepCopy()
	if err := r.client.Patch(ctx, labelled, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, fmt.Errorf("labelling %s %s: %w", kind, key.Name, err)
	}
	return object, nil
}

// secretValue is the content of a key of a Secret.
func secretValue(secret *unstructured.Unstructured, key string) []byte {
	text, found, _ := unstructured.NestedString(secret.Object, "data", key)
	if !found {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

// contents are the keys of a Secret or ConfigMap, as text.
func contents(object *unstructured.Unstructured) map[string]string {
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	if object.GetKind() == "Secret" {
		for key := range data {
			data[key] = string(secretValue(object, key))
		}
	}
	return data
}

// text reads the value of one key of a source.
func (r *reconciler) text(ctx context.Context, kind, namespace string, ref v1alpha1.NameKey) (string, error) {
	object, err := r.source(ctx, kind, types.NamespacedName{Namespace: namespace, Name: ref.Name})
	if err != nil {
		return "", err
	}
	key := ref.Key
	if key == "" {
		key = "values.yaml"
	}
	text, ok := contents(object)[key]
	if !ok {
		return "", &waitError{v1alpha1.ReasonSourceMissing, fmt.Sprintf("%s %s has no key %s", kind, ref.Name, key)}
	}
	return text, nil
}

// namedText is a text and where it comes from.
type namedText struct{ name, text string }

// texts reads the keys of a source in alphabetical order.
func (r *reconciler) texts(ctx context.Context, kind, namespace string, ref v1alpha1.NameKeys) ([]namedText, error) {
	object, err := r.source(ctx, kind, types.NamespacedName{Namespace: namespace, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	data := contents(object)
	keys := ref.Keys
	if len(keys) == 0 {
		for key := range data {
			keys = append(keys, key)
		}
		slices.Sort(keys)
	}
	var all []namedText
	for _, key := range keys {
		if slices.Contains(ref.ExcludeKeys, key) {
			continue
		}
		text, ok := data[key]
		if !ok {
			return nil, &waitError{v1alpha1.ReasonSourceMissing, fmt.Sprintf("%s %s has no key %s", kind, ref.Name, key)}
		}
		all = append(all, namedText{fmt.Sprintf("%s %s, key %s", kind, ref.Name, key), text})
	}
	return all, nil
}
