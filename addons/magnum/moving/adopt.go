package moving

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Adopt gives what was imported to Slipway's controllers. A cluster is theirs
// with one write, the last of its own: what Magnum had of it is recorded first, for a
// hand-back, and the groups come before it, and are nobody's
// as long as their cluster is held. The record is completed afterwards. What could not be copied
// is left out.
func (p *Plan) Adopt(ctx context.Context, site Site, done func(what string, changed bool)) error {
	w := &writer{ctx: ctx, client: site.Client, done: done}
	var errs []error
	for i := range p.Clusters {
		switch c := &p.Clusters[i]; {
		case c.Verdict == Adopt && !c.uncopied:
			errs = append(errs, w.adopt(c))
		case c.unsettled:
			errs = append(errs, w.adopted(record{Cluster: &c.row}))
		}
	}
	for i, item := range p.Templates {
		r := record{Template: &p.db.Templates[i]}
		switch {
		case item.Verdict == Adopt && !item.uncopied:
			errs = append(errs, w.release("template "+item.Name, templateKey(p.db.Templates[i]), r))
		case item.unsettled:
			errs = append(errs, w.adopted(r))
		}
	}
	for i, item := range p.Quotas {
		r := record{Quota: &p.db.Quotas[i]}
		switch {
		case item.Verdict == Adopt && !item.uncopied:
			errs = append(errs, w.release("quota of project "+item.ProjectID, quotaKey(p.db.Quotas[i]), r))
		case item.unsettled:
			errs = append(errs, w.adopted(r))
		}
	}
	return errors.Join(errs...)
}

// AdoptOne gives one cluster, which was imported, to the controllers. If a run did that and ended
// before its record was complete, the record is completed.
func (p *Plan) AdoptOne(ctx context.Context, site Site, c *Cluster, done func(what string, changed bool)) error {
	w := &writer{ctx: ctx, client: site.Client, done: done}
	if !c.unsettled {
		return w.adopt(c)
	}
	if err := w.adopted(record{Cluster: &c.row}); err != nil {
		return fmt.Errorf("adopting cluster %s (%s): %w", c.Name, c.UUID, err)
	}
	done("cluster "+c.Name, true)
	return nil
}

func (w *writer) adopt(c *Cluster) error {
	r := record{Cluster: &c.row, Groups: c.groups}
	if err := w.remember(r); err != nil {
		return fmt.Errorf("adopting cluster %s (%s): %w", c.Name, c.UUID, err)
	}
	for _, g := range c.copies.groups {
		if controllerutil.ContainsFinalizer(g, v1alpha1.FinalizerNodeGroup) {
			continue
		}
		if err := w.let(g, v1alpha1.FinalizerNodeGroup); err != nil {
			return fmt.Errorf("adopting node group %s of cluster %s: %w", g.Title(), c.Name, err)
		}
	}
	if err := w.let(c.copies.cluster, v1alpha1.FinalizerCluster); err != nil {
		return fmt.Errorf("adopting cluster %s (%s): %w", c.Name, c.UUID, err)
	}
	if err := w.adopted(r); err != nil {
		return fmt.Errorf("adopting cluster %s (%s): %w", c.Name, c.UUID, err)
	}
	w.done("cluster "+c.Name, true)
	return nil
}

func (w *writer) release(what string, o client.Object, r record) error {
	if err := w.client.Get(w.ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	if v1alpha1.Held(o) == "" {
		return nil
	}
	if err := w.remember(r); err != nil {
		return fmt.Errorf("adopting %s: %w", what, err)
	}
	if err := w.let(o, ""); err != nil {
		return fmt.Errorf("adopting %s: %w", what, err)
	}
	if err := w.adopted(r); err != nil {
		return fmt.Errorf("adopting %s: %w", what, err)
	}
	w.done(what, true)
	return nil
}

// let takes the hold from an object and adds the finalizer. Somebody who wrote it
// since it was imported is a conflict. Metadata has no generation: for the
// controllers nothing has changed.
func (w *writer) let(o client.Object, finalizer string) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", o)
	}
	annotations := o.GetAnnotations()
	delete(annotations, v1alpha1.AnnotationHeld)
	o.SetAnnotations(annotations)
	if finalizer != "" {
		controllerutil.AddFinalizer(o, finalizer)
	}
	return w.client.Patch(w.ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
