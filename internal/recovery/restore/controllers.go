package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// namespaces are those of the controllers that do not run while objects come back:
// the resource controller knows no pause, and the others would act on objects whose
// status is not there yet. None of them has a webhook that a restore needs.
func namespaces() []string {
	return []string{"orc-system", "capi-addon-system", "capi-janitor-system", "slipway-system"}
}

// stopTime and startTime bound how long controllers may take to end and to begin, reviveTime
// how long it may take to want them again: who interrupts the program waits for it.
const (
	stopTime   = 3 * time.Minute
	startTime  = 5 * time.Minute
	reviveTime = time.Minute
)

// WithoutControllers does something while the controllers without a pause do not run. They are
// wanted again whatever becomes of it, also after an interrupt: clusters that are at work need
// them. Those that a run which was killed has stopped are, too.
func WithoutControllers(ctx context.Context, on *kube.Cluster, progress func(string), do func(context.Context) error) error {
	_, err := StopControllers(ctx, on, progress)
	if err == nil {
		err = do(ctx)
	}
	progress("starting the controllers again")
	names, failed := revive(ctx, on)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	return available(ctx, on, names, progress)
}

// Revive wants those controllers again that a run which was killed has stopped, and does not
// wait for them. An interrupt does not end it.
func Revive(ctx context.Context, on *kube.Cluster) error {
	_, err := revive(ctx, on)
	return err
}

func revive(ctx context.Context, on *kube.Cluster) ([]types.NamespacedName, error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), reviveTime, errors.New("the API server did not answer in time"))
	defer cancel()
	return scaleBack(ctx, on)
}

// StopControllers scales the controllers without a pause to zero, and waits until
// their last pod is gone. It returns how many Deployments it found.
func StopControllers(ctx context.Context, on *kube.Cluster, progress func(string)) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTime, fmt.Errorf("their pods did not end within %s", stopTime))
	defer cancel()
	found, err := deployments(ctx, on)
	if err != nil {
		return 0, err
	}
	for _, d := range found {
		if err := Pause(ctx, on, d); err != nil {
			return 0, err
		}
	}
	for _, d := range found {
		progress("waiting for the pods of " + recovery.Describe(d) + " to end")
		if err := ended(ctx, on, d); err != nil {
			return 0, fmt.Errorf("stopping %s: %w", recovery.Describe(d), err)
		}
	}
	return len(found), nil
}

// StartControllers scales them back, and waits until they are available.
func StartControllers(ctx context.Context, on *kube.Cluster, progress func(string)) error {
	names, err := scaleBack(ctx, on)
	if err != nil {
		return err
	}
	return available(ctx, on, names, progress)
}

// scaleBack gives the controllers the replicas that they had. One that cannot be written does
// not keep it from the others.
func scaleBack(ctx context.Context, on *kube.Cluster) (names []types.NamespacedName, err error) {
	found, err := deployments(ctx, on)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, d := range found {
		wrong = append(wrong, Release(ctx, on, d))
		names = append(names, types.NamespacedName{Namespace: d.GetNamespace(), Name: d.GetName()})
	}
	return names, errors.Join(wrong...)
}

func available(ctx context.Context, on *kube.Cluster, names []types.NamespacedName, progress func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("they were not available in time"))
	defer cancel()
	return on.WaitAvailable(ctx, names, progress)
}

func deployments(ctx context.Context, on *kube.Cluster) (all []*unstructured.Unstructured, err error) {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	resource, err := on.Everywhere(kind)
	if err != nil {
		return nil, fmt.Errorf("listing controllers: %w", err)
	}
	for _, namespace := range namespaces() {
		list, err := resource.Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing controllers in %s: %w", namespace, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// overdue is the first pod that should have ended: its time of grace, which the timestamp of
// its deletion includes, is over. Its kubelet does not answer.
func overdue(pods []corev1.Pod, now time.Time) string {
	for _, p := range pods {
		if p.DeletionTimestamp != nil && now.After(p.DeletionTimestamp.Add(slack)) {
			return fmt.Sprintf("pod %s does not end: the kubelet of node %s has not stopped it since %s", p.Name, p.Spec.NodeName, p.DeletionTimestamp.UTC().Format(time.RFC3339))
		}
	}
	return ""
}

// slack is how late a kubelet may be with a pod that ends.
const slack = 10 * time.Second

// ended waits until no pod of a Deployment is left, also none that is terminating.
func ended(ctx context.Context, on *kube.Cluster, d *unstructured.Unstructured) error {
	labels, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	for {
		pods, err := on.Typed.CoreV1().Pods(d.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil && !passing(err) {
			return err
		}
		if err == nil && len(pods.Items) == 0 {
			return nil
		}
		if err == nil {
			if why := overdue(pods.Items, time.Now()); why != "" {
				return fault.New(recovery.Describe(d), errors.New(why), "if the node is lost, delete its Machine or the pod (kubectl delete pod --force), then run the same command again")
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again):
		}
	}
}
