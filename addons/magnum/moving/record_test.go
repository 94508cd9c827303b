package moving

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// adoptUntil adopts with a client that ends before it patches some objects, and checks that.
func (w *world) adoptUntil(p *Plan, ends func(client.Object) bool) {
	w.t.Helper()
	killed, whole := errors.New("killed"), w.client
	w.client = interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if ends(o) {
			return killed
		}
		return c.Patch(ctx, o, patch, opts...)
	}})
	if err := p.Adopt(w.t.Context(), w.site(), func(string, bool) {}); !errors.Is(err, killed) {
		w.t.Fatalf("it ended with %v", err)
	}
	w.client = whole
}

// TestACopyThatIsDeletedBeforeItIsAdopted was never Slipway's, also if there is a record of it:
// the next import copies it again, and a hand-back leaves Magnum's row.
func TestACopyThatIsDeletedBeforeItIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, err := os.ReadFile(filepath.Join("database", "testdata", newestDump))
	w.must(err)
	image, err := database.ParseImage(newestDump, string(text))
	w.must(err)
	w.db = image.Database
	p := w.imported()
	w.adoptUntil(p, func(o client.Object) bool {
		_, template := o.(*v1alpha1.ClusterTemplate)
		_, quota := o.(*v1alpha1.Quota)
		return template || quota
	})
	copies := 0
	for i := range p.Templates {
		if p.Templates[i].Verdict == Adopt {
			copies++
			w.must(w.client.Delete(t.Context(), templateKey(w.db.Templates[i])))
		}
	}
	for i := range p.Quotas {
		if p.Quotas[i].Verdict == Adopt {
			copies++
			w.must(w.client.Delete(t.Context(), quotaKey(w.db.Quotas[i])))
		}
	}
	if copies < 2 {
		t.Fatalf("%d copies were deleted", copies)
	}
	for _, i := range w.back(&server{image: image}, Choices{}).Items {
		if (i.Kind == KindTemplate || i.Kind == KindQuota) && i.Verdict != Magnums {
			t.Errorf("a hand-back of %s %s: %s", i.Kind, i.Name, i.Verdict)
		}
	}
	again := w.plan()
	for i := range p.Templates {
		if again.Templates[i].Verdict != p.Templates[i].Verdict {
			t.Errorf("template %s: %+v", p.Templates[i].Name, again.Templates[i])
		}
	}
	for i := range p.Quotas {
		if again.Quotas[i].Verdict != p.Quotas[i].Verdict {
			t.Errorf("quota of %s: %+v", p.Quotas[i].ProjectID, again.Quotas[i])
		}
	}
}

// TestTheNextRunCompletesRecords of what was adopted.
func TestTheNextRunCompletesRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pending := func() (n int) {
		records, err := w.site().records(t.Context())
		w.must(err)
		for _, k := range records {
			if k.pending() {
				n++
			}
		}
		return n
	}
	w.adoptUntil(w.imported(), func(o client.Object) bool { _, is := o.(*corev1.ConfigMap); return is })
	if pending() < 3 {
		t.Errorf("%d records are pending", pending())
	}
	w.must(w.imported().Adopt(t.Context(), w.site(), func(string, bool) {}))
	if n := pending(); n != 0 {
		t.Errorf("%d records are pending still", n)
	}
}

// TestTheNextCanaryCompletesItsRecord: a run that ended between the hold and the record of its cluster.
func TestTheNextCanaryCompletesItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed, whole := errors.New("killed"), w.client
	one := func() error {
		p := w.plan()
		canary := w.find(p, "shop-prod")
		if canary.Verdict != Adopt && !canary.Unsettled() {
			t.Fatalf("the canary is not taken: %+v", canary.Item)
		}
		if err := p.ImportOne(t.Context(), w.site(), canary, func(string, bool) {}); err != nil {
			return err
		}
		return p.AdoptOne(t.Context(), w.site(), canary, func(string, bool) {})
	}
	w.client = interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if _, is := o.(*corev1.ConfigMap); is {
			return killed
		}
		return c.Patch(ctx, o, patch, opts...)
	}})
	if err := one(); !errors.Is(err, killed) {
		t.Fatalf("the first run ended with %v", err)
	}
	w.client = whole
	before := w.written()
	w.must(one())
	records, err := w.site().records(t.Context())
	w.must(err)
	for key, k := range records {
		if k.pending() {
			t.Errorf("record %s is pending still", key)
		}
	}
	if c := w.find(w.plan(), "shop-prod"); c.Verdict != Ours || c.Unsettled() {
		t.Errorf("afterwards: %+v", c.Item)
	}
	if after := w.written(); !maps.Equal(before, after) {
		t.Errorf("the second run changed what is adopted: %v, then %v", before, after)
	}
}

// TestAnotherQuotaOfTheProject is not the one that Slipway adopted and deleted: an import copies
// it, and a hand-back leaves its row.
func TestAnotherQuotaOfTheProject(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	w.must(w.client.Delete(t.Context(), quotaKey(w.db.Quotas[0])))
	for again, want := range map[bool]struct{ imported, back Verdict }{false: {Ours, Delete}, true: {Adopt, Magnums}} {
		was := w.db.Quotas[0].ID
		if again {
			w.db.Quotas[0].ID += 100
		}
		if q := w.plan().Quotas[0]; q.Verdict != want.imported {
			t.Errorf("made again %t: an import %+v", again, q)
		}
		if i := item(w.back(s, Choices{}), KindQuota, w.db.Quotas[0].Resource); i.Verdict != want.back {
			t.Errorf("made again %t: a hand-back %+v", again, i.Item)
		}
		w.db.Quotas[0].ID = was
	}
}
