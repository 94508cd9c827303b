package kubernetes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/kube"
)

// TestTheConsoleIsRemoved: its namespace goes, at its own pace; what keeps it is told.
func TestTheConsoleIsRemoved(t *testing.T) {
	t.Parallel()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: controllers.ConsoleNamespace}}
	client := fake.NewClientset(space)
	on := &kube.Cluster{Typed: client}
	space.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating, Conditions: []corev1.NamespaceCondition{
		{Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionTrue, Message: "service.kubernetes.io/load-balancer-cleanup in 1 resource instances"}}}
	looks := 0
	client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		looks++
		return looks < 3, space, nil
	})
	told := ""
	if err := removeConsole(t.Context(), on, time.Millisecond, func(text string) { told = text }); err != nil || looks != 3 || !strings.Contains(told, "load balancer") {
		t.Errorf("%v after %d looks; told %q", err, looks, told)
	}
	if err := removeConsole(t.Context(), on, time.Millisecond, func(string) {}); err != nil {
		t.Errorf("a second time: %v", err)
	}
	client = fake.NewClientset(space)
	client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, apiruntime.Object, error) { return true, space, nil })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if err := removeConsole(ctx, &kube.Cluster{Typed: client}, time.Hour, func(string) {}); err == nil || !strings.Contains(err.Error(), "load-balancer-cleanup") || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("a namespace that stays: %v", err)
	}
}
