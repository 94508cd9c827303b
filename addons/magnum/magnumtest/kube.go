// Package magnumtest has what tests put below the Magnum API: an API server in memory.
package magnumtest

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// NewKube is an API server in memory that does what the endpoint relies on and
// the fake does not: uids, times, generations, and namespaces that must exist.
func NewKube(t testing.TB) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Cluster{}, &v1alpha1.NodeGroup{}).Build()
	return interceptor.NewClient(store, interceptor.Funcs{Create: createLikeServer, Update: updateLikeServer})
}

func createLikeServer(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if namespace := o.GetNamespace(); namespace != "" {
		if err := c.Get(ctx, types.NamespacedName{Name: namespace}, &corev1.Namespace{}); err != nil {
			return apierrors.NewNotFound(corev1.Resource("namespaces"), namespace)
		}
	}
	o.SetUID(types.UID(uuid.NewString()))
	o.SetCreationTimestamp(metav1.Now())
	o.SetGeneration(1)
	return c.Create(ctx, o, opts...)
}

func updateLikeServer(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
	old := o.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), old); err != nil {
		return err
	}
	o.SetGeneration(old.GetGeneration())
	if !reflect.DeepEqual(specOf(old), specOf(o)) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	return c.Update(ctx, o, opts...)
}

func specOf(o client.Object) any {
	spec := reflect.ValueOf(o).Elem().FieldByName("Spec")
	if !spec.IsValid() {
		return nil
	}
	return spec.Interface()
}

// Followed makes informers of a client.
type Followed struct {
	client.WithWatch
	T testing.TB
}

// GetInformer returns a running informer that misses nothing: it returns when
// the watch is up, because the fake has no history.
func (f *Followed) GetInformer(ctx context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	kind, err := apiutil.GVKForObject(o, f.Scheme())
	if err != nil {
		return nil, err
	}
	kind.Kind += "List"
	list := func() client.ObjectList {
		made, err := f.Scheme().New(kind)
		if err != nil {
			f.T.Error(err)
		}
		return made.(client.ObjectList)
	}
	var up sync.Once
	watching := make(chan struct{})
	informer := toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			l := list()
			return l, f.List(ctx, l)
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			w, err := f.Watch(ctx, list())
			up.Do(func() { close(watching) })
			return w, err
		},
	}, o, 0, nil)
	go informer.RunWithContext(ctx)
	<-watching
	return informer, nil
}
