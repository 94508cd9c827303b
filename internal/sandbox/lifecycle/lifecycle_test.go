package lifecycle

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// world is what machines of the test share.
type world struct {
	*Servers[*box]
	mu      sync.Mutex
	runs    map[string]bool
	fails   map[string]error // by step and id
	images  map[string]bool
	dropped int
}

// box is a machine that only notes whether it runs.
type box struct {
	world *world
	Spec  machine.Spec
}

func (b *box) ID() string           { return b.Spec.ID }
func (b *box) ImageName() string    { return b.Spec.Image }
func (b *box) LocalDisks() []string { return nil }
func (b *box) Fit(spec machine.Spec) {
	b.Spec.Volumes = spec.Volumes
}
func (b *box) Instance() metadata.Instance {
	return metadata.Instance{ID: b.Spec.ID, Name: b.Spec.Name, Ports: b.Spec.Ports}
}

func (b *box) step(name string, runs bool) error {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if err := b.world.fails[name+" "+b.Spec.ID]; err != nil {
		return err
	}
	b.world.runs[b.Spec.ID] = runs
	return nil
}

func (b *box) Make(_ context.Context, spec machine.Spec) error {
	b.Spec = spec
	if err := os.MkdirAll(b.world.Path(spec.ID, ""), 0o700); err != nil {
		return err
	}
	if err := b.step("make", false); err != nil {
		return err
	}
	return b.world.Save(b)
}
func (b *box) Start(context.Context) error         { return b.step("start", true) }
func (b *box) Stop(context.Context, bool) error    { return b.step("stop", false) }
func (b *box) Release(context.Context, bool) error { return b.step("release", false) }
func (b *box) State(context.Context) (machine.State, error) {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if b.world.runs[b.Spec.ID] {
		return machine.Running, nil
	}
	return machine.Stopped, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	place, err := site.Open(site.Options{Dir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{runs: map[string]bool{}, fails: map[string]error{}, images: map[string]bool{}}
	w.Servers = &Servers[*box]{
		Site: place, Folder: filepath.Join(dir, "machines"), Record: "box.json",
		New:     func(id string) *box { return &box{world: w, Spec: machine.Spec{ID: id}} },
		Discard: os.RemoveAll,
		DropImages: func(used map[string]bool) error {
			w.dropped++
			maps.DeleteFunc(w.images, func(name string, _ bool) bool { return !used[name] })
			return nil
		},
	}
	if err := os.Mkdir(w.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) expect(t *testing.T, id string, want machine.State) {
	t.Helper()
	if got, err := w.State(t.Context(), id); got != want || err != nil {
		t.Errorf("%s is %s, %v; want %s", id, got, err, want)
	}
}

// A creation that fails at any step goes on when it is called again.
func TestCreateGoesOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, step := range []string{"make", "start"} {
		w, ctx := newWorld(t), t.Context()
		w.fails[step+" one"] = broken
		spec := machine.Spec{ID: "one", Name: "first"}
		if err := w.Create(ctx, spec); !errors.Is(err, broken) {
			t.Fatalf("%s: %v", step, err)
		}
		if !w.Has("one") {
			t.Errorf("%s: nothing is left to be deleted", step)
		}
		clear(w.fails)
		if err := w.Create(ctx, spec); err != nil {
			t.Fatalf("%s, again: %v", step, err)
		}
		w.expect(t, "one", machine.Running)
		if st, err := os.Stat(w.Path("one", "box.json")); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("record, which holds user data: %v, %v", st, err)
		}
	}
}

func TestPowerAndEnd(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	for _, id := range []string{"a", "b"} {
		if err := w.Create(ctx, machine.Spec{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Stop(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a", machine.Stopped)
	if err := errors.Join(w.Start(ctx, "a"), w.Reboot(ctx, "b", true)); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a", machine.Running)
	for _, err := range []error{w.Start(ctx, "none"), w.Stop(ctx, "none"), w.Reboot(ctx, "none", false)} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of a machine that is not there: %v", err)
		}
	}
	broken := errors.New("broken")
	w.fails["release a"] = broken
	if err := os.Mkdir(filepath.Join(w.Folder, "half"), 0o700); err != nil { // made, not recorded
		t.Fatal(err)
	}
	if err := w.End(ctx); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	w.expect(t, "b", machine.Stopped) // the other one has ended all the same
	if err := w.Adopt(); err != nil {
		t.Errorf("adopting after it: %v", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.images["old"], w.images["new"] = true, true
	for id, image := range map[string]string{"a": "old", "b": "new"} {
		if err := w.Create(ctx, machine.Spec{ID: id, Image: image}); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("broken")
	w.fails["release a"] = broken
	if err := w.Delete(ctx, "a"); !errors.Is(err, broken) || !w.Has("a") {
		t.Errorf("%v: what it has on the host could not be found again", err)
	}
	clear(w.fails)
	for range 2 { // once more is no error
		if err := w.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	w.expect(t, "a", machine.Gone)
	if got := slices.Sorted(maps.Keys(w.images)); !slices.Equal(got, []string{"new"}) {
		t.Errorf("images %v", got)
	}
	// A machine of which nothing is known may need any image.
	if err := os.MkdirAll(w.Path("c", ""), 0o700); err != nil {
		t.Fatal(err)
	}
	before := w.dropped
	if err := w.Delete(ctx, "b"); err != nil || w.dropped != before {
		t.Errorf("%v; images were dropped: %t", err, w.dropped != before)
	}
	if got, err := w.List(ctx); err != nil || !slices.Equal(got, []string{"c"}) {
		t.Errorf("left %v, %v", got, err)
	}
	for _, id := range []string{"", ".", "..", "../x", "a/b", ".hidden"} {
		if err := w.Delete(ctx, id); err == nil {
			t.Errorf("%q was taken for the id of a machine", id)
		}
	}
}

// Two operations on one machine never overlap.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	if err := w.Create(ctx, machine.Spec{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	inside := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_ = w.With(ctx, "testing", "one", func(*box) error {
				before := inside
				time.Sleep(time.Millisecond)
				inside = before + 1
				return nil
			})
		})
	}
	all.Wait()
	if inside != 8 {
		t.Errorf("%d of 8", inside)
	}
}
