package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// AwaitStatus waits until no pod of the node has a status that names a container that
// is not running. If a machine starts with the data of another one, its pods seem ready
// until the kubelet has updated each status. containers returns the IDs of the running
// containers, from the node's runtime; it is called after the pods are listed, so a
// container that it does not list has ended. The error at the end of ctx names the pods.
func (c *Cluster) AwaitStatus(ctx context.Context, node string, containers func(context.Context) ([]string, error)) error {
	pods := c.podsOn(node)
	list, err := c.Typed.CoreV1().Pods(metav1.NamespaceAll).List(ctx, onNode(node))
	if err != nil {
		return fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	run, err := containers(ctx)
	if err != nil {
		return err
	}
	ended := map[string]bool{}
	for _, pod := range list.Items {
		for _, id := range claimed(&pod) {
			ended[id] = !slices.Contains(run, id)
		}
	}
	stale := staleIn(list.Items, ended)
	if len(stale) == 0 {
		return nil
	}
	var store cache.Store
	look := func() (bool, error) {
		var now []corev1.Pod
		for _, item := range store.List() {
			now = append(now, *item.(*corev1.Pod))
		}
		stale = staleIn(now, ended)
		return len(stale) == 0, nil
	}
	_, err = toolswatch.UntilWithSync(ctx, pods, &corev1.Pod{}, func(s cache.Store) (bool, error) {
		store = s
		return look()
	}, func(watch.Event) (bool, error) { return look() })
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("the kubelet has not updated the status of pods %s yet: %w", strings.Join(stale, ", "), err)
}

func onNode(node string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()}
}

func (c *Cluster) podsOn(node string) cache.ListerWatcher {
	pods := c.Typed.CoreV1().Pods(metav1.NamespaceAll)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = onNode(node).FieldSelector
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = onNode(node).FieldSelector
			return pods.Watch(ctx, o)
		},
	}
}

// staleIn are the pods that are said to run in a container that ended.
func staleIn(pods []corev1.Pod, ended map[string]bool) []string {
	var stale []string
	for _, pod := range pods {
		if slices.ContainsFunc(claimed(&pod), func(id string) bool { return ended[id] }) {
			stale = append(stale, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(stale)
	return stale
}

// claimed are the containers that the pod's status says run, without the name of
// the runtime before them.
func claimed(pod *corev1.Pod) []string {
	var ids []string
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Running != nil {
			_, id, _ := strings.Cut(status.ContainerID, "://")
			ids = append(ids, id)
		}
	}
	return ids
}
