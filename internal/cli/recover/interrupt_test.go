package recover

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// interrupting is a sink that interrupts as soon as something is waited for.
type interrupting func()

func (f interrupting) Emit(e event.Event) {
	if e.State == event.Waiting {
		f()
	}
}

// TestAnInterruptedRestoreStartsTheControllersAgain: other clusters need them.
func TestAnInterruptedRestoreStartsTheControllersAgain(t *testing.T) {
	t.Parallel()
	magnum := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "slipway-system", "name": "magnum"},
		"spec": map[string]any{"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "magnum"}}}}}
	on, err := kube.New(recoverytest.Serve(t, magnum).Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &reversal{rebuild: &rebuild{plan: &recovery.Plan{}}, on: on, lost: []*recovery.Plan{{}}}
	if _, err := r.restoreLost(ctx, event.Start(interrupting(cancel), "restore", "restoring clusters")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	client, err := on.Resource(magnum)
	if err != nil {
		t.Fatal(err)
	}
	now, err := client.Get(t.Context(), "magnum", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(now.Object, "spec", "replicas"); n != 2 || now.GetAnnotations()[recovery.AnnotationHeld] != "" {
		t.Errorf("it has %d replicas and the annotations %v", n, now.GetAnnotations())
	}
}
