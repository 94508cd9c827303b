package addonprovider

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
