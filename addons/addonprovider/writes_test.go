package addonprovider

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/addonprovider/release"
	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// A cache that lags behind must not make a status of two halves: a phase from
// one step with the condition of another.
func TestACacheThatLagsDoesNotMixSteps(t *testing.T) {
	t.Parallel()
	ctx, scheme := context.Background(), runtime.NewScheme()
	if err := v1alpha1.Builder().AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	first := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"},
		Spec: v1alpha1.HelmReleaseSpec{AddonSpec: v1alpha1.AddonSpec{ClusterName: "c"}}}
	first.Status.Phase = v1alpha1.PhasePending
	live := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(first).WithObjects(first).Build()
	if err := live.Get(ctx, keyOf(first), first); err != nil {
		t.Fatal(err)
	}
	var cache *v1alpha1.HelmRelease
	reads := 0
	cached := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if into, ok := into.(*v1alpha1.HelmRelease); ok {
				cache.DeepCopyInto(into)
				return nil
			}
			return c.Get(ctx, key, into, opts...)
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
	})
	counted := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if _, ok := into.(*unstructured.Unstructured); !ok {
				reads++
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
	r := &reconciler{newAddon: func() addon { return &v1alpha1.HelmRelease{} }, client: cached, live: counted,
		clusters: target.NewClusters(time.Second, 1, 1), identities: newIdentities(),
		work: newWork(nil), memory: newMemory(time.Second), writes: newWrites(),
		events: record.NewFakeRecorder(10)}

	if err := r.identify(ctx, first, nil); err != nil {
		t.Fatal(err)
	}
	cache = first.DeepCopy()
	installing := first.DeepCopy()
	installing.Status.Phase = v1alpha1.PhaseInstalling
	if err := r.saveStatus(ctx, first, installing); err != nil {
		t.Fatal(err)
	}
	r.work.byKey[keyOf(first)] = &job{finished: &outcome{err: &release.Error{Kind: release.KindMissing, Err: context.DeadlineExceeded}}}
	if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: keyOf(first)}); err != nil {
		t.Fatal(err)
	}
	is := &v1alpha1.HelmRelease{}
	if err := live.Get(ctx, keyOf(first), is); err != nil {
		t.Fatal(err)
	}
	if is.Status.Phase != v1alpha1.PhasePending || reads != 1 {
		t.Errorf("phase is %s after %d live reads: %+v", is.Status.Phase, reads, is.Status.Conditions)
	}

	cache = is
	for range 3 {
		if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: keyOf(first)}); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("%d live reads although the cache is current", reads)
	}
}

// The work on an addon that is gone ends, and is forgotten: `clusterctl move` takes finalizers, and
// from then on another provider changes the release.
func TestTheWorkOnAnAddonThatIsGoneEnds(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.Builder().AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	empty, key := fake.NewClientBuilder().WithScheme(scheme).Build(), types.NamespacedName{Namespace: "n", Name: "a"}
	ended := make(chan types.NamespacedName, 1)
	r := &reconciler{newAddon: func() addon { return &v1alpha1.HelmRelease{} }, client: empty, live: empty,
		work: newWork(func(key types.NamespacedName) { ended <- key }), memory: newMemory(time.Second), writes: newWrites()}
	r.work.begin(key, "d", false, func(ctx context.Context, _ *reporter) outcome {
		<-ctx.Done()
		return outcome{err: ctx.Err()}
	})
	again := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	again()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the work goes on")
	}
	again()
	if r.work.take(key) != nil {
		t.Error("what became of the work is kept")
	}
}

// That a release is uninstalled is known of its own addon alone, and for as long as the cache shows
// that: hooks before its deletion must not run again. One that has its name at once, as with
// kubectl replace --force, has a release of its own.
func TestWhoseReleaseIsUninstalled(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.Builder().AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	first := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "1", Finalizers: []string{v1alpha1.Finalizer}}}
	live := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(first).WithObjects(first).Build()
	if err := live.Get(t.Context(), keyOf(first), first); err != nil {
		t.Fatal(err)
	}
	r := &reconciler{client: live, memory: newMemory(time.Second), events: record.NewFakeRecorder(9)}
	r.record(first, &outcome{uninstall: true})
	if err := r.release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	r.memory.fail(keyOf(first), failure{digest: "of the second"})
	if !r.memory.uninstalled(keyOf(first), "1") || r.memory.uninstalled(keyOf(first), "2") {
		t.Error("the release of the first addon is to be gone, and that of the second is not")
	}
}
