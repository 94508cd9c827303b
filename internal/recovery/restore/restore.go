// Package restore writes the objects of a backup into a management cluster, held, and
// lets them go when they are proved.
package restore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// parallel is how many objects are written at once.
const parallel = 16

// Result is what a restore did.
type Result struct {
	// Created is how many objects were created now, Kept how many were there from a
	// former run or were never gone, Statuses how many statuses were written.
	Created  int `json:"created"`
	Kept     int `json:"kept"`
	Statuses int `json:"statuses"`
}

// Restorer restores into one cluster.
type Restorer struct {
	// To is the new management cluster.
	To *kube.Cluster
	// Progress, if set, receives what is done: n of total.
	Progress func(what string, n, total int)
}

// work is one run.
type work struct {
	Restorer
	plan *recovery.Plan

	mu     sync.Mutex
	uids   recovery.UIDs
	live   map[types.UID]*unstructured.Unstructured // by the UID of the backup
	result Result
	n      int
}

// Run creates the objects of a plan, held and with their owners, then their statuses
// by the status subresource. A second run continues where a former one was killed and
// changes nothing that is done. All kinds are looked up first: if one is not served,
// nothing is created.
func (r Restorer) Run(ctx context.Context, plan *recovery.Plan) (Result, error) {
	w := &work{Restorer: r, plan: plan, uids: recovery.UIDs{}, live: map[types.UID]*unstructured.Unstructured{}}
	if w.Progress == nil {
		w.Progress = func(string, int, int) {}
	}
	statuses, err := r.kinds(plan)
	if err != nil {
		return w.result, err
	}
	for _, step := range plan.Steps {
		if err := w.each(ctx, "objects", plan.Objects(), step, w.create); err != nil {
			return w.result, err
		}
	}
	var with []*unstructured.Unstructured
	for _, step := range plan.Steps {
		for _, o := range step {
			if statuses.has(o) {
				with = append(with, o)
			}
		}
	}
	w.n = 0
	err = w.each(ctx, "statuses", len(with), with, func(ctx context.Context, o *unstructured.Unstructured) error {
		return w.status(ctx, o, statuses.subresource(o))
	})
	return w.result, err
}

// each does something with every object of a list, some at once, and tells of it. It
// goes on after a refusal, so that all causes of one step are told at once.
func (w *work) each(ctx context.Context, what string, total int, list []*unstructured.Unstructured, do func(context.Context, *unstructured.Unstructured) error) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	errs := make([]error, len(list))
	for i, o := range list {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			if errs[i] = do(ctx, o); errs[i] == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.n++
				w.Progress(what, w.n, total)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// create creates one object, or finds that it is there.
func (w *work) create(ctx context.Context, o *unstructured.Unstructured) error {
	if err := w.owners(ctx, o); err != nil {
		return err
	}
	w.mu.Lock()
	wanted := recovery.Prepare(o, w.uids)
	w.mu.Unlock()
	var client dynamic.ResourceInterface
	var live *unstructured.Unstructured
	err := patiently(ctx, w.To, func() (err error) {
		if client, err = w.To.Resource(o); err != nil {
			return err
		}
		live, err = client.Create(ctx, wanted, metav1.CreateOptions{FieldManager: kube.FieldManager})
		return err
	})
	created := err == nil
	if apierrors.IsAlreadyExists(err) {
		live, err = w.existing(ctx, client, o)
	}
	if err != nil {
		return refused(o, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uids[o.GetUID()], w.live[o.GetUID()] = live.GetUID(), live
	if created {
		w.result.Created++
	} else {
		w.result.Kept++
	}
	return nil
}

// existing is the object of the name that is there. It must be the restored one, or
// a namespace; another one is left alone, and is an error.
func (w *work) existing(ctx context.Context, client dynamic.ResourceInterface, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := patiently(ctx, w.To, func() (err error) {
		live, err = client.Get(ctx, o.GetName(), metav1.GetOptions{})
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case live.GetDeletionTimestamp() != nil:
		return nil, fault.New(recovery.Describe(o), errors.New("an object of this name is being deleted"), "wait until it is gone, then run the same command again")
	case o.GetKind() == "Namespace", recovery.Same(live, o.GetUID()):
		return live, nil
	}
	return nil, fault.New(recovery.Describe(o), errors.New("the management cluster has another object of this name, which is not from the backup"),
		"if it is not needed, delete it and run the same command again; nothing of it was changed")
}

// owners finds the UIDs of owners that the new cluster has of its own.
func (w *work) owners(ctx context.Context, o *unstructured.Unstructured) error {
	for _, r := range o.GetOwnerReferences() {
		w.mu.Lock()
		_, known := w.uids[r.UID]
		w.mu.Unlock()
		outside, there := w.plan.Outside(r.UID)
		if known || !there {
			continue
		}
		owner := &unstructured.Unstructured{}
		owner.SetAPIVersion(r.APIVersion)
		owner.SetKind(r.Kind)
		owner.SetNamespace(outside.Namespace)
		client, err := w.To.Resource(owner)
		if err == nil {
			owner, err = client.Get(ctx, r.Name, metav1.GetOptions{})
		}
		if kube.Absent(err) {
			continue // the check of owners tells of it
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", outside, err)
		}
		w.mu.Lock()
		w.uids[r.UID] = owner.GetUID()
		w.mu.Unlock()
	}
	return nil
}

// status writes the status of one object, unless it is there.
func (w *work) status(ctx context.Context, o *unstructured.Unstructured, subresource bool) error {
	client, err := w.To.Resource(o)
	if err != nil {
		return fmt.Errorf("restoring the status of %s: %w", recovery.Describe(o), err)
	}
	w.mu.Lock()
	live := w.live[o.GetUID()]
	w.mu.Unlock()
	written := false
	err = patiently(ctx, w.To, func() error {
		wanted, ok := recovery.Status(o, live, w.uids)
		if !ok || live.GetUID() == o.GetUID() { // the original was never gone, and has its own
			return nil
		}
		if now, _ := live.Object["status"].(map[string]any); recovery.Has(now, wanted) {
			return nil
		}
		next := live.DeepCopy()
		next.Object["status"] = wanted
		var err error
		if subresource {
			_, err = client.UpdateStatus(ctx, next, metav1.UpdateOptions{FieldManager: kube.FieldManager})
		} else {
			_, err = client.Update(ctx, next, metav1.UpdateOptions{FieldManager: kube.FieldManager})
		}
		if apierrors.IsConflict(err) { // a controller wrote that the object is paused
			fresh, read := client.Get(ctx, o.GetName(), metav1.GetOptions{})
			if read != nil {
				return read
			}
			live = fresh
		}
		written = err == nil
		return err
	})
	if err != nil {
		return refused(o, fmt.Errorf("writing its status: %w", err))
	}
	if written {
		w.mu.Lock()
		w.result.Statuses++
		w.mu.Unlock()
	}
	return nil
}
