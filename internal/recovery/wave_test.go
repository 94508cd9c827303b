package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
	"github.com/slipway-sh/slipway/internal/vain"
)

func TestWavesAreACanaryATenthAndTheRest(t *testing.T) {
	t.Parallel()
	for count, want := range map[int][]int{0: nil, 1: {1}, 2: {1, 1}, 3: {1, 1, 1}, 11: {1, 1, 9}, 12: {1, 2, 9}, 22: {1, 3, 18}} {
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("c%02d", i))
		}
		g := recoverytest.New(names...)
		if count > 2 {
			g.Drop("Machine", "c02-md-1")
		}
		plan := restoreIn(t, g, recovery.Scope{}).plan
		var sizes []int
		var all []string
		for _, w := range recovery.Waves(plan, nil) {
			sizes, all = append(sizes, len(w.Clusters)), append(all, w.Clusters...)
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("%d clusters: %v, want %v", count, sizes, want)
		}
		if count > 2 && all[0] != "c02/c02" {
			t.Errorf("the canary is %s, not the smallest cluster", all[0])
		}
		if slices.Sort(all); len(slices.Compact(all)) != count {
			t.Errorf("%d clusters are in the waves, not %d", len(all), count)
		}
		if count > 2 {
			left := recovery.Waves(plan, []string{"c02/c02"})
			for _, w := range left {
				if slices.Contains(w.Clusters, "c02/c02") {
					t.Error("a cluster that is left is in a wave")
				}
			}
		}
	}
}

func TestWhatIsUnexpected(t *testing.T) {
	t.Parallel()
	r := restoreIn(t, recoverytest.New("a", "b"), recovery.Scope{})
	e := r.evidence()
	expected := recovery.Expect(r.plan, e.Cloud)
	before := e.Cloud.Inventory
	before.Servers = append(slices.Clone(before.Servers), snapshot.Resource{ID: "web", Name: "web", Project: recoverytest.Project})
	before.LoadBalancers = append(slices.Clone(before.LoadBalancers), snapshot.Resource{ID: "svc", Name: "kube_service_a_default_x", Project: recoverytest.Project})
	with := func(list []snapshot.Resource, name, project string) []snapshot.Resource {
		return append(slices.Clone(list), snapshot.Resource{ID: "new", Name: name, Project: project})
	}
	for name, test := range map[string]struct {
		change func(*snapshot.Inventory)
		want   string
	}{
		"nothing":                         {func(*snapshot.Inventory) {}, ""},
		"a machine's server goes":         {func(i *snapshot.Inventory) { i.Servers = without(i.Servers, "server-a-md-1") }, "server a-md-1 (server-a-md-1) was deleted"},
		"a machine's server comes":        {func(i *snapshot.Inventory) { i.Servers = with(i.Servers, "a-md-9", recoverytest.Project) }, "server a-md-9 (new) was created"},
		"one of the name elsewhere comes": {func(i *snapshot.Inventory) { i.Servers = with(i.Servers, "a-md-9", "p2") }, ""},
		"another's server goes":           {func(i *snapshot.Inventory) { i.Servers = without(i.Servers, "web") }, ""},
		"another's server comes":          {func(i *snapshot.Inventory) { i.Servers = with(i.Servers, "db", recoverytest.Project) }, ""},
		"a load balancer goes":            {func(i *snapshot.Inventory) { i.LoadBalancers = without(i.LoadBalancers, "lb-a") }, "was deleted"},
		"a load balancer comes": {func(i *snapshot.Inventory) {
			i.LoadBalancers = with(i.LoadBalancers, "k8s-clusterapi-cluster-a-a-kubeapi", recoverytest.Project)
		}, "load balancer k8s-clusterapi-cluster-a-a-kubeapi (new) was created"},
		"a Service's goes": {func(i *snapshot.Inventory) { i.LoadBalancers = without(i.LoadBalancers, "svc") }, ""},
	} {
		now := before
		test.change(&now)
		var said []string
		for _, c := range expected.Unexpected(before, now) {
			said = append(said, c.String())
		}
		if got := strings.Join(said, ", "); got != test.want && (test.want == "" || !strings.Contains(got, test.want)) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// gate notes what is released and paused.
type gate struct {
	mu      sync.Mutex
	said    []string
	paused  map[string]bool
	refuse  string
	stuck   string
	settled func(string) (bool, string, error)
}

func (g *gate) Release(_ context.Context, cluster string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.said = append(g.said, cluster)
	if cluster == g.refuse {
		return errors.New("refused")
	}
	g.paused[cluster] = false
	return nil
}

func (g *gate) Pause(_ context.Context, cluster string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cluster == g.stuck {
		return errors.New("refused")
	}
	g.paused[cluster] = true
	return nil
}

func (g *gate) Settled(_ context.Context, cluster string) (bool, string, error) {
	if g.settled == nil {
		return true, "", nil
	}
	return g.settled(cluster)
}

func TestTheRelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// look is what the cloud lists at the nth look.
		look        func(n int, was snapshot.Inventory) (snapshot.Inventory, error)
		gate        func(*gate)
		cause       string
		released    int
		least, most time.Duration
	}{
		"nothing happens": {nil, nil, "", 4, 3 * time.Minute, 4 * time.Minute},
		"a server is deleted": {func(n int, was snapshot.Inventory) (snapshot.Inventory, error) {
			if n > 3 {
				was.Servers = without(was.Servers, "server-a-md-1")
			}
			return was, nil
		}, nil, "server a-md-1 (server-a-md-1) was deleted", 1, 0, time.Minute},
		"a list fails for a while": {func(n int, was snapshot.Inventory) (snapshot.Inventory, error) {
			if n > 2 && n < 30 {
				return snapshot.Inventory{}, errors.New("503")
			}
			return was, nil
		}, nil, "", 4, 3 * time.Minute, 8 * time.Minute},
		"the cloud answers no more": {func(int, snapshot.Inventory) (snapshot.Inventory, error) {
			return snapshot.Inventory{}, errors.New("503")
		},
			nil, "did not settle within 10m0s; it waits for the cloud's list: 503", 1, 10 * time.Minute, 11 * time.Minute},
		"the cloud refuses the login": {func(n int, was snapshot.Inventory) (snapshot.Inventory, error) {
			if n > 2 {
				return was, gophercloud.ErrUnexpectedResponseCode{Actual: 401, Body: []byte("revoked")}
			}
			return was, nil
		}, nil, "it cannot settle: the cloud's list", 1, vain.Patience, time.Minute},
		"the controller cannot run": {nil, func(g *gate) {
			g.settled = func(string) (bool, string, error) {
				return false, "it has not seen it", vain.Final(errors.New("its image does not exist"))
			}
		}, "its image does not exist", 1, vain.Patience, 45 * time.Second},
		"a release is refused": {nil, func(g *gate) { g.refuse = "b/b" }, "refused", 2, time.Minute, 2 * time.Minute},
		"controllers see nothing": {nil, func(g *gate) {
			g.settled = func(string) (bool, string, error) { return false, "its controllers have not seen it", nil }
		}, "a/a: its controllers have not seen it", 1, 10 * time.Minute, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := restoreIn(t, recoverytest.New("a", "b", "c", "d"), recovery.Scope{})
				e := r.evidence()
				g := &gate{paused: map[string]bool{}}
				if test.gate != nil {
					test.gate(g)
				}
				looks := 0
				u := recovery.Unpause{Gate: g, Waves: recovery.Waves(r.plan, nil), Before: e.Cloud.Inventory, Expected: recovery.Expect(r.plan, e.Cloud),
					Watch: time.Minute, Every: recovery.UsualEvery, Patience: recovery.UsualPatience, Progress: func(string) {},
					Look: func(context.Context) (snapshot.Inventory, error) {
						looks++
						if test.look == nil {
							return e.Cloud.Inventory, nil
						}
						return test.look(looks, e.Cloud.Inventory)
					}}
				began := time.Now()
				err := u.Run(t.Context())
				if took := time.Since(began); took < test.least || took > test.most {
					t.Errorf("it took %s", took)
				}
				if len(g.said) != test.released {
					t.Errorf("released %v", g.said)
				}
				if test.cause == "" {
					if err != nil {
						t.Error(err)
					}
					for cluster, paused := range g.paused {
						if paused {
							t.Errorf("%s is paused at the end", cluster)
						}
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), test.cause) {
					t.Errorf("told %v", err)
				}
				for _, cluster := range g.said {
					if !g.paused[cluster] {
						t.Errorf("%s is not paused again", cluster)
					}
				}
			})
		})
	}
}

func TestAnInterruptPausesEverythingAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := restoreIn(t, recoverytest.New("a", "b"), recovery.Scope{})
		e := r.evidence()
		g := &gate{paused: map[string]bool{}}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		u := recovery.Unpause{Gate: g, Waves: recovery.Waves(r.plan, nil), Before: e.Cloud.Inventory, Expected: recovery.Expect(r.plan, e.Cloud), Watch: time.Minute, Every: recovery.UsualEvery,
			Patience: recovery.UsualPatience, Progress: func(string) {}, Look: func(context.Context) (snapshot.Inventory, error) { return e.Cloud.Inventory, nil }}
		if err := u.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("told %v", err)
		}
		if len(g.said) != 2 || !g.paused["a/a"] || !g.paused["b/b"] {
			t.Errorf("released %v, paused %v", g.said, g.paused)
		}
	})
}

// TestWhatCannotBePausedAgainSaysHow: who reads it has no time to look the command up.
func TestWhatCannotBePausedAgainSaysHow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := restoreIn(t, recoverytest.New("a"), recovery.Scope{})
		e := r.evidence()
		u := recovery.Unpause{Gate: &gate{paused: map[string]bool{}, refuse: "a/a", stuck: "a/a"}, Waves: recovery.Waves(r.plan, nil), Before: e.Cloud.Inventory, Expected: recovery.Expect(r.plan, e.Cloud),
			Watch: time.Minute, Every: recovery.UsualEvery, Patience: recovery.UsualPatience, Progress: func(string) {}, Look: func(context.Context) (snapshot.Inventory, error) { return e.Cloud.Inventory, nil }}
		err := u.Run(t.Context())
		var told *fault.Fault
		if !errors.As(err, &told) || !strings.HasSuffix(told.Remedy, `kubectl -n a patch cluster.cluster.x-k8s.io a --type merge -p '{"spec":{"paused":true}}'`) {
			t.Errorf("told %v", err)
		}
	})
}
