package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Wave is a group of clusters that are unpaused together.
type Wave struct {
	Name     string   `json:"name"`
	Clusters []string `json:"clusters"`
}

// Waves are one cluster first, the one with the fewest machines; then a tenth of the
// rest, at least one; then all others. Clusters in left are in none of them.
func Waves(plan *Plan, left []string) []Wave {
	machines := map[string]int{}
	for _, step := range plan.Steps {
		for _, o := range step {
			if is(o, groupClusterAPI, "Machine") {
				machines[clusterOf(o)]++
			}
		}
	}
	var names []string
	for _, name := range plan.Clusters() {
		if !slices.Contains(left, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(machines[a], machines[b]), strings.Compare(a, b)) })
	var waves []Wave
	take := func(name string, n int) {
		if n = min(n, len(names)); n > 0 {
			waves = append(waves, Wave{name, names[:n]})
			names = names[n:]
		}
	}
	take("canary", 1)
	take("10 %", (len(names)+9)/10)
	take("rest", len(names))
	return waves
}

// Change is something that appeared or vanished in the cloud.
type Change struct {
	// Kind is "server" or "load balancer".
	Kind    string
	Created bool
	snapshot.Resource
}

// String is "server a-1 (id) was deleted".
func (c Change) String() string {
	what := "was deleted"
	if c.Created {
		what = "was created"
	}
	return fmt.Sprintf("%s %s (%s) %s", c.Kind, c.Name, c.ID, what)
}

// Expected are what of the cloud belongs to the clusters that are unpaused.
type Expected struct {
	// Servers are the IDs of the Machines' servers.
	servers map[string]bool
	// prefixes are those of names of servers, by project.
	prefixes map[string][]string
}

// Expect is what of the cloud belongs to the clusters of a plan.
func Expect(plan *Plan, cloud Cloud) Expected {
	e := Expected{servers: map[string]bool{}, prefixes: map[string][]string{}}
	for _, step := range plan.Steps {
		for _, o := range step {
			if is(o, groupClusterAPI, "Machine") {
				e.servers[ServerID(str(o, "spec", "providerID"))] = true
			}
			if is(o, groupClusterAPI, "Cluster") {
				project := cloud.Projects[clusterOf(o)]
				e.prefixes[project] = append(e.prefixes[project], o.GetName()+"-")
			}
		}
	}
	return e
}

// Unexpected are the differences between two lists of the cloud that only the
// clusters' controllers can have made: no server and no load balancer of a cluster
// may come or go. Servers of others, and load balancers of tenants' Services, may. A
// list that is not complete must not be compared.
func (e Expected) Unexpected(before, now snapshot.Inventory) []Change {
	changes := difference("server", before.Servers, now.Servers, func(r snapshot.Resource) bool {
		return e.servers[r.ID] || slices.ContainsFunc(e.prefixes[r.Project], func(p string) bool { return strings.HasPrefix(r.Name, p) })
	})
	return append(changes, difference("load balancer", before.LoadBalancers, now.LoadBalancers, func(r snapshot.Resource) bool {
		return strings.HasPrefix(r.Name, balancerPrefix)
	})...)
}

func difference(kind string, before, now []snapshot.Resource, ours func(snapshot.Resource) bool) (changes []Change) {
	was, is := byID(before), byID(now)
	for _, r := range before {
		if _, there := is[r.ID]; !there && ours(r) {
			changes = append(changes, Change{kind, false, r})
		}
	}
	for _, r := range now {
		if _, there := was[r.ID]; !there && ours(r) {
			changes = append(changes, Change{kind, true, r})
		}
	}
	return changes
}

// Gate lets clusters go, and holds them again.
type Gate interface {
	// Release lets the controllers act on a cluster, Pause holds it again.
	Release(ctx context.Context, cluster string) error
	Pause(ctx context.Context, cluster string) error
	// Settled reports whether the controllers have seen that a cluster is released,
	// and if not, what is missing. An error that vain.Refused knows does not pass.
	Settled(ctx context.Context, cluster string) (bool, string, error)
}

// Unpause is a release in waves.
type Unpause struct {
	Gate  Gate
	Waves []Wave
	// Look lists the cloud. An error means that the list is not complete; nothing
	// is concluded from it, but the next wave waits. One that vain.Refused knows does not
	// pass.
	Look func(context.Context) (snapshot.Inventory, error)
	// Before is the list from before the first wave.
	Before   snapshot.Inventory
	Expected Expected
	// Watch is how long the cloud is watched after each wave, Every how often it is
	// listed, Patience how long it may not answer, or a cluster not be seen.
	Watch, Every, Patience time.Duration
	Progress               func(string)
}

// The usual times of a release in waves. A wave is watched from its release on, and until
// its controllers have seen all of it: what they decide then, they do in seconds.
const (
	UsualWatch    = 30 * time.Second
	UsualEvery    = 5 * time.Second
	UsualPatience = 10 * time.Minute
)

