package restore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// oneCluster: a tenant's namespace was deleted by mistake; the other's stays as it is.
func oneCluster(t *testing.T, config *rest.Config) {
	on := cluster(t, config, nil)
	g := recoverytest.New("one", "two")
	p := plan(t, g)
	if _, err := (Restorer{To: on}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	other := versions(t, on, plan(t, recoverytest.New("two")))
	g = snapshotOf(t, on, g, p)
	wipe(t, on, plan(t, recoverytest.New("one")), "one")
	one, err := recovery.NewPlan(g.Snapshot, recovery.Scope{Cluster: "one"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Restorer{To: on}.Run(t.Context(), one)
	if err != nil || result.Created != p.Objects()/2 || result.Kept != 0 {
		t.Errorf("result %+v of %d, %v", result, p.Objects()/2, err)
	}
	proved(t, evidence(t, on, g, one))
	now := versions(t, on, one)
	for object, version := range other {
		if strings.Contains(object, " two") && now[object] != version {
			t.Errorf("%s was changed", object)
		}
	}
	// One object of it was deleted by mistake: the others are the originals, and stay.
	g = snapshotOf(t, on, g, p)
	before := versions(t, on, one)
	remove(t, on, g.Find("OpenStackServer", "one-md-1"))
	if one, err = recovery.NewPlan(g.Snapshot, recovery.Scope{Cluster: "one"}); err != nil {
		t.Fatal(err)
	}
	if result, err = (Restorer{To: on}).Run(t.Context(), one); err != nil || result.Created != 1 || result.Statuses != 1 {
		t.Errorf("one object: %+v, %v", result, err)
	}
	for object, version := range versions(t, on, one) {
		if before[object] != version && !strings.HasSuffix(object, "OpenStackServer one/one-md-1") {
			t.Errorf("%s was changed", object)
		}
	}
	wipe(t, on, p, "one", "two")
}

// letGo releases what was restored, and holds it again.
func letGo(t *testing.T, config *rest.Config) {
	on := cluster(t, config, nil)
	g := recoverytest.New("h")
	p := plan(t, g)
	if _, err := (Restorer{To: on}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	each := func(do func(context.Context, *kube.Cluster, *unstructured.Unstructured) error) {
		t.Helper()
		for _, step := range p.Steps {
			for _, o := range step {
				if err := do(t.Context(), on, o); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	heldNow := func() (names []string) {
		for _, o := range evidence(t, on, g, p).Live {
			if recovery.Held(o) {
				names = append(names, recovery.Describe(o))
			}
		}
		slices.Sort(names)
		return names
	}
	want := []string{"Cluster h/h", "HelmRelease h/h-cni"}
	if got := heldNow(); !slices.Equal(got, want) {
		t.Errorf("held: %v", got)
	}
	each(Release)
	if got := heldNow(); len(got) != 0 {
		t.Errorf("held after the release: %v", got)
	}
	before := versions(t, on, p)
	each(Release)
	if !maps.Equal(before, versions(t, on, p)) {
		t.Error("a second release changed something")
	}
	each(Pause)
	if got := heldNow(); !slices.Equal(got, want) {
		t.Errorf("held again: %v", got)
	}
	wipe(t, on, p, "h")
}

// controllers are scaled to zero and back to what they were.
func controllers(t *testing.T, config *rest.Config) {
	on := cluster(t, config, nil)
	replicas := map[string]int32{"orc-system": 1, "capi-janitor-system": 2, "capo-system": 1}
	for namespace, n := range replicas {
		labels := map[string]string{"app": "c"}
		if _, err := on.Typed.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := on.Typed.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: appsv1.DeploymentSpec{Replicas: &n,
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	now := func() map[string]int32 {
		all := map[string]int32{}
		for namespace := range replicas {
			d, err := on.Typed.AppsV1().Deployments(namespace).Get(t.Context(), "c", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			all[namespace] = *d.Spec.Replicas
		}
		return all
	}
	for range 2 { // also when it is run again
		if n, err := StopControllers(t.Context(), on, func(string) {}); err != nil || n != 2 {
			t.Fatalf("%d, %v", n, err)
		}
		if got := now(); !maps.Equal(got, map[string]int32{"orc-system": 0, "capi-janitor-system": 0, "capo-system": 1}) {
			t.Errorf("stopped: %v", got)
		}
	}
	// No node is there to run them: they are not available, but wanted again.
	ctx, cancel := context.WithCancel(t.Context())
	if err := StartControllers(ctx, on, func(string) { cancel() }); err == nil {
		t.Error("controllers without a node are available")
	}
	if got := now(); !maps.Equal(got, replicas) {
		t.Errorf("started: %v", got)
	}
}

func record(t *testing.T, config *rest.Config) {
	on := cluster(t, config, nil)
	if got, err := Restored(t.Context(), on); err != nil || got != "" {
		t.Errorf("before: %q, %v", got, err)
	}
	for _, backup := range []string{"one", "two"} {
		if err := Record(t.Context(), on, backup); err != nil {
			t.Fatal(err)
		}
		if got, err := Restored(t.Context(), on); err != nil || got != backup {
			t.Errorf("%q, %v", got, err)
		}
	}
}
