package addonprovider

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/addonprovider/release"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// work is what is being done on target clusters: at most one job per addon, each in its own
// goroutine, so that no reconciliation waits for a cluster.
type work struct {
	ctx    context.Context
	cancel context.CancelFunc
	jobs   sync.WaitGroup
	// notify is called with an addon whose job has news.
	notify func(types.NamespacedName)

	mu    sync.Mutex
	byKey map[types.NamespacedName]*job
}

// job is the work on one addon. Its fields are guarded by work.mu.
type job struct {
	cancel    context.CancelFunc
	uninstall bool
	digest    string
	phase     v1alpha1.Phase
	message   string
	finished  *outcome
}

// outcome is how a job ended.
type outcome struct {
	err error
	// digest is the digest of what the job was about.
	digest      string
	uninstall   bool
	phase       v1alpha1.Phase
	changed     bool
	corrected   []string
	result      *release.Result // nil where the release is as it was recorded
	chartDigest string
	forWorkers  []string // what is applied, but not ready for want of workers
}

func newWork(notify func(types.NamespacedName)) *work {
	ctx, cancel := context.WithCancel(context.Background())
	return &work{ctx: ctx, cancel: cancel, notify: notify, byKey: map[types.NamespacedName]*job{}}
}

// Start waits for the end of its context, then ends all jobs and waits for them. A manager runs it
// as a runnable.
func (w *work) Start(ctx context.Context) error {
	<-ctx.Done()
	w.cancel()
	w.jobs.Wait()
	return nil
}

// begin starts a job for an addon that has none.
func (w *work) begin(key types.NamespacedName, digest string, uninstall bool, do func(context.Context, *reporter) outcome) {
	ctx, cancel := context.WithCancel(w.ctx)
	j := &job{cancel: cancel, uninstall: uninstall, digest: digest}
	w.mu.Lock()
	w.byKey[key] = j
	w.mu.Unlock()
	w.jobs.Go(func() {
		defer cancel()
		o := do(ctx, &reporter{w, key, j})
		o.digest, o.uninstall = digest, uninstall
		w.mu.Lock()
		o.phase = j.phase
		j.finished = &o
		w.mu.Unlock()
		w.notify(key)
	})
}

// take returns a copy of an addon's job, or nil. A finished job is removed by that.
func (w *work) take(key types.NamespacedName) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	j, ok := w.byKey[key]
	if !ok {
		return nil
	}
	if j.finished != nil {
		delete(w.byKey, key)
	}
	seen := *j
	return &seen
}

// reporter lets a job report what it does.
type reporter struct {
	work *work
	key  types.NamespacedName
	job  *job
}

func (r *reporter) phase(phase v1alpha1.Phase, message string) {
	r.work.mu.Lock()
	changed := r.job.phase != phase || r.job.message != message
	r.job.phase, r.job.message = phase, message
	r.work.mu.Unlock()
	if changed {
		r.work.notify(r.key)
	}
}

func (r *reporter) progress(message string) {
	r.work.mu.Lock()
	phase := r.job.phase
	r.work.mu.Unlock()
	r.phase(phase, message)
}
