package release

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-sh/slipway/internal/kube"
)

// fieldManager owns the fields of the definitions that are applied.
const fieldManager = "slipway-addon-provider"

// definitionTimeout is how long it may take until definitions are served.
const definitionTimeout = time.Minute

// applyDefinitions applies the CRDs of a chart, including newer versions, which Helm itself does
// not apply (https://helm.sh/docs/chart_best_practices/custom_resource_definitions).
func (c *Client) applyDefinitions(ctx context.Context, ch *chart.Chart) error {
	var names []string
	for _, file := range ch.CRDObjects() {
		objects, err := kube.Decode(bytes.NewReader(file.File.Data))
		if err != nil {
			return &Error{Kind: ChartInvalid, Err: fmt.Errorf("reading %s: %w", file.Filename, err)}
		}
		for _, object := range objects {
			if err := c.applyDefinition(ctx, object); err != nil {
				return classify(fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err), true)
			}
			if object.GetKind() == "CustomResourceDefinition" {
				names = append(names, object.GetName())
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	defer c.getter.forget()
	return c.established(ctx, names)
}

func (c *Client) applyDefinition(ctx context.Context, object *unstructured.Unstructured) error {
	mapping, err := c.cluster.Mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	_, err = c.cluster.Dynamic.Resource(mapping.Resource).
		Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// established waits until definitions are served.
func (c *Client) established(ctx context.Context, names []string) error {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, name := range names {
		err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, definitionTimeout, true, func(ctx context.Context) (bool, error) {
			object, err := c.cluster.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, nil //nolint:nilerr // asked again until the time is up
			}
			return conditionTrue(object, "Established"), nil
		})
		if err != nil {
			return &Error{Kind: Temporary, Err: fmt.Errorf("definition %s is not served: %w", name, err)}
		}
	}
	return nil
}

func conditionTrue(object *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == name {
			return condition["status"] == "True"
		}
	}
	return false
}
