package lifecycle

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// A machine that is set aside comes back with its disk, whatever ran in its place, and
// each step can be repeated.
func TestSetAsideAndBringBack(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	for _, image := range []string{"own", "rescue", "other"} {
		w.images[image] = true
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Create(ctx, machine.Spec{ID: "one", Image: "own", Volumes: []string{"kept", "lost"}}))
	must(os.WriteFile(w.Path("one", "disk"), []byte("data"), 0o600))
	must(w.SetAside(ctx, "one"))
	must(w.SetAside(ctx, "one"))
	w.expect(t, "one", machine.Gone)
	if ids, err := w.List(ctx); err != nil || !slices.Equal(ids, []string{"one"}) || !w.Has("one") {
		t.Errorf("its machine is not found any more: %v, %v", ids, err)
	}
	must(w.Create(ctx, machine.Spec{ID: "one", Image: "rescue"}))
	must(w.SetAside(ctx, "one")) // as after a crash
	if _, err := os.Stat(w.Path("one", "disk")); err == nil {
		t.Error("the other machine has the disk")
	}
	must(w.Create(ctx, machine.Spec{ID: "two", Image: "other"}))
	must(w.Delete(ctx, "two"))
	if got := slices.Sorted(maps.Keys(w.images)); !slices.Equal(got, []string{"own", "rescue"}) {
		t.Errorf("images %v", got)
	}
	for range 2 {
		must(w.BringBack(ctx, machine.Spec{ID: "one", Volumes: []string{"kept"}}))
		w.expect(t, "one", machine.Stopped)
		data, err := os.ReadFile(w.Path("one", "disk"))
		if s, e := w.Load("one"); err != nil || e != nil || string(data) != "data" || s.Spec.Image != "own" || !slices.Equal(s.Spec.Volumes, []string{"kept"}) {
			t.Fatalf("came back as %+v with %q: %v, %v", s.Spec, data, err, e)
		}
	}
	must(w.SetAside(ctx, "one"))
	must(w.Delete(ctx, "one"))
	if w.Has("one") || len(w.images) > 0 {
		t.Errorf("left of a machine that was deleted while it was set aside: %v", w.images)
	}
}

// A machine that is gone has no disk that could come back.
func TestSetAsideOfNothing(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	if err := w.SetAside(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(ctx, machine.Spec{ID: "one", Image: "rescue"}); err != nil {
		t.Fatal(err)
	}
	if err := w.BringBack(ctx, machine.Spec{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "one", machine.Gone)
}
