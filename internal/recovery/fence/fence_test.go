package fence_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// environment makes the security group that up makes.
func environment(t *testing.T, box *sandboxtest.Cloud, name string) fence.Fence {
	t.Helper()
	group(t, box, ownership.New(name, fence.Step))
	return fence.Fence{Network: box.Member.Network(t), Environment: name}
}

// group makes a security group of an environment.
func group(t *testing.T, box *sandboxtest.Cloud, owner ownership.Owner) (id string) {
	t.Helper()
	return groupOf(t, box.Member.Network(t), owner, "theirs")
}

// groupOf makes one in the project of a login, with one more tag.
func groupOf(t *testing.T, client *gophercloud.ServiceClient, owner ownership.Owner, more string) (id string) {
	t.Helper()
	g, err := groups.Create(t.Context(), client, groups.CreateOpts{Name: owner.Name(), Description: owner.Description()}).Extract()
	if err == nil {
		_, err = attributestags.ReplaceAll(t.Context(), client, "security-groups", g.ID, attributestags.ReplaceAllOpts{Tags: append(owner.Tags(), more)}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
	return g.ID
}

// TestTheGenerationStaysWithTheEnvironment: security groups of its management cluster have its
// tags, and go when the cluster goes; the generation must not be on one of them.
func TestTheGenerationStaysWithTheEnvironment(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	var clusters []string
	for range 8 { // some have smaller ids than that of the environment
		clusters = append(clusters, group(t, box, ownership.New("demo", "management-cluster")))
	}
	f := environment(t, box, "demo")
	if err := f.Take(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for _, id := range clusters {
		if err := groups.Delete(t.Context(), box.Member.Network(t), id).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Generation(t.Context()); err != nil || got != 3 {
		t.Errorf("without the cluster the generation is %d (%v)", got, err)
	}
}

// TestAnotherProjectClosesNoFence: an administrator sees the groups of all projects, with whatever
// tags they have.
func TestAnotherProjectClosesNoFence(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	owner := ownership.New("demo", fence.Step)
	for range 8 { // some have smaller ids
		groupOf(t, box.Member.Network(t), owner, "slipway:generation=99")
	}
	groupOf(t, box.Admin.Network(t), owner, "slipway:generation=2")
	f := fence.Fence{Network: box.Admin.Network(t), Environment: "demo"}
	if got, err := f.Generation(t.Context()); err != nil || got != 2 {
		t.Errorf("generation %d, %v", got, err)
	}
	if err := f.Check(t.Context(), 2); err != nil {
		t.Errorf("it is closed: %v", err)
	}
}

func TestGenerationsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	f, other := environment(t, box, "demo"), environment(t, box, "demo-2")
	expect := func(f fence.Fence, want int) {
		t.Helper()
		if got, err := f.Generation(t.Context()); err != nil || got != want {
			t.Errorf("generation %d, %v, want %d", got, err, want)
		}
	}
	expect(f, 0)
	for _, generation := range []int{1, 2, 2} { // taking it again changes nothing
		if err := f.Take(t.Context(), generation); err != nil {
			t.Fatal(err)
		}
		expect(f, generation)
	}
	expect(other, 0)
	if err := f.Take(t.Context(), 1); !errors.Is(err, fence.ErrFenced) || fault.Remedy(err) == "" {
		t.Errorf("an older one: %v", err)
	}
	expect(f, 2)
	for ours, fenced := range map[int]bool{0: true, 1: true, 2: false, 3: false} {
		if err := f.Check(t.Context(), ours); errors.Is(err, fence.ErrFenced) != fenced {
			t.Errorf("generation %d: %v", ours, err)
		}
	}
	// A run that was killed left two.
	pages, err := groups.List(f.Network, groups.ListOpts{Name: "demo-seed-access"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := groups.ExtractGroups(pages)
	if err != nil {
		t.Fatal(err)
	}
	if err := attributestags.Add(t.Context(), f.Network, "security-groups", list[0].ID, "slipway:generation=10").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	expect(f, 10)
	if err := f.Take(t.Context(), 11); err != nil {
		t.Fatal(err)
	}
	g, err := groups.Get(t.Context(), f.Network, list[0].ID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(g.Tags)
	if want := []string{"slipway", "slipway:env=demo", "slipway:generation=11", "slipway:step=seed-access", "theirs"}; !slices.Equal(g.Tags, want) {
		t.Errorf("tags %v", g.Tags)
	}
	// The environment is gone.
	if err := groups.Delete(t.Context(), f.Network, g.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := f.Check(t.Context(), 11); !errors.Is(err, fence.ErrFenced) {
		t.Errorf("without an environment: %v", err)
	}
}

// counted counts the writing requests that reach the cloud and succeed.
type counted struct {
	below http.RoundTripper
	n     atomic.Int32
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.below.RoundTrip(r)
	if err == nil && r.Method != http.MethodGet && response.StatusCode < 400 {
		c.n.Add(1)
	}
	return response, err
}

// TestAnOldControllerWritesNothing: it is at work, is cut off, and comes back when the
// environment has been rebuilt.
func TestAnOldControllerWritesNothing(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	f := environment(t, box, "demo")
	old := box.Admin.Network(t) // its connection is its own
	provider := old.ProviderClient
	wire := &counted{below: http.DefaultTransport}
	if provider.HTTPClient.Transport != nil {
		wire.below = provider.HTTPClient.Transport
	}
	provider.HTTPClient = http.Client{Transport: &fence.Guard{Below: wire, Check: func(ctx context.Context) error { return f.Check(ctx, 0) }}}
	work := func() error {
		_, err := networks.Create(t.Context(), old, networks.CreateOpts{Name: "n"}).Extract()
		return err
	}
	if err := work(); err != nil || wire.n.Load() != 1 {
		t.Fatalf("before the rebuild: %v, %d writes", err, wire.n.Load())
	}
	if err := f.Take(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	// It was away for longer than it remembers: a new process.
	provider.HTTPClient = http.Client{Transport: &fence.Guard{Below: wire, Check: func(ctx context.Context) error { return f.Check(ctx, 0) }}}
	for range 20 {
		if err := work(); !errors.Is(err, fence.ErrFenced) {
			t.Errorf("after the rebuild: %v", err)
		}
	}
	if n := wire.n.Load(); n != 1 {
		t.Errorf("%d writes succeeded after the rebuild", n-1)
	}
	if _, err := networks.List(old, networks.ListOpts{}).AllPages(t.Context()); err != nil {
		t.Errorf("it may still read: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// world is a cloud and a cluster whose generations a test sets.
type world struct {
	cloud, ours   int
	away          error
	looks, passed int
	states        []fence.State
	watch         *fence.Watch
	wire          http.RoundTripper
}

func newWorld() *world {
	w := &world{}
	w.watch = &fence.Watch{
		Read:    func(context.Context) (int, error) { w.looks++; return w.cloud, w.away },
		Ours:    func(context.Context, int) (int, error) { return w.ours, nil },
		Changed: func(s fence.State) { w.states = append(w.states, s) },
	}
	w.wire = w.watch.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		w.passed++
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	return w
}

func (w *world) try(t *testing.T, method, path string, want bool) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://cloud"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	before := w.passed
	response, err := w.wire.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	}
	if (w.passed > before) != want || (err == nil) != want {
		t.Errorf("%s %s after %d looks: %v", method, path, w.looks, err)
	}
}

func (w *world) writes(t *testing.T, want bool) {
	t.Helper()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		w.try(t, method, "/x", want)
	}
	w.try(t, http.MethodGet, "/x", true)
	w.try(t, http.MethodPost, "/identity/v3/auth/tokens", true)
}

// run runs the watch in a bubble of a test, until that ends.
func (w *world) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.watch.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
}

// TestAProcessStopsWhenAnotherTookOver: within half a minute, and for good.
func TestAProcessStopsWhenAnotherTookOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.writes(t, false) // before it has looked
		w.run(t)
		w.writes(t, true)
		if w.looks != 1 {
			t.Errorf("%d looks for %d requests", w.looks, w.passed)
		}
		w.cloud = 1
		time.Sleep(fence.UsualEvery + time.Second)
		synctest.Wait()
		w.writes(t, false)
		w.away = errors.New("the cloud does not answer")
		time.Sleep(time.Hour)
		synctest.Wait()
		w.writes(t, false)
		if err := w.watch.Allowed(t.Context()); !errors.Is(err, fence.ErrFenced) {
			t.Errorf("it forgot why: %v", err)
		}
		if len(w.states) != 2 || !w.states[0].Open || w.states[1].Open || w.states[1].Cloud != 1 {
			t.Errorf("told %+v", w.states)
		}
	})
}

// TestAPartitionedProcessStops: after a stated time without an answer, and it goes on
// when the cloud answers that nobody took over.
func TestAPartitionedProcessStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t)
		w.away = errors.New("no route to host")
		time.Sleep(fence.UsualPatience - fence.UsualEvery)
		synctest.Wait()
		w.writes(t, true)
		time.Sleep(fence.UsualEvery + time.Second)
		synctest.Wait()
		w.writes(t, false)
		if s := w.watch.State(); s.Open || s.Err == nil {
			t.Errorf("state %+v", s)
		}
		w.away = nil
		time.Sleep(fence.UsualEvery)
		synctest.Wait()
		w.writes(t, true)
		w.away, w.cloud = errors.New("no route to host"), 1 // cut off, and replaced meanwhile
		time.Sleep(fence.UsualPatience + time.Second)
		synctest.Wait()
		w.writes(t, false)
		w.away = nil
		time.Sleep(fence.UsualEvery)
		synctest.Wait()
		w.writes(t, false)
		if err := w.watch.Allowed(t.Context()); !errors.Is(err, fence.ErrFenced) {
			t.Errorf("replaced while it was away: %v", err)
		}
	})
}

// TestARevokedCredentialFences: at once, since only a rebuild or the end of the
// environment revokes it.
func TestARevokedCredentialFences(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.run(t)
			w.away = gophercloud.ErrUnexpectedResponseCode{Actual: code}
			time.Sleep(fence.UsualEvery)
			synctest.Wait()
			w.writes(t, false)
			if err := w.watch.Allowed(t.Context()); !errors.Is(err, fence.ErrFenced) {
				t.Errorf("%d: %v", code, err)
			}
		})
	}
}

// TestARebuildInProgressIsNotFenced: it notes its generation first, and a look may come
// between a look at the cluster and one at the cloud.
func TestARebuildInProgressIsNotFenced(t *testing.T) {
	t.Parallel()
	asked := 0
	w := newWorld()
	w.cloud = 1
	w.watch.Ours = func(context.Context, int) (int, error) { asked++; return asked - 1, nil }
	w.watch.Look(t.Context())
	w.writes(t, true)
}
