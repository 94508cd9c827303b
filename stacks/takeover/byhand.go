package takeover

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// byHand refuses an operator whose objects are not as its release made them: what somebody
// changed there, Slipway's controllers would not have.
func (c *Cluster) byHand(ctx context.Context) error {
	for _, o := range c.operators {
		if o.release == nil || o.deployment == nil || c.record != nil || ours(o.deployment) {
			continue
		}
		made, err := adopt.Documents(o.release.Manifest)
		if err != nil {
			c.problem("release "+o.namespace+"/"+o.name, "helm get manifest "+o.name+" -n "+o.namespace, "it cannot be read: %v", err)
			continue
		}
		for _, wanted := range made {
			if err := c.asMade(ctx, o, wanted); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cluster) asMade(ctx context.Context, o *operator, wanted *unstructured.Unstructured) error {
	namespaced, err := c.site.Kube.Namespaced(wanted.GroupVersionKind())
	if err != nil {
		return fmt.Errorf("finding the kind of %s: %w", describe(wanted), err)
	}
	if namespaced && wanted.GetNamespace() == "" {
		wanted.SetNamespace(o.namespace)
	}
	live, err := c.live(ctx, wanted)
	if err != nil {
		return err
	}
	if live == nil {
		c.problem(describe(wanted), "make it again with helm upgrade", "it is missing, and release %s has it", o.name)
		return nil
	}
	for _, one := range content(wanted, live) {
		c.problem(describe(wanted), "put it into the release's values with helm upgrade, or change it back",
			"it was changed by hand: %s is %s, its release has %s", one.Path, brief(one.Has), brief(one.Want))
	}
	return nil
}

// content compares all that an object is but what the API server keeps of every object.
func content(wanted, live *unstructured.Unstructured) []adopt.Unlike {
	bare := map[string]any{}
	for key, value := range wanted.Object {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, key) {
			bare[key] = value
		}
	}
	return slices.DeleteFunc(adopt.Within(bare, live.Object), func(one adopt.Unlike) bool { return quantities(one.Want, one.Has) })
}

// quantities reports whether two values are one quantity: API servers write 1000m as 1.
func quantities(a, b any) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	y, failed := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && failed == nil && x.Cmp(y) == 0
}

// longest is how many letters of a value are shown.
const longest = 60

func brief(value any) string {
	if value == nil {
		return "not set"
	}
	text := []rune(fmt.Sprintf("%v", value))
	if len(text) > longest {
		return string(text[:longest]) + "…"
	}
	return string(text)
}
