package moving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Run hands back what the plan does not refuse. Slipway's controllers and API first
// let go of everything; then the rows of each cluster are written in one transaction,
// and its resource becomes a copy of Magnum's again. Interrupted at any point, the next
// run goes on: what is on its way is held. done is told of each.
func (h *HandBack) Run(ctx context.Context, rows Rows, site Site, done func(what string, written bool)) error {
	b := &backWriter{ctx: ctx, client: site.Client, rows: rows, plan: h, done: done, failed: map[string]bool{}}
	var errs []error
	for _, u := range h.units {
		if err := b.hold(u); err != nil {
			errs = append(errs, b.fail(u, "holding", err))
		}
	}
	for _, u := range b.ordered() {
		if b.failed[u.key()] || u.Kind == KindCluster && b.failed[KindTemplate+u.template] {
			continue
		}
		if err := b.unit(u); err != nil {
			errs = append(errs, b.fail(u, "handing back", err))
		}
	}
	return errors.Join(errs...)
}

type backWriter struct {
	ctx    context.Context
	client client.Client
	rows   Rows
	plan   *HandBack
	done   func(what string, written bool)
	failed map[string]bool
}

func (u *unit) key() string { return u.Kind + u.ID() }

func (b *backWriter) fail(u *unit, doing string, err error) error {
	b.failed[u.key()] = true
	return fmt.Errorf("%s %s %s (%s): %w", doing, u.Kind, u.Name, u.ID(), err)
}

// ordered has templates before the clusters that are made of them, and those that are
// deleted behind.
func (b *backWriter) ordered() []*unit {
	rank := func(u *unit) int {
		if u.Kind == KindTemplate && u.Verdict == Delete {
			return 1
		}
		return 0
	}
	units := slices.Clone(b.plan.units)
	slices.SortStableFunc(units, func(x, y *unit) int { return rank(x) - rank(y) })
	return units
}

var errMeanwhile = errors.New("somebody changed it since it was looked at: run the command again")

// hold stops Slipway's controllers and API. What somebody wanted otherwise since it was
// judged is not handed back; a controller that has only written a status is no conflict.
func (b *backWriter) hold(u *unit) error {
	if u.object == nil || v1alpha1.Held(u.object) == v1alpha1.HeldByHandBack {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, ok := u.object.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", u.object)
		}
		if err := b.client.Get(b.ctx, client.ObjectKeyFromObject(u.object), fresh); err != nil {
			return err
		}
		if !same(phaseOf(fresh), phaseOf(u.object)) || fresh.GetGeneration() != u.object.GetGeneration() || fresh.GetUID() != u.object.GetUID() {
			return errMeanwhile
		}
		if err := b.mark(fresh, v1alpha1.HeldByHandBack, ""); err != nil {
			return err
		}
		u.object = fresh
		return nil
	})
}

func phaseOf(o client.Object) any {
	if c, ok := o.(*v1alpha1.Cluster); ok {
		return string(c.Status.Phase)
	}
	return nil
}

// groups reads the node groups of a cluster, which is held: they must be those that
// were judged.
func (b *backWriter) groups(u *unit) error {
	for n, g := range u.groups {
		fresh := &v1alpha1.NodeGroup{}
		err := b.client.Get(b.ctx, client.ObjectKeyFromObject(g), fresh)
		if err == nil && (fresh.Generation != g.Generation || fresh.UID != g.UID) {
			err = errMeanwhile
		}
		if err != nil {
			return fmt.Errorf("node group %s: %w", g.Title(), err)
		}
		u.groups[n] = fresh
	}
	return nil
}

// mark says who looks after an object, and takes a finalizer from it.
func (b *backWriter) mark(o client.Object, holder, finalizer string) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", o)
	}
	if holder != "" {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationHeld] = holder
		o.SetAnnotations(annotations)
	}
	if finalizer != "" {
		controllerutil.RemoveFinalizer(o, finalizer)
	}
	return b.client.Patch(b.ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// unit writes the rows of a unit, and lets Magnum have it.
func (b *backWriter) unit(u *unit) error {
	if err := b.groups(u); err != nil {
		return err
	}
	if len(u.work.Changes) > 0 {
		if err := b.rows.Apply(b.ctx, b.plan.image, u.work); err != nil {
			return err
		}
	}
	if err := b.forget(u); err != nil {
		return err
	}
	if err := b.give(u); err != nil {
		return err // it stays held, and the next run finds its rows written
	}
	b.done(u.Kind+" "+u.Name, len(u.work.Changes) > 0)
	return nil
}

// forget removes the record: from now on, Magnum's row is what counts.
func (b *backWriter) forget(u *unit) error {
	if u.record == nil {
		return nil
	}
	key := client.ObjectKeyFromObject(u.record.object)
	o := &corev1.ConfigMap{}
	o.Namespace, o.Name = key.Namespace, key.Name
	if err := b.client.Delete(b.ctx, o); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing record %s: %w", key, err)
	}
	return nil
}

// give makes the resource a copy of what Magnum manages, as an import does: without
// finalizers, so that deleting it deletes nothing else.
func (b *backWriter) give(u *unit) error {
	if u.object == nil {
		return nil
	}
	for _, g := range u.groups {
		if controllerutil.ContainsFinalizer(g, v1alpha1.FinalizerNodeGroup) {
			if err := b.mark(g, "", v1alpha1.FinalizerNodeGroup); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("giving up node group %s: %w", g.Title(), err)
			}
		}
	}
	finalizer := ""
	if u.Kind == KindCluster {
		finalizer = v1alpha1.FinalizerCluster
	}
	return b.mark(u.object, v1alpha1.HeldByMagnum, finalizer)
}
