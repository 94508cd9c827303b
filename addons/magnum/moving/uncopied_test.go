package moving

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestOneThatCannotBeCopied: a cluster that the API server does not take is left out, and
// the others are adopted. It has no record: it was never Slipway's.
func TestOneThatCannotBeCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := w.client
	w.client = interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if o.GetName() == "twin-aaaaaaaaaaaa" {
			return errors.New("masterCount must be odd")
		}
		return c.Create(ctx, o, opts...)
	}})
	p := w.plan()
	if err := p.Import(t.Context(), w.site(), func(string, bool) {}); err == nil || !strings.Contains(err.Error(), "masterCount must be odd") {
		t.Fatalf("the import says %v", err)
	}
	if err := p.Adopt(t.Context(), w.site(), func(string, bool) {}); err != nil {
		t.Errorf("adopting the others: %v", err)
	}
	c := &v1alpha1.Cluster{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack}, c); err != nil || v1alpha1.Held(c) != "" {
		t.Errorf("another cluster is held by %q, %v", v1alpha1.Held(c), err)
	}
	w.client = whole
	if p = w.plan(); p.Find("twin")[0].Verdict != Adopt && p.Find("twin")[1].Verdict != Adopt {
		t.Errorf("the next time: %+v", p.Find("twin"))
	}
}
