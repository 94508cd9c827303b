package addonprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// hookOptions are the options of all actions.
type hookOptions struct {
	Type              string                      `json:"type"`
	Data              json.RawMessage             `json:"data"`
	PropagationPolicy *metav1.DeletionPropagation `json:"propagationPolicy"`
}

// runHooks runs lifecycle hooks one after the other. A missing resource is no error: a first
// install has nothing to patch yet.
func runHooks(ctx context.Context, cluster *target.Cluster, namespace string, hooks []v1alpha1.LifecycleHook, now time.Time) error {
	for i, hook := range hooks {
		if err := runHook(ctx, cluster, namespace, hook, now); err != nil {
			return fmt.Errorf("lifecycle hook %d (%s %s): %w", i+1, hook.Action, hook.Kind, err)
		}
	}
	return nil
}

func runHook(ctx context.Context, cluster *target.Cluster, namespace string, hook v1alpha1.LifecycleHook, now time.Time) error {
	var options hookOptions
	if hook.Options != nil && len(hook.Options.Raw) > 0 {
		if err := json.Unmarshal(hook.Options.Raw, &options); err != nil {
			return fmt.Errorf("reading options: %w", err)
		}
	}
	group, err := schema.ParseGroupVersion(hook.APIVersion)
	if err != nil {
		return err
	}
	mapping, err := cluster.Mapper.RESTMapping(group.WithKind(hook.Kind).GroupKind(), group.Version)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finding kind: %w", err)
	}
	resource := cluster.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	names, err := hookNames(ctx, resource, hook)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := act(ctx, resource, name, group.WithKind(hook.Kind), hook.Action, options, now); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// hookNames are the names of the resources that a hook applies to.
func hookNames(ctx context.Context, resource dynamic.ResourceInterface, hook v1alpha1.LifecycleHook) ([]string, error) {
	if hook.Name != "" {
		return []string{hook.Name}, nil
	}
	if len(hook.Selector) == 0 {
		return nil, nil
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(hook.Selector).String()})
	if err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return names, nil
}

func act(ctx context.Context, resource dynamic.ResourceInterface, name string, kind schema.GroupVersionKind, action v1alpha1.HookAction,
	options hookOptions, now time.Time) error {
	switch action {
	case v1alpha1.HookDelete:
		policy := metav1.DeletePropagationBackground
		if options.PropagationPolicy != nil {
			policy = *options.PropagationPolicy
		}
		return resource.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	case v1alpha1.HookPatch:
		patch, err := patchType(options.Type)
		if err != nil {
			return err
		}
		_, err = resource.Patch(ctx, name, patch, options.Data, metav1.PatchOptions{FieldManager: "slipway-addon-provider"})
		return err
	case v1alpha1.HookRestart:
		return restart(ctx, resource, name, kind, now)
	}
	return fmt.Errorf("unknown action %q", action)
}

func patchType(name string) (types.PatchType, error) {
	switch name {
	case "", "strategic":
		return types.StrategicMergePatchType, nil
	case "merge":
		return types.MergePatchType, nil
	case "json":
		return types.JSONPatchType, nil
	}
	return "", fmt.Errorf("unknown type of patch %q", name)
}

// restart rolls the pods of a workload.
func restart(ctx context.Context, resource dynamic.ResourceInterface, name string, kind schema.GroupVersionKind, now time.Time) error {
	if kind.Group != "apps" || kind.Kind != "Deployment" && kind.Kind != "DaemonSet" && kind.Kind != "StatefulSet" {
		return fmt.Errorf("%s cannot be restarted", kind.Kind)
	}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`,
		v1alpha1.RestartedAtAnnotation, now.UTC().Format(time.RFC3339))
	_, err := resource.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "slipway-addon-provider"})
	return err
}
