package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// pollInterval is how often readiness is checked.
const pollInterval = 2 * time.Second

// waiter is Helm's client with its own waits: they end with the context, give up the place for work
// while they last, and say what they wait for.
type waiter struct {
	*kube.Client
	ctx      context.Context
	place    *target.Place
	typed    kubernetes.Interface
	progress func(string)
	// forget drops what is known about the cluster's kinds: a megabyte or two that each release
	// would hold while it waits.
	forget func()
	// outgoing reports whether a manifest is one that is being removed or replaced; nil means
	// never.
	outgoing func(manifest string) bool
	// workerless reports whether the cluster is to have no workers; nil means never.
	workerless func(context.Context) bool
	// forWorkers is what the last wait for readiness no longer waited for, because it needs
	// workers; hookForWorkers is what ended a hook for that reason.
	forWorkers, hookForWorkers []string
	// applied is whether readiness was waited for: the whole release has been made.
	applied bool
}

// Build is Helm's. From a manifest that is being removed or replaced, it leaves out the kinds that
// the cluster no longer knows: no such objects can exist, and Helm would otherwise never get past
// them (https://github.com/helm/helm/issues/7219).
func (w *waiter) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	manifest, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	resources, err := w.Client.Build(bytes.NewReader(manifest), validate)
	if err == nil || kindOf(err) != KindMissing || w.outgoing == nil || !w.outgoing(string(manifest)) {
		return resources, err
	}
	var known kube.ResourceList
	for _, document := range releaseutil.SplitManifests(string(manifest)) {
		resources, err := w.Client.Build(strings.NewReader(document), validate)
		if err != nil && kindOf(err) != KindMissing {
			return nil, err
		}
		known = append(known, resources...)
	}
	return known, nil
}

// Create is Helm's, but does nothing once the work is to end.
func (w *waiter) Create(resources kube.ResourceList) (*kube.Result, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	return w.Client.Create(resources)
}

// Update is Helm's, but does nothing once the work is to end.
func (w *waiter) Update(original, changed kube.ResourceList, force bool) (*kube.Result, error) {
	if err := w.ctx.Err(); err != nil {
		return &kube.Result{}, err
	}
	return w.Client.Update(original, changed, force)
}

// Delete is Helm's, but returns an error once the work is to end: what an upgrade made is not
// cleaned up when the upgrade was interrupted, since the upgrade is resumed later.
func (w *waiter) Delete(resources kube.ResourceList) (*kube.Result, []error) {
	if err := w.ctx.Err(); err != nil {
		return nil, []error{err}
	}
	return w.Client.Delete(resources)
}

// DeleteWithPropagationPolicy is Helm's, but does nothing once the work is to end.
func (w *waiter) DeleteWithPropagationPolicy(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	if err := w.ctx.Err(); err != nil {
		return nil, []error{err}
	}
	return w.Client.DeleteWithPropagationPolicy(resources, policy)
}

// Wait waits until resources are ready, not counting jobs.
func (w *waiter) Wait(resources kube.ResourceList, timeout time.Duration) error {
	return w.ready(resources, timeout, kube.NewReadyChecker(w.typed, nil, kube.PausedAsReady(true)))
}

// WaitWithJobs waits until resources are ready and jobs are done.
func (w *waiter) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return w.ready(resources, timeout, kube.NewReadyChecker(w.typed, nil, kube.PausedAsReady(true), kube.CheckJobs(true)))
}

func (w *waiter) ready(resources kube.ResourceList, timeout time.Duration, checker kube.ReadyChecker) error {
	left := resources
	w.forWorkers, w.applied = nil, true
	return w.poll(timeout, func(ctx context.Context) ([]string, error) {
		var names []string
		var rest kube.ResourceList
		for _, info := range left {
			ready, err := checker.IsReady(ctx, info)
			if err != nil && !passing(err) {
				return nil, fmt.Errorf("%s: %w", describe(info), err)
			}
			if !ready || err != nil {
				rest = append(rest, info)
				names = append(names, describe(info))
			}
		}
		// What was ready once is not looked at again but at the very end.
		if len(rest) == 0 && len(left) < len(resources) {
			rest, left = resources, resources
			return w.unready(ctx, resources, checker)
		}
		left = rest
		if w.forWorkers = w.withoutWorkers(ctx, rest); len(w.forWorkers) > 0 {
			return nil, nil // all is applied, and none of the rest comes by waiting
		}
		return names, nil
	})
}

