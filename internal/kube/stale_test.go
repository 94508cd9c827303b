package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// runs is a pod of node seed whose status says that it runs in the container.
func runs(name, container string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "capi-system", Name: name}, Spec: corev1.PodSpec{NodeName: "seed"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager", ContainerID: "containerd://" + container,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return p
}

// TestPodsOfAnEarlierMachineAreWaitedFor gives a node the data of another: one
// pod's container runs, two are of the machine that is gone, until the kubelet
// starts the one anew and the other is deleted.
func TestPodsOfAnEarlierMachineAreWaitedFor(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(runs("kept", "a"), runs("restarted", "b"), runs("deleted", "c"))
	cluster := &Cluster{Typed: client}
	pods := client.CoreV1().Pods("capi-system")
	here := func(context.Context) ([]string, error) { return []string{"a"}, nil }

	short, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("not in time"))
	defer cancel()
	err := cluster.AwaitStatus(short, "seed", here)
	if err == nil || !strings.Contains(err.Error(), "not in time") || !strings.Contains(err.Error(), "pods capi-system/deleted, capi-system/restarted yet") {
		t.Errorf("before: %v", err)
	}
	// The fake tells a watch only what changes after it began.
	watched := make(chan struct{}, 1)
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		watched <- struct{}{}
		return false, nil, nil
	})
	done := make(chan error, 1)
	go func() { done <- cluster.AwaitStatus(t.Context(), "seed", here) }()
	<-watched
	if _, err := pods.Update(t.Context(), runs("restarted", "d"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("ended before the last pod was looked at: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := pods.Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waiting, without a stale pod")
	}
}

// TestNoPodIsWaitedForWhereAllRun wants no watch on a node that only goes on,
// and the runtime's own error told.
func TestNoPodIsWaitedForWhereAllRun(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(runs("kept", "a"))
	cluster := &Cluster{Typed: client}
	if err := cluster.AwaitStatus(t.Context(), "seed", func(context.Context) ([]string, error) { return []string{"z", "a"}, nil }); err != nil {
		t.Error(err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "watch" {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource())
		}
	}
	broken := errors.New("no runtime")
	if err := cluster.AwaitStatus(t.Context(), "seed", func(context.Context) ([]string, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
