package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// errIll is an answer of the API server that no controller expects.
var errIll = errors.New("the API server is ill")

// ill fails the nth call of the API server, and knows which it was.
type ill struct {
	nth, calls int
	failed     string
}

func (i *ill) call(verb string, o any, do func() error) error {
	if i.calls++; i.calls != i.nth {
		return do()
	}
	i.failed = fmt.Sprintf("%s %T", verb, o)
	if o, ok := o.(client.Object); ok {
		i.failed += " " + o.GetObjectKind().GroupVersionKind().Kind
	}
	return errIll
}

func (i *ill) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return i.call("get", o, func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			return i.call("list", o, func() error { return c.List(ctx, o, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return i.call("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return i.call("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return i.call("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return i.call("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
			return i.call("delete all", o, func() error { return c.DeleteAllOf(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return i.call("patch "+name, o, func() error { return c.SubResource(name).Patch(ctx, o, p, opts...) })
		},
	}
}

// Whatever the API server fails, the controllers come again: a fault that is lost would leave the
// cluster as it is until somebody writes it.
func TestEveryFaultOfTheAPIServerIsTold(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T) *harness{
		"new": func(t *testing.T) *harness { return start(t, func(c *v1alpha1.Cluster) { c.Finalizers = nil }) },
		"growing": func(t *testing.T) *harness {
			h := ready(t)
			h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount++ })
			return h
		},
		"upgrading": func(t *testing.T) *harness {
			h := ready(t)
			h.edit(func(c *v1alpha1.Cluster) {
				c.Spec.TemplateRef.Name, c.Spec.Resolved = "t35", resolved("image-35", "1.35.1")
			})
			return h
		},
		"leaving": func(t *testing.T) *harness { h := ready(t); h.delete(); return h },
		"gone":    func(t *testing.T) *harness { h := ready(t); h.delete(); h.pass(); return h },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth := 1; ; nth++ {
				h, server := prepare(t), &ill{nth: nth}
				h.intercept(server.funcs())
				_, err := h.reconcile()
				if server.failed == "" {
					break
				}
				if !errors.Is(err, errIll) {
					t.Errorf("call %d, %s: %v", nth, server.failed, err)
				}
			}
		})
	}
}
