package kube

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Cause is why something does not become ready.
type Cause struct {
	// Object is the object at fault: "Pod capi-system/capi-…, container manager".
	Object string
	// Reason and Message come from Kubernetes.
	Reason, Message string
	// Hopeless is set if waiting alone does not help.
	Hopeless bool
	// Restarted names the container whose log is worth reading.
	Namespace, Pod, Container string
}

// String is the cause in one line.
func (c Cause) String() string {
	text := c.Object + ": " + c.Reason
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

const (
	// crashes is the number of restarts from which on a container counts as crashing:
	// providers exit once or twice if their webhooks' certificates are late.
	crashes = 4
	// stuck is how long a pod may wait for a node or an image before the wait counts as
	// hopeless.
	// A wait ends within 45 s of a cause that does not pass.
	stuck = 40 * time.Second
)

// available reports whether a Deployment has what its current spec asks for, by its
// status and by its pods: while the cluster's controllers start, the status lags
// seconds behind.
func available(d *appsv1.Deployment, pods []*corev1.Pod) bool {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= want &&
		d.Status.AvailableReplicas >= want && d.Status.Replicas == d.Status.UpdatedReplicas && ready(pods) >= want
}

// ready counts the pods that are ready and not being deleted.
func ready(pods []*corev1.Pod) int32 {
	var count int32
	for _, pod := range pods {
		if isReady(pod) {
			count++
		}
	}
	return count
}

// isReady says that a pod is ready and not being deleted.
func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// causes explains why a Deployment is not available, from its pods and its
// conditions, the worst cause first.
func causes(d *appsv1.Deployment, pods []*corev1.Pod, now time.Time) []Cause {
	var hopeless, passing []Cause
	add := func(c Cause) {
		if c.Hopeless {
			hopeless = append(hopeless, c)
		} else {
			passing = append(passing, c)
		}
	}
	for _, condition := range d.Status.Conditions {
		// Set if pods are refused: quota, admission webhooks.
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			add(Cause{Object: "Deployment " + d.Namespace + "/" + d.Name, Reason: condition.Reason, Message: condition.Message,
				Hopeless: now.Sub(condition.LastTransitionTime.Time) > stuck && !overloaded(condition.Message)})
		}
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if c, ok := podCause(pod, now); ok {
			add(c)
		}
	}
	return append(hopeless, passing...)
}

func podCause(pod *corev1.Pod, now time.Time) (Cause, bool) {
	name := "Pod " + pod.Namespace + "/" + pod.Name
	age := now.Sub(pod.CreationTimestamp.Time)
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return Cause{Object: name, Reason: condition.Reason, Message: condition.Message, Hopeless: age > stuck && !nodeStarts(condition.Message)}, true
		}
	}
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, status := range statuses {
		waiting := status.State.Waiting
		if waiting == nil || waiting.Reason == "PodInitializing" || waiting.Reason == "ContainerCreating" {
			continue
		}
		c := Cause{Object: name + ", container " + status.Name, Reason: waiting.Reason, Message: waiting.Message,
			Namespace: pod.Namespace, Pod: pod.Name}
		switch waiting.Reason {
		case "CrashLoopBackOff", "RunContainerError":
			c.Hopeless, c.Container = status.RestartCount >= crashes, status.Name
			c.Message = ended(status)
		case "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull":
			c.Message = strings.TrimSpace(status.Image + " " + waiting.Message)
			c.Hopeless = age > stuck
		case "InvalidImageName", "CreateContainerConfigError", "CreateContainerError":
			c.Hopeless = age > stuck && !slowRuntime(waiting.Message)
		}
		return c, true
	}
	if pod.Status.Phase == corev1.PodPending && age > stuck {
		return Cause{Object: name, Reason: "Pending", Message: fmt.Sprintf("for %s; its volumes or its network are not ready", age.Round(time.Second))}, true
	}
	return Cause{}, false
}

// overloaded tells whether a pod was not created because the API server, or a webhook that it asks, did
// not answer in time. The controller tries again: on an emulated machine this takes minutes.
func overloaded(message string) bool {
	return slices.ContainsFunc([]string{"did not complete within", "context deadline exceeded", "request timed out", "connection refused", "the object has been modified", "is currently unable to handle"},
		func(part string) bool { return strings.Contains(message, part) })
}

// nodeStarts tells whether a node is only not ready yet, or not ready for a while, as when its
// kubelet is too slow for its lease. It has these taints until it is.
func nodeStarts(message string) bool {
	return strings.Contains(message, corev1.TaintNodeNotReady) || strings.Contains(message, corev1.TaintNodeUnreachable) || strings.Contains(message, corev1.TaintNodeNetworkUnavailable)
}

// slowRuntime tells whether the kubelet only gave up waiting for the container runtime: it
// tries again, and the runtime goes on meanwhile with what it had begun. An emulated
// machine that unpacks images was seen to take more than the kubelet's two minutes.
func slowRuntime(message string) bool {
	return strings.Contains(message, "context deadline exceeded") || strings.Contains(message, "is reserved for")
}

// ended is how a container ended last.
func ended(status corev1.ContainerStatus) string {
	last := status.LastTerminationState.Terminated
	if last == nil {
		return fmt.Sprintf("restarted %d times", status.RestartCount)
	}
	return strings.TrimSpace(fmt.Sprintf("restarted %d times, last with exit code %d %s", status.RestartCount, last.ExitCode, last.Message))
}
