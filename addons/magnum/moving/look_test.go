package moving

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAClusterWithoutOurKinds is told by the name of the kind.
func TestAClusterWithoutOurKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, is := o.(*v1alpha1.ClusterTemplate); is {
			kind := v1alpha1.GroupVersion().WithKind("ClusterTemplate")
			return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
		}
		return c.Get(ctx, key, o, opts...)
	}})
	_, err := New(t.Context(), w.db, w.site())
	if want := "it has no ClusterTemplate of " + v1alpha1.GroupVersion().String(); err == nil || !strings.Contains(err.Error(), want) || fault.Remedy(err) == "" {
		t.Errorf("%v, not %q", err, want)
	}
}