func (w *waiter) unready(ctx context.Context, resources kube.ResourceList, checker kube.ReadyChecker) ([]string, error) {
	var names []string
	for _, info := range resources {
		if ready, err := checker.IsReady(ctx, info); err != nil || !ready {
			names = append(names, describe(info))
		}
	}
	return names, nil
}

// WaitForDelete waits until resources are gone.
func (w *waiter) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	return w.poll(timeout, func(context.Context) ([]string, error) {
		var names []string
		for _, info := range resources {
			if err := info.Get(); !apierrors.IsNotFound(err) {
				names = append(names, describe(info)+" is being deleted")
			}
		}
		return names, nil
	})
}

// WatchUntilReady waits until the jobs and pods of Helm's hooks are done. It ends with a
// [WorkersError] if they need workers and there are to be none.
func (w *waiter) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	return w.poll(timeout, func(ctx context.Context) ([]string, error) {
		var names []string
		var left kube.ResourceList
		for _, info := range resources {
			done, err := hookDone(info)
			if err != nil {
				return nil, err
			}
			if !done {
				names = append(names, describe(info))
				left = append(left, info)
			}
		}
		if w.hookForWorkers = w.withoutWorkers(ctx, left); len(w.hookForWorkers) > 0 {
			return nil, &WorkersError{w.hookForWorkers}
		}
		return names, nil
	})
}

// hookDone reports whether a hook's resource is done; only jobs and pods run.
func hookDone(info *resource.Info) (bool, error) {
	kind := info.Mapping.GroupVersionKind.Kind
	if kind != "Job" && kind != "Pod" {
		return true, nil
	}
	if err := info.Get(); err != nil {
		if passing(err) {
			return false, nil
		}
		return false, fmt.Errorf("%s: %w", describe(info), err)
	}
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return false, fmt.Errorf("%s: unexpected type %T", describe(info), info.Object)
	}
	if kind == "Pod" {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		if phase == "Failed" {
			return false, fmt.Errorf("%s failed", describe(info))
		}
		return phase == "Succeeded", nil
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["status"] != "True" {
			continue
		}
		switch condition["type"] {
		case "Complete":
			return true, nil
		case "Failed":
			return false, fmt.Errorf("%s failed: %v", describe(info), condition["message"])
		}
	}
	return false, nil
}

// poll asks what is still waited for, until nothing is. Meanwhile the place for work is given up.
func (w *waiter) poll(timeout time.Duration, ask func(context.Context) ([]string, error)) error {
	w.place.Leave()
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	for {
		names, err := ask(ctx)
		if err != nil && ctx.Err() == nil {
			return errors.Join(err, w.place.Take(w.ctx))
		}
		if err == nil && len(names) == 0 {
			return w.place.Take(w.ctx)
		}
		if len(names) > 0 {
			w.progress("waiting for " + few(names))
		}
		w.forget()
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			if err := w.ctx.Err(); err != nil {
				return err
			}
			return errors.Join(&TimeoutError{timeout, names}, w.place.Take(w.ctx))
		}
	}
}

// TimeoutError is the error of a wait whose time is up.
type TimeoutError struct {
	Timeout time.Duration
	// Left is what was still waited for.
	Left []string
}

// Error says how long the wait lasted and for what.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("not ready after %s: %s", e.Timeout, few(e.Left))
}

// passing reports whether an error from reading a resource may go away by itself.
func passing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code == 404 || code == 409 || code == 429 || code >= 500 && code != 501
}

func describe(info *resource.Info) string {
	kind := info.Mapping.GroupVersionKind.Kind
	if info.Namespace == "" {
		return kind + " " + info.Name
	}
	return kind + " " + info.Namespace + "/" + info.Name
}

// few lists the first of many names.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
