package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// HandBack gives the clusters back as they were: Azimuth's operators with their releases,
// and on the seed the release of the management cluster. It may be run again.
func HandBack(ctx context.Context, sites []Site, tell func(string)) error {
	var all []*Cluster
	for _, site := range sites {
		c := &Cluster{Role: site.Role, site: site, operators: operators()}
		var err error
		if c.record, err = c.readRecord(ctx); err != nil {
			return err
		}
		if len(c.Problems) > 0 {
			return fault.New(c.Problems[0].Object, errors.New(c.Problems[0].What), c.Problems[0].Remedy)
		}
		if c.record != nil {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return fault.Usage("environment", errors.New("it was not adopted"), "only what slipway adopt environment adopted can be handed back; give the same kubeconfigs")
	}
	for _, c := range all { // the only part that can be refused
		if c.Role == Seed {
			if err := c.returnRelease(ctx, tell); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		if err := c.handBack(ctx, func(text string) { tell(string(c.Role) + ": " + text) }); err != nil {
			return partly(fmt.Errorf("handing back the %s: %w", c.Role, err))
		}
	}
	return nil
}

// returnRelease gives the release of the management cluster back, if it was adopted.
func (c *Cluster) returnRelease(ctx context.Context, tell func(string)) error {
	kind := machinery()[0]
	clusters, err := c.all(ctx, kind)
	if err != nil {
		return err
	}
	for _, one := range clusters {
		if one.GetName() != c.record.Environment {
			continue
		}
		release, err := c.site.Clusters.Releases.Last(one.GetNamespace(), one.GetName())
		if err != nil {
			return err
		}
		if release == nil || release.Config["adopted"] == nil {
			return nil // it was not taken, or is given back already
		}
		tell("release " + one.GetNamespace() + "/" + one.GetName())
		_, err = c.site.Clusters.HandBack(ctx, one.GetName(), one.GetNamespace())
		return err
	}
	return nil
}

func (c *Cluster) handBack(ctx context.Context, tell func(string)) error {
	var err error
	if c.wanted, err = controllers.Objects(c.record.Settings.options()); err != nil {
		return err
	}
	for _, key := range c.record.Settings.options().Deployments() {
		live, err := c.get(ctx, deployments, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		if ours(live) {
			tell("ending " + key.Name)
			if err := c.end(ctx, live); err != nil {
				return err
			}
		}
	}
	if err := c.remove(ctx); err != nil {
		return err
	}
	if err := c.restore(ctx, func(o *unstructured.Unstructured) bool { return o.GetKind() != kindDeployment }); err != nil {
		return err
	}
	for _, o := range c.operators {
		if err := c.relabel(ctx, o, ownerSlipway, ownerHelm); err != nil {
			return err
		}
	}
	tell("starting the controllers that were there")
	if err := c.restore(ctx, func(o *unstructured.Unstructured) bool { return o.GetKind() == kindDeployment }); err != nil {
		return err
	}
	if err := c.available(ctx, c.former(), tell); err != nil {
		return err
	}
	return c.forget(ctx)
}

// former are the Deployments that ran before.
func (c *Cluster) former() []types.NamespacedName {
	var all []types.NamespacedName
	for _, o := range c.record.Before {
		if o.GetKind() == kindDeployment && !ours(o) {
			all = append(all, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
	}
	return all
}

// remove deletes what Slipway made and nobody had before. Definitions stay: with them all
// objects of their kinds would go.
func (c *Cluster) remove(ctx context.Context) error {
	for _, o := range slices.Backward(c.wanted) {
		if o.GetKind() == definitions.Kind || c.record.before(o.GetKind(), o.GetNamespace(), o.GetName()) != nil {
			continue
		}
		resource, err := c.site.Kube.Resource(o)
		if err == nil {
			err = resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !kube.Absent(err) {
			return fmt.Errorf("deleting %s: %w", describe(o), err)
		}
	}
	return nil
}

// restore writes the objects of the record as they were.
func (c *Cluster) restore(ctx context.Context, which func(*unstructured.Unstructured) bool) error {
	for _, before := range c.record.Before {
		if !which(before) {
			continue
		}
		live, err := c.live(ctx, before)
		if err != nil {
			return err
		}
		resource, err := c.site.Kube.Resource(before)
		if err != nil {
			return fmt.Errorf("finding the kind of %s: %w", describe(before), err)
		}
		wanted := before.DeepCopy()
		unstructured.RemoveNestedField(wanted.Object, "status")
		if live == nil {
			wanted.SetUID("")
			wanted.SetResourceVersion("")
			_, err = resource.Create(ctx, wanted, metav1.CreateOptions{})
		} else {
			wanted.SetUID(live.GetUID())
			wanted.SetResourceVersion(live.GetResourceVersion())
			_, err = resource.Update(ctx, wanted, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("restoring %s: %w", describe(before), err)
		}
	}
	return nil
}

// forget deletes the record, last of all.
func (c *Cluster) forget(ctx context.Context) error {
	err := c.site.Kube.Typed.CoreV1().Secrets(recordNamespace).Delete(ctx, recordName, metav1.DeleteOptions{})
	if err != nil && !kube.Absent(err) {
		return fmt.Errorf("deleting Secret %s: %w", recordName, err)
	}
	return nil
}
