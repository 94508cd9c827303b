package kube

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func pod(age time.Duration, edit func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "capi-system", Name: "capi-1", CreationTimestamp: metav1.NewTime(now.Add(-age))}}
	edit(p)
	return p
}

func waiting(reason, message string, restarts int32, exit int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := corev1.ContainerStatus{Name: "manager", Image: "example.org/capi:v1", RestartCount: restarts,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
		if exit != 0 {
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: exit, Message: "flag provided but not defined"}
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{s}
	}
}

func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient memory."}}
}

func tainted(p *corev1.Pod) {
	unschedulable(p)
	p.Status.Conditions[0].Message = "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }. preemption: not eligible"
}

func serves(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pods     []*corev1.Pod
		want     string
		hopeless bool
	}{
		"crash loop":         {[]*corev1.Pod{pod(time.Minute, waiting("CrashLoopBackOff", "back-off", 5, 2))}, "container manager: CrashLoopBackOff: restarted 5 times, last with exit code 2 flag provided", true},
		"first crash":        {[]*corev1.Pod{pod(time.Minute, waiting("CrashLoopBackOff", "back-off", 1, 2))}, "CrashLoopBackOff", false},
		"image missing":      {[]*corev1.Pod{pod(2*time.Minute, waiting("ImagePullBackOff", "not found", 0, 0))}, "example.org/capi:v1 not found", true},
		"image just missing": {[]*corev1.Pod{pod(time.Second, waiting("ErrImagePull", "not found", 0, 0))}, "ErrImagePull", false},
		"slow runtime":       {[]*corev1.Pod{pod(9*time.Minute, waiting("CreateContainerError", "context deadline exceeded", 0, 0))}, "CreateContainerError", false},
		"no such command":    {[]*corev1.Pod{pod(9*time.Minute, waiting("CreateContainerError", "no command specified", 0, 0))}, "no command specified", true},
		"unschedulable":      {[]*corev1.Pod{pod(2*time.Minute, unschedulable)}, "Insufficient memory", true},
		"node not ready":     {[]*corev1.Pod{pod(9*time.Minute, tainted)}, "not-ready", false},
		"just created":       {[]*corev1.Pod{pod(time.Second, waiting("ContainerCreating", "", 0, 0))}, "", false},
		"worst first":        {[]*corev1.Pod{pod(time.Second, waiting("ErrImagePull", "x", 0, 0)), pod(2*time.Minute, unschedulable)}, "Insufficient memory", true},
		"going away":         {[]*corev1.Pod{pod(2*time.Minute, func(p *corev1.Pod) { unschedulable(p); p.DeletionTimestamp = &metav1.Time{Time: now} })}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := causes(&appsv1.Deployment{}, test.pods, now)
			switch {
			case test.want == "" && len(got) == 0:
			case len(got) == 0 || test.want == "" || !strings.Contains(got[0].String(), test.want) || got[0].Hopeless != test.hopeless:
				t.Errorf("got %+v, want %q (hopeless %v)", got, test.want, test.hopeless)
			}
		})
	}
}

func TestRefusedPodsAreACause(t *testing.T) {
	t.Parallel()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d"}}
	for message, hopeless := range map[string]bool{
		`pods "d-1" is forbidden: exceeded quota`:                                                true,
		"Timeout: request did not complete within requested timeout - context deadline exceeded": false, // a busy API server
		`failed calling webhook "x": dial tcp 10.43.0.9:443: connect: connection refused`:        false,
	} {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			Message: message, LastTransitionTime: metav1.NewTime(now.Add(-2 * time.Minute))}}
		got := causes(d, nil, now)
		if len(got) != 1 || got[0].Hopeless != hopeless || !strings.Contains(got[0].String(), message) {
			t.Errorf("%s: got %+v", message, got)
		}
	}
}

func TestAvailableCountsOnlyTheCurrentSpec(t *testing.T) {
	t.Parallel()
	status := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	for name, test := range map[string]struct {
		edit func(*appsv1.Deployment)
		pods []*corev1.Pod
		want bool
	}{
		"all there":         {func(*appsv1.Deployment) {}, []*corev1.Pod{pod(0, serves)}, true},
		"not yet observed":  {func(d *appsv1.Deployment) { d.Generation = 3 }, []*corev1.Pod{pod(0, serves)}, false},
		"old pod remains":   {func(d *appsv1.Deployment) { d.Status.Replicas = 2 }, []*corev1.Pod{pod(0, serves)}, false},
		"none available":    {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 }, []*corev1.Pod{pod(0, serves)}, false},
		"three are wanted":  {func(d *appsv1.Deployment) { n := int32(3); d.Spec.Replicas = &n }, []*corev1.Pod{pod(0, serves)}, false},
		"the pod is not":    {func(*appsv1.Deployment) {}, []*corev1.Pod{pod(0, unschedulable)}, false},
		"the pod goes away": {func(*appsv1.Deployment) {}, []*corev1.Pod{pod(0, func(p *corev1.Pod) { serves(p); p.DeletionTimestamp = &metav1.Time{Time: now} })}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: status}
			test.edit(d)
			if got := available(d, test.pods); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
