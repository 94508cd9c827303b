package drivers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// plain is a driver that only notes machines.
type plain struct {
	*machine.None
	ended bool
}

func (p *plain) Has(id string) bool {
	state, _ := p.State(context.Background(), id)
	return state != machine.Gone
}
func (p *plain) End(context.Context) error { p.ended = true; return nil }
func (p *plain) Restore() error            { return nil }

// rich is one that can do more, and notes what it was told.
type rich struct {
	plain
	told []string
}

func (r *rich) Pause(_ context.Context, id string) error {
	r.told = append(r.told, "pause "+id)
	return nil
}
func (r *rich) Unpause(context.Context, string) error { return nil }
func (r *rich) Resize(_ context.Context, spec machine.Spec) error {
	r.told = append(r.told, "resize "+spec.ID)
	return nil
}
func (r *rich) Users(volume string) ([]string, error) {
	if volume == "used" {
		return []string{"v"}, nil
	}
	return nil, nil
}
func (r *rich) Grow(_ context.Context, id, volume string, size int64) error {
	r.told = append(r.told, fmt.Sprintf("grow %s %s %d", id, volume, size))
	return nil
}

func mixed(t *testing.T) (*Host, *plain, *rich) {
	t.Helper()
	dir := t.TempDir()
	place, err := site.Open(site.Options{Dir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	c, v := &plain{None: machine.NewNone()}, &rich{plain: plain{None: machine.NewNone()}}
	return New(place, "container", map[string]Driver{"container": c, "qemu": v}), c, v
}

func TestMachinesHaveTheDriverThatTheyAskFor(t *testing.T) {
	t.Parallel()
	host, c, v := mixed(t)
	m, ctx := host.Machines(), t.Context()
	if err := errors.Join(m.Create(ctx, machine.Spec{ID: "c"}), m.Create(ctx, machine.Spec{ID: "v", Driver: "qemu"}),
		m.Create(ctx, machine.Spec{ID: "v"})); err != nil { // again, when the flavor has changed
		t.Fatal(err)
	}
	if !c.Has("c") || c.Has("v") || !v.Has("v") || v.Has("c") || host.Name() != "container" {
		t.Error("machines are with the wrong driver")
	}
	ids, err := m.List(ctx)
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"c", "v"}) {
		t.Errorf("%v, %v", ids, err)
	}
	var refused *machine.Refusal
	if err := m.Create(ctx, machine.Spec{ID: "x", Driver: "xen"}); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "container, qemu") {
		t.Errorf("%v", err)
	}
	if err := m.Stop(ctx, "v"); err != nil {
		t.Fatal(err)
	}
	if state, err := m.State(ctx, "v"); err != nil || state != machine.Stopped {
		t.Errorf("%s, %v", state, err)
	}
	if state, err := m.State(ctx, "nobody"); err != nil || state != machine.Gone {
		t.Errorf("%s, %v", state, err)
	}
	if err := m.Delete(ctx, "v"); err != nil || v.Has("v") || !c.Has("c") {
		t.Errorf("after the deletion of one: %v", err)
	}
}

// What only one driver can do is done by that one alone.
func TestWhatDriversCanDo(t *testing.T) {
	t.Parallel()
	host, _, v := mixed(t)
	ctx := t.Context()
	m := host.Machines().(machines)
	if err := errors.Join(m.Create(ctx, machine.Spec{ID: "c"}), m.Create(ctx, machine.Spec{ID: "v", Driver: "qemu"}),
		m.Pause(ctx, "c"), m.Pause(ctx, "v"), m.Unpause(ctx, "c"), m.Resize(ctx, machine.Spec{ID: "c"}), m.Resize(ctx, machine.Spec{ID: "v", Driver: "qemu"})); err != nil {
		t.Fatal(err)
	}
	if err := m.Resize(ctx, machine.Spec{ID: "c", Driver: "qemu"}); err == nil {
		t.Error("a container becomes a virtual machine")
	}
	if _, err := m.Snapshot(ctx, "c"); !errors.Is(err, machine.ErrNoDisk) {
		t.Errorf("%v", err)
	}
	if want := []string{"pause v", "resize v"}; !slices.Equal(v.told, want) {
		t.Errorf("told %v, want %v", v.told, want)
	}
}

func TestVolumesOfMachines(t *testing.T) {
	t.Parallel()
	host, c, v := mixed(t)
	ctx := t.Context()
	all := host.Volumes()
	for _, id := range []string{"used", "free"} {
		if err := errors.Join(all.CreateVolume(ctx, machine.Volume{ID: id, GiB: 1}), all.ExtendVolume(ctx, id, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"grow v used 3221225472"}; !slices.Equal(v.told, want) {
		t.Errorf("told %v, want %v", v.told, want)
	}
	if err := all.DeleteVolume(ctx, "used"); err == nil || !strings.Contains(err.Error(), "server v") {
		t.Errorf("a volume that a machine has is deleted: %v", err)
	}
	if err := all.DeleteVolume(ctx, "free"); err != nil {
		t.Error(err)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	if c.ended || v.ended {
		t.Error("Close ends machines")
	}
}
