package transition_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

type server struct {
	ID      string              `json:"id"`
	Status  string              `json:"status"`
	Pending *transition.Pending `json:"pending"`
}

type cloud struct {
	*store.Store
	servers *store.Table[server]
}

func open(t *testing.T, path string) cloud {
	t.Helper()
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return cloud{s, store.NewTable(s, "servers", func(v server) string { return v.ID })}
}

// run runs transitions until the test or the returned function ends them.
func (c cloud) run(t *testing.T, timing transition.Timing) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		transition.Run(ctx, timing, event.Discard{}, transition.Table[server]{Name: "servers", Store: c.Store, Records: c.servers,
			Pending: func(v server) *transition.Pending { return v.Pending },
			End: func(tx *store.Tx, v server, to string) error {
				v.Status, v.Pending = to, nil
				if to == "BUILT" {
					v.Pending = timing.Start("ACTIVE", time.Hour)
				}
				c.servers.Put(tx, v)
				return nil
			}})
	}()
	return func() { cancel(); <-ended }
}

func (c cloud) put(t *testing.T, v server) {
	t.Helper()
	if err := c.Update(func(tx *store.Tx) error { c.servers.Put(tx, v); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (c cloud) status() (status string) {
	_ = c.View(func(r store.Reader) error {
		v, _ := c.servers.Get(r, "a")
		status = v.Status
		return nil
	})
	return status
}

func (c cloud) wait(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if c.status() == want {
			return
		}
	}
	t.Fatalf("status is %s, want %s", c.status(), want)
}

func TestFactorZeroIsAtOnce(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	timing := transition.Timing{Clock: clock.RealClock{}}
	defer c.run(t, timing)()
	c.put(t, server{ID: "a", Status: "BUILD", Pending: timing.Start("BUILT", time.Hour)})
	c.wait(t, "ACTIVE") // two steps, each of an hour
}

func TestTakesItsTime(t *testing.T) {
	t.Parallel()
	fake := testingclock.NewFakeClock(time.Now())
	c := open(t, "")
	timing := transition.Timing{Clock: fake, Factor: 2}
	defer c.run(t, timing)()
	c.put(t, server{ID: "a", Status: "BUILD", Pending: timing.Start("ACTIVE", time.Minute)})
	time.Sleep(20 * time.Millisecond)
	fake.Step(119 * time.Second)
	time.Sleep(20 * time.Millisecond)
	if got := c.status(); got != "BUILD" {
		t.Fatalf("status is %s one second too early", got)
	}
	for end := time.Now().Add(30 * time.Second); c.status() != "ACTIVE"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never ended")
		}
		fake.Step(time.Second)
	}
}

func TestGoesOnAfterRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	fake := testingclock.NewFakeClock(time.Now())
	timing := transition.Timing{Clock: fake, Factor: 1}
	first := open(t, path)
	stop := first.run(t, timing)
	first.put(t, server{ID: "a", Status: "BUILD", Pending: timing.Start("ACTIVE", time.Minute)})
	stop()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	fake.Step(2 * time.Minute)
	second := open(t, path)
	defer second.Close()
	defer second.run(t, timing)()
	second.wait(t, "ACTIVE")
}