// Run releases wave by wave. At the first unexpected change in the cloud, or when a
// wave does not settle, all clusters that were released are paused again, and the
// error names what changed.
func (u Unpause) Run(ctx context.Context) error {
	var released []string
	looked := time.Now()
	for i, wave := range u.Waves {
		for n, cluster := range wave.Clusters {
			u.Progress(fmt.Sprintf("wave %d of %d (%s): unpausing %s, %d of %d", i+1, len(u.Waves), wave.Name, cluster, n+1, len(wave.Clusters)))
			released = append(released, cluster)
			if err := u.Gate.Release(ctx, cluster); err != nil {
				return u.retreat(ctx, released, err)
			}
			if time.Since(looked) < u.Every {
				continue
			}
			looked = time.Now() // a large wave is watched while it is released
			if err := u.compare(ctx); err != nil && !errors.Is(err, errUnread) {
				return u.retreat(ctx, released, err)
			}
		}
		if err := u.watch(ctx, wave, fmt.Sprintf("wave %d of %d (%s)", i+1, len(u.Waves), wave.Name)); err != nil {
			return u.retreat(ctx, released, err)
		}
	}
	return nil
}

// watch compares the cloud with how it was until a wave has settled and the time is
// over. A list that failed counts for nothing: the last one must be complete.
func (u Unpause) watch(ctx context.Context, wave Wave, what string) error {
	began := time.Now()
	var hopeless vain.Watch
	for {
		err, waiting := u.compare(ctx), ""
		final := err
		switch {
		case errors.Is(err, errUnread):
			waiting = err.Error()
		case err != nil:
			return err
		default:
			if waiting, final = u.missing(ctx, wave); final != nil {
				waiting = final.Error()
			}
		}
		if hopeless.Ends(final) {
			return fault.New(what, fmt.Errorf("it cannot settle: %w", final), cmp.Or(fault.Remedy(final), "see why with slipway why")+"; then run the same command again")
		}
		switch age := time.Since(began); {
		case waiting == "" && age >= u.Watch:
			return nil
		case waiting != "" && age >= u.Patience:
			return fault.New(what, fmt.Errorf("it did not settle within %s; it waits for %s", u.Patience, waiting), "see why with slipway why; then run the same command again")
		case waiting == "":
			u.Progress(fmt.Sprintf("%s: nothing changed in the cloud; watching it for %s more", what, (u.Watch - age).Round(time.Second)))
		default:
			u.Progress(what + ": waiting for " + waiting)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(u.Every):
		}
	}
}

// errUnread is that the cloud could not be listed, so nothing is known.
var errUnread = errors.New("the cloud's list")

// compare lists the cloud and returns what only the controllers can have changed.
func (u Unpause) compare(ctx context.Context) error {
	now, err := u.Look(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	if changes := u.Expected.Unexpected(u.Before, now); len(changes) > 0 {
		return unexpected(changes)
	}
	return nil
}

// missing is the first cluster of a wave that the controllers have not seen yet.
func (u Unpause) missing(ctx context.Context, wave Wave) (string, error) {
	for _, cluster := range wave.Clusters {
		settled, what, err := u.Gate.Settled(ctx, cluster)
		if err != nil || !settled {
			return cluster + ": " + what, err
		}
	}
	return "", nil
}

func unexpected(changes []Change) error {
	errs := make([]error, len(changes))
	for i, c := range changes {
		errs[i] = fault.New(c.Kind+" "+c.Name, errors.New(c.String()+", which nothing in the proofs announced"),
			"all clusters are paused again: see with slipway why what the controllers did, then run the same command again, which proves everything again")
	}
	return errors.Join(errs...)
}

// retreatTime is how long it may take to pause everything again; who interrupts the
// program waits for it.
const retreatTime = time.Minute

// pausing is how many clusters are paused at once.
const pausing = 16

// retreat pauses what was released, also after an interrupt.
func (u Unpause) retreat(ctx context.Context, released []string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retreatTime)
	defer cancel()
	u.Progress(fmt.Sprintf("pausing %d clusters again: %v", len(released), cause))
	errs := make([]error, len(released)+1)
	errs[len(released)] = cause
	var group errgroup.Group
	group.SetLimit(pausing)
	for i, cluster := range released {
		group.Go(func() error {
			if err := u.Gate.Pause(ctx, cluster); err != nil {
				namespace, name, _ := strings.Cut(cluster, "/")
				errs[i] = fault.New("Cluster "+cluster, fmt.Errorf("it could not be paused again: %w", err),
					fmt.Sprintf(`pause it by hand: kubectl -n %s patch cluster.cluster.x-k8s.io %s --type merge -p '{"spec":{"paused":true}}'`, namespace, name))
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return errors.Join(errs...)
}
