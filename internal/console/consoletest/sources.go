// Package consoletest has what a console shows in tests: an environment that can be well,
// ill, empty, large, hostile, slow or away.
package consoletest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Sources are console.Sources that tests change. Its methods are safe for concurrent use.
type Sources struct {
	mu    sync.Mutex
	world World
}

// World is what the sources answer.
type World struct {
	Environment  console.Environment
	Clusters     []console.Cluster
	Describe     map[string]console.Description
	Causes       console.Causes
	Backups      console.Backups
	Plan         console.Plan
	Capacity     console.Capacity
	Certificates console.Certificates
	Runs         []console.Run
	Order        map[string][]string
	Events       map[string][]event.Event
	// Err is what all answer instead, if it is set; Delay is how long they take first.
	Err   error
	Delay time.Duration
}

// New returns sources that answer with a world.
func New(w World) *Sources { return &Sources{world: w} }

// Change changes what they answer from now on.
func (s *Sources) Change(change func(*World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.world)
}

// now is the world, after its delay.
func (s *Sources) now(ctx context.Context) (World, error) {
	s.mu.Lock()
	w := s.world
	s.mu.Unlock()
	if w.Delay > 0 {
		select {
		case <-time.After(w.Delay):
		case <-ctx.Done():
			return w, ctx.Err()
		}
	}
	return w, w.Err
}

// Environment implements console.Sources.
func (s *Sources) Environment(ctx context.Context) (console.Environment, error) {
	w, err := s.now(ctx)
	return w.Environment, err
}

// Clusters implements console.Sources.
func (s *Sources) Clusters(ctx context.Context) ([]console.Cluster, error) {
	w, err := s.now(ctx)
	return w.Clusters, err
}

// Cluster implements console.Sources.
func (s *Sources) Cluster(ctx context.Context, namespace, name string) (console.Description, error) {
	w, err := s.now(ctx)
	d, there := w.Describe[namespace+"/"+name]
	if err == nil && !there {
		err = fault.Usage("cluster "+namespace+"/"+name, errors.New("it does not exist"), "list the clusters with slipway cluster list")
	}
	return d, err
}

// Causes implements console.Sources.
func (s *Sources) Causes(ctx context.Context) (console.Causes, error) {
	w, err := s.now(ctx)
	return w.Causes, err
}

// Backups implements console.Sources.
func (s *Sources) Backups(ctx context.Context) (console.Backups, error) {
	w, err := s.now(ctx)
	return w.Backups, err
}

// Plan implements console.Sources.
func (s *Sources) Plan(ctx context.Context) (console.Plan, error) {
	w, err := s.now(ctx)
	return w.Plan, err
}

// Capacity implements console.Sources.
func (s *Sources) Capacity(ctx context.Context) (console.Capacity, error) {
	w, err := s.now(ctx)
	return w.Capacity, err
}

// Certificates implements console.Sources.
func (s *Sources) Certificates(ctx context.Context) (console.Certificates, error) {
	w, err := s.now(ctx)
	return w.Certificates, err
}

// Runs implements console.Sources.
func (s *Sources) Runs(ctx context.Context) ([]console.Run, error) {
	w, err := s.now(ctx)
	return w.Runs, err
}

// Order implements console.Sources.
func (s *Sources) Order(ctx context.Context) (map[string][]string, error) {
	w, err := s.now(ctx)
	return w.Order, err
}

// Events implements console.Sources.
func (s *Sources) Events(ctx context.Context, run string) ([]event.Event, error) {
	w, err := s.now(ctx)
	return w.Events[run], err
}

// Away is the error of a cloud that does not answer.
func Away() error {
	return fault.New("cloud prod", errors.New("dial tcp 203.0.113.7:5000: connect: connection refused"), "check auth_url in clouds.yaml")
}

// Names of the runs of a world.
const (
	RunGoing  = "20260102T030000.000Z-going1"
	RunFailed = "20260102T020000.000Z-failed"
	RunFormer = "20260101T030000.000Z-former"
)

// Begin is when the run that is going on began.
func Begin() time.Time { return time.Now().Add(-4 * time.Minute).Truncate(time.Second) }

// Whole is an environment with some of everything: a run that is going on, one that failed,
// clusters that are well and one with a cause.
func Whole() World {
	w := World{Environment: environment(), Clusters: Clusters(4), Describe: map[string]console.Description{}, Events: map[string][]event.Event{}, Backups: backups(), Certificates: certificates(time.Now()), Plan: plan(), Capacity: capacity()}
	w.Order = map[string][]string{"network": {}, "seed-image": {}, "node-image": {}, "seed": {"network", "seed-image"}, "k3s": {"seed", "network"}, "management-cluster": {"k3s", "node-image", "network"}, "magnum": {"management-cluster"}}
	w.Clusters[1].Ready, w.Clusters[1].Phase, w.Clusters[1].Workers = false, "Provisioned", "1/2"
	w.Clusters[1].Cause, w.Clusters[1].Reason = "No valid host was found. There are not enough hosts available.", "no-valid-host"
	ill := w.Clusters[1]
	finding := noHost(ill)
	w.Causes = console.Causes{Findings: []console.Finding{finding}, Unseen: []console.Unseen{{What: "the console of server k8s-1-w2", Why: "the cloud gives none"}}}
	w.Describe[ill.Namespace+"/"+ill.Name] = console.Description{Cluster: ill, Rows: objects(ill), Findings: []console.Finding{finding}, Details: "conditions of machine k8s-1-w2:\n  Ready False: WaitingForInfrastructure"}
	begin := Begin()
	w.Events[RunGoing], w.Events[RunFailed], w.Events[RunFormer] = Going(begin), Failed(begin.Add(-time.Hour)), Former(begin.Add(-24*time.Hour))
	run := func(id, outcome string, started time.Time, took time.Duration) console.Run {
		r := console.Run{ID: id, Command: "slipway up --yes=true", By: "ada@laptop", Version: "v1.4.0", Cloud: "prod", Started: started, Outcome: outcome, Changed: []string{"network: created"},
			Files: []console.File{{Name: "slipway.yaml", SHA256: fmt.Sprintf("%064x", 7)}}}
		if took > 0 {
			r.Ended = started.Add(took)
		}
		return r
	}
	failed := run(RunFailed, "failed", begin.Add(-time.Hour), 70*time.Second)
	failed.Exit, failed.Error = 4, "server prod-seed: No valid host was found"
	w.Runs = []console.Run{run(RunGoing, "running", begin, 0), failed, run(RunFormer, "succeeded", begin.Add(-24*time.Hour), 9*time.Minute)}
	return w
}

// Clusters are clusters that are well.
func Clusters(n int) []console.Cluster {
	list := make([]console.Cluster, n)
	for i := range list {
		list[i] = console.Cluster{Namespace: fmt.Sprintf("magnum-%08d", i), Name: fmt.Sprintf("k8s-%d", i), MadeBy: "magnum", Project: fmt.Sprintf("%032x", i), Tenant: fmt.Sprintf("team-%d", i),
			Phase: "Available", Version: "v1.34.4", ControlPlane: "3/3", Workers: "5/5", Created: time.Now().Add(-time.Duration(i) * time.Hour), Ready: true}
	}
	return list
}
