package worker

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
	"github.com/slipway-sh/slipway/internal/kube"
)

// Options are what the worker works with and how.
type Options struct {
	// Client reads and writes resources without a cache.
	Client client.Client
	// Kube is the management cluster with the endpoint's rights; Config its address, for
	// requests with a token of their own.
	Kube   *kube.Cluster
	Config *rest.Config
	// Endpoints are the addresses of the management cluster that vimConnectionInfo may
	// name.
	Endpoints []string
	// Caller tells subscribers, with Links to documents.
	Caller *callback.Caller
	Links  view.Links
	Log    *slog.Logger
	// Wait is how long an operation may take; 0 is half an hour. Forceful is that of
	// terminations by force; 0 is ten minutes.
	Wait, Forceful time.Duration
	// Poll is how often an operation is looked at; 0 is five seconds.
	Poll time.Duration
	// Keep is how long operations that ended are kept; 0 is thirty days.
	Keep time.Duration
	// Retry is the first pause before a notification is sent again; 0 is two seconds.
	Retry time.Duration
	// Concurrency is how many operations are looked at at once; 0 is eight.
	Concurrency int
	Clock       clock.PassiveClock

	// process is this process: no other one continues what it began.
	process  string
	applying sync.Mutex
	mu       sync.Mutex
	steps    map[string]bool
}

// Prepare checks options and fills in what is missing.
func (o *Options) Prepare() error {
	if o.Client == nil || o.Kube == nil || o.Config == nil || o.Caller == nil {
		return errors.New("the worker needs clients of the management cluster and of callbacks")
	}
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{{&o.Wait, 30 * time.Minute}, {&o.Forceful, 10 * time.Minute}, {&o.Poll, 5 * time.Second}, {&o.Keep, 30 * 24 * time.Hour}, {&o.Retry, 2 * time.Second}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	if o.Concurrency == 0 {
		o.Concurrency = 8
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.process, o.steps = uuid.NewString(), map[string]bool{}
	return nil
}

// step names what has to be applied once: an operation in a state.
func (j *job) step() string {
	return j.op.Name + " " + string(j.op.Status.State) + " " + j.op.Entered().UTC().String()
}

func (o *Options) done(step string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.steps[step]
}

func (o *Options) mark(step string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.steps[step] = true
}

func (o *Options) forget(step string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.steps, step)
}
