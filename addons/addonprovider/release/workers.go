package release

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/resource"
)

// WorkersError means that a release cannot continue without workers, on a cluster that is to have
// none.
type WorkersError struct {
	// Waiting names what finds no node, such as "Deployment kube-system/metrics-server".
	Waiting []string
}

// Error names what waits.
func (e *WorkersError) Error() string {
	return fmt.Sprintf("no worker to run on: %s", few(e.Waiting))
}

// withoutWorkers names what is not ready because it finds no node on a cluster that is to have no
// workers; nil if anything has another reason. Volume claims and services that are not ready only
// because of those are not counted.
func (w *waiter) withoutWorkers(ctx context.Context, left kube.ResourceList) []string {
	if w.workerless == nil || !w.workerless(ctx) {
		return nil
	}
	nodes, err := w.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var names []string
	for _, info := range left {
		switch info.Mapping.GroupVersionKind.Kind {
		case "PersistentVolumeClaim", "Service":
			continue
		}
		if !w.findsNoNode(ctx, info, nodes.Items) {
			return nil
		}
		names = append(names, describe(info))
	}
	return names
}

// findsNoNode reports whether a workload has pods that the scheduler could not place, and that
// could not run on any of the nodes however much room they had.
func (w *waiter) findsNoNode(ctx context.Context, info *resource.Info, nodes []corev1.Node) bool {
	pods, err := w.podsOf(ctx, info)
	if err != nil {
		return false
	}
	found := false
	for i := range pods {
		switch {
		case !unplaced(&pods[i]):
			continue
		case placeable(&pods[i], nodes):
			return false
		}
		found = true
	}
	return found
}

// podsOf lists the pods of a workload. Other kinds have none, which is an error.
func (w *waiter) podsOf(ctx context.Context, info *resource.Info) ([]corev1.Pod, error) {
	selector, pods := "", w.typed.CoreV1().Pods(info.Namespace)
	switch info.Mapping.GroupVersionKind.Kind {
	case "Pod":
		pod, err := pods.Get(ctx, info.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", describe(info), err)
		}
		return []corev1.Pod{*pod}, nil
	case "Job": // its selector is the server's
		selector = labels.Set{batchv1.JobNameLabel: info.Name}.String()
	default:
		of, err := kube.SelectorsForObject(kube.AsVersioned(info))
		if err != nil {
			return nil, fmt.Errorf("finding pods of %s: %w", describe(info), err)
		}
		selector = of.String()
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing pods of %s: %w", describe(info), err)
	}
	return list.Items, nil
}

func unplaced(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// placeable reports whether a pod could run on one of the nodes once that node is ready: the taints
// that nodes have until then do not count.
func placeable(pod *corev1.Pod, nodes []corev1.Node) bool {
	for i := range nodes {
		if labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(nodes[i].Labels)) && tolerated(pod, nodes[i].Spec.Taints) {
			return true
		}
	}
	return false
}

func tolerated(pod *corev1.Pod, taints []corev1.Taint) bool {
	for _, taint := range taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || passingTaint(taint.Key) {
			continue
		}
		suffered := false
		for _, toleration := range pod.Spec.Tolerations {
			suffered = suffered || toleration.ToleratesTaint(&taint)
		}
		if !suffered {
			return false
		}
	}
	return true
}

// passingTaint reports whether a taint disappears when its node is ready.
func passingTaint(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/") ||
		strings.HasPrefix(key, "node.cluster.x-k8s.io/")
}
