package moving

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// has reports whether an object is there.
func (w *world) has(o client.Object) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err == nil
}

// TestGoneTemplatesAndQuotas: copies of templates and quotas that Magnum deleted go with the
// next import, but for templates that a cluster names.
func TestGoneTemplatesAndQuotas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unused := w.db.Templates[0]
	unused.ID, unused.UUID, unused.Name = 99, "0b7a9e0c-0d3c-4a51-8a41-0000000000ff", "unused"
	w.db.Templates = append(w.db.Templates, unused)
	w.imported()
	quota, used := w.db.Quotas[0], w.db.Templates[0]
	if !w.has(templateKey(unused)) || !w.has(templateKey(used)) || !w.has(quotaKey(quota)) {
		t.Fatal("there are no copies")
	}
	w.db.Templates, w.db.Quotas = nil, nil
	p := w.imported()
	if w.has(templateKey(unused)) || w.has(quotaKey(quota)) {
		t.Error("their copies stay")
	}
	if !w.has(templateKey(used)) || !slices.Contains(p.GoneTemplates, v1alpha1.Namespace(unused.ProjectID)+"/"+unused.UUID) || len(p.GoneQuotas) != 1 {
		t.Errorf("gone: %v, %v", p.GoneTemplates, p.GoneQuotas)
	}
}

// TestACopyThatIsAdoptedMeanwhile is not removed: its machines would go with it.
func TestACopyThatIsAdoptedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.imported()
	const name = "twin-aaaaaaaaaaaa"
	w.db.Clusters = w.db.Clusters[:3] // without the twins
	whole, adopted := w.client, false
	w.client = interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		err := c.Get(ctx, key, o, opts...)
		if read, is := o.(*v1alpha1.Cluster); is && err == nil && key.Name == name && !adopted {
			adopted = true
			theirs := read.DeepCopy()
			theirs.Annotations = nil
			controllerutil.AddFinalizer(theirs, v1alpha1.FinalizerCluster)
			return c.Update(ctx, theirs)
		}
		return err
	}})
	if err := w.plan().Import(t.Context(), w.site(), func(string, bool) {}); !apierrors.IsConflict(err) {
		t.Errorf("the import says %v", err)
	}
	c := &v1alpha1.Cluster{}
	if err := whole.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(other), Name: name}, c); err != nil || !adopted || c.DeletionTimestamp != nil {
		t.Errorf("adopted %t, being deleted since %v, %v", adopted, c.DeletionTimestamp, err)
	}
}
