package restore

import (
	"context"
	"errors"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// controller is a Deployment of a namespace.
func controller(namespace string, replicas int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": namespace, "name": "c"},
		"spec": map[string]any{"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": "c"}}}}}
}

// replicas are those of controllers by their namespace; one that is held is not among them.
func replicas(t *testing.T, on *kube.Cluster) map[string]int64 {
	t.Helper()
	found, err := deployments(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, d := range found {
		if d.GetAnnotations()[recovery.AnnotationHeld] == "" {
			all[d.GetNamespace()], _, _ = unstructured.NestedInt64(d.Object, "spec", "replicas")
		}
	}
	return all
}

// TestControllersRunAgain, as many as there were, whatever becomes of the run that has stopped
// them.
func TestControllersRunAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		// pod is one that does not end.
		pod bool
		run func(ctx context.Context, interrupt func(), on *kube.Cluster) error
		err error
	}{
		"interrupted at work": {false, func(ctx context.Context, interrupt func(), on *kube.Cluster) error {
			return WithoutControllers(ctx, on, func(string) {}, func(context.Context) error { interrupt(); return nil })
		}, context.Canceled},
		"interrupted before": {true, func(ctx context.Context, interrupt func(), on *kube.Cluster) error {
			return WithoutControllers(ctx, on, func(string) { interrupt() }, func(context.Context) error { return broken })
		}, context.Canceled},
		"failed": {false, func(ctx context.Context, _ func(), on *kube.Cluster) error {
			return WithoutControllers(ctx, on, func(string) {}, func(context.Context) error { return broken })
		}, broken},
		"killed": {false, func(ctx context.Context, _ func(), on *kube.Cluster) error {
			if _, err := StopControllers(ctx, on, func(string) {}); err != nil {
				return err
			}
			return Revive(ctx, on)
		}, nil},
		"killed, and interrupted the next time": {false, func(ctx context.Context, interrupt func(), on *kube.Cluster) error {
			if _, err := StopControllers(ctx, on, func(string) {}); err != nil {
				return err
			}
			interrupt()
			return Revive(ctx, on)
		}, nil},
		"killed twice": {false, func(ctx context.Context, _ func(), on *kube.Cluster) error {
			if _, err := StopControllers(ctx, on, func(string) {}); err != nil {
				return err
			}
			return WithoutControllers(ctx, on, func(string) {}, func(context.Context) error { return broken })
		}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []*unstructured.Unstructured{controller("orc-system", 1), controller("slipway-system", 2)}
			if test.pod {
				objects = append(objects, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "orc-system", "name": "c-x"}}})
			}
			on := cluster(t, recoverytest.Serve(t, objects...).Config, nil)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			if err := test.run(ctx, interrupt, on); !errors.Is(err, test.err) {
				t.Errorf("the error is %v", err)
			}
			if got := replicas(t, on); !maps.Equal(got, map[string]int64{"orc-system": 1, "slipway-system": 2}) {
				t.Errorf("afterwards there are %v", got)
			}
		})
	}
}

// TestControllersThatWereStartedMeanwhile, as slipway up does after a run that was killed, are
// stopped again, and get back the replicas of that.
func TestControllersThatWereStartedMeanwhile(t *testing.T) {
	t.Parallel()
	on := cluster(t, recoverytest.Serve(t, controller("orc-system", 1)).Config, nil)
	stop := func() {
		t.Helper()
		if n, err := StopControllers(t.Context(), on, func(string) {}); err != nil || n != 1 {
			t.Fatalf("%d, %v", n, err)
		}
	}
	stop()
	client, err := on.Resource(controller("orc-system", 0))
	if err != nil {
		t.Fatal(err)
	}
	now, err := client.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(now.Object, int64(3), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()
	if now, err = client.Get(t.Context(), "c", metav1.GetOptions{}); err != nil || !recovery.Held(now) {
		t.Errorf("it runs: %v, %v", now, err)
	}
	if err := Revive(t.Context(), on); err != nil {
		t.Fatal(err)
	}
	if got := replicas(t, on); !maps.Equal(got, map[string]int64{"orc-system": 3}) {
		t.Errorf("afterwards there are %v", got)
	}
}
