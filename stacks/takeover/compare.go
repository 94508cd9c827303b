package takeover

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// compare says what Slipway would write, object by object, and where what there is differs.
func (c *Cluster) compare(ctx context.Context, s settings) error {
	var err error
	if c.wanted, err = controllers.Objects(s.options()); err != nil {
		return err
	}
	if c.record == nil {
		c.record = &record{Settings: s}
	} else {
		c.record.Settings = s
	}
	for _, wanted := range c.wanted {
		live, err := c.live(ctx, wanted)
		if err != nil {
			return err
		}
		c.Items = append(c.Items, c.item(wanted, live))
	}
	return nil
}

// item is what becomes of an object that Slipway writes.
func (c *Cluster) item(wanted, live *unstructured.Unstructured) Item {
	item := Item{Object: describe(wanted), Verdict: Create}
	if live == nil {
		return item
	}
	differences := content(wanted, live)
	differences = append(differences, adopt.Within(map[string]any{"metadata": map[string]any{"labels": labels(wanted)}}, map[string]any{"metadata": map[string]any{"labels": labels(live)}})...)
	for _, one := range differences {
		item.Differences = append(item.Differences, Difference{one.Path, shown(wanted, one.Has), shown(wanted, one.Want)})
	}
	switch {
	case wanted.GetKind() == kindDeployment && !ours(live):
		item.Verdict = Replace
		for _, o := range c.operators {
			if o.name == wanted.GetName() {
				item.Version = o.chartVersion()
			}
		}
		item.Note = "its pods end before Slipway's begin"
	case len(item.Differences) > 0:
		item.Verdict = Change
	default:
		item.Verdict = Same
	}
	return item
}

// shown is a value as far as it may be told.
func shown(of *unstructured.Unstructured, value any) any {
	if of.GetKind() == "Secret" && value != nil {
		return "another value"
	}
	return value
}

func labels(o *unstructured.Unstructured) map[string]any {
	all := map[string]any{}
	for key, value := range o.GetLabels() {
		all[key] = value
	}
	return all
}

// unused are the objects of the operators' releases that Slipway has no use for.
func (c *Cluster) unused() {
	for _, o := range c.operators {
		if o.release == nil {
			continue
		}
		made, err := adopt.Documents(o.release.Manifest)
		if err != nil {
			continue // it is a problem already
		}
		for _, one := range made {
			if !slices.ContainsFunc(c.wanted, func(w *unstructured.Unstructured) bool {
				return w.GetKind() == one.GetKind() && w.GetName() == one.GetName()
			}) {
				one.SetNamespace(o.namespace)
				c.Items = append(c.Items, Item{Object: describe(one), Verdict: Leave, Note: "stays unused, for --hand-back"})
			}
		}
	}
}

// pending reports whether there is anything to write.
func (c *Cluster) pending() bool {
	if c.State == Interrupted {
		return true
	}
	for _, item := range c.Items {
		if item.Verdict == Replace || item.Verdict == Change || item.Verdict == Create {
			return true
		}
	}
	return false
}
