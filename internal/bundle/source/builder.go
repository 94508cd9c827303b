package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
)

// builder is one run of Build.
type builder struct {
	folder  *bundle.Folder
	options Options
	recipes map[string]recipe
	keys    map[string]string
	ranks   map[string]rank
	queue   *queue
	// progress is that of the whole build.
	progress *progress
	// toolchain is the version of Go, as "go1.26.1".
	toolchain string

	mu     sync.Mutex
	made   map[string]*promise
	report Report
}

// promise is a result that is being made once for all who need it.
type promise struct {
	ready   chan struct{}
	product product
	err     error
}

// product is the finished result of a recipe: a file, and the item when the
// result is part of the bundle.
type product struct {
	file     string
	packages []string
	// properties and contains are as an item has them.
	properties, contains map[string]string
	item                 bundle.Item
}

func newBuilder(ctx context.Context, folder *bundle.Folder, o Options, all map[string]recipe) (*builder, error) {
	if o.Sink == nil {
		o.Sink = event.Discard{}
	}
	if o.DebianSuite == "" {
		o.DebianSuite = DefaultSuite
	}
	processors, available := runtime.NumCPU(), availableMemory()
	if o.Jobs == 0 {
		o.Jobs = DefaultJobs(processors, available)
	}
	// One program in one version, whatever the caller's settings are.
	o.Env = append(append(compilerGC(processors, o.Jobs, available), o.Env...), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
	b := &builder{folder: folder, options: o, recipes: all, ranks: ranks(all), progress: newProgress(o.Sink), made: map[string]*promise{}}
	b.queue = newQueue(o.Jobs)
	if err := os.RemoveAll(b.work("jobs")); err != nil {
		return nil, err
	}
	for _, dir := range []string{"jobs", "cache", "modules"} {
		if err := os.MkdirAll(b.work(dir), 0o755); err != nil {
			return nil, err
		}
	}
	version, err := b.capture(ctx, "", "go", "env", "GOVERSION")
	if err != nil {
		return nil, fmt.Errorf("asking for the Go version: %w", err)
	}
	b.toolchain = strings.TrimSpace(version)
	b.keys, err = keys(b.recipes, b.toolchain+" "+platform()+" "+o.DebianSuite)
	return b, err
}

func (b *builder) work(parts ...string) string {
	return filepath.Join(append([]string{b.folder.Dir(), bundle.WorkDir}, parts...)...)
}

// whole makes the wanted results, tells how far that is, and has modules fetched beside it.
func (b *builder) whole(ctx context.Context, wanted []string) error {
	var fetching sync.WaitGroup
	fetch, stop := context.WithCancel(ctx)
	b.queue.settled = func() {
		b.progress.begin()
		fetching.Go(func() { b.fetch(fetch, b.groups()) })
	}
	err := b.all(ctx, wanted)
	stop()
	fetching.Wait()
	b.progress.end(err)
	return err
}

// all makes the wanted results and joins the errors of those that failed for a
// reason of their own.
func (b *builder) all(ctx context.Context, wanted []string) error {
	errs := make([]error, len(wanted))
	var group sync.WaitGroup
	b.queue.look(len(wanted))
	for i, name := range wanted {
		group.Go(func() { _, errs[i] = b.need(ctx, name) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("building the bundle: %w", context.Cause(ctx))
	}
	return distinct(errs)
}

// distinct joins errors, each once: items that share a broken input share its error.
func distinct(errs []error) error {
	var all []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(all, func(known error) bool { return known.Error() == err.Error() }) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// need returns the result of a recipe, making it at most once. The queue knows that it is
// looked at.
func (b *builder) need(ctx context.Context, name string) (product, error) {
	b.mu.Lock()
	p, ok := b.made[name]
	if !ok {
		p = &promise{ready: make(chan struct{})}
		b.made[name] = p
	}
	b.mu.Unlock()
	if !ok {
		p.product, p.err = b.provide(ctx, name)
		close(p.ready)
	} else {
		b.queue.known()
	}
	<-p.ready
	return p.product, p.err
}

// provide takes a result that is there already, or makes it.
func (b *builder) provide(ctx context.Context, name string) (product, error) {
	forced := b.options.Force && (len(b.options.Only) == 0 || slices.Contains(b.options.Only, name))
	if !forced {
		if p, ok := b.present(ctx, name); ok {
			b.note(name, "unchanged", 0)
			b.queue.known()
			return p, nil
		}
	}
	b.progress.add(name)
	inputs, err := b.inputs(ctx, name)
	if err != nil {
		return product{}, err
	}
	return b.run(ctx, name, inputs)
}

// present finds an item in the bundle, or an intermediate result in the cache,
// that was made by the recipe as it is now. Items that were asked for by name
// are read: that is how a damaged one is found and made again.
func (b *builder) present(ctx context.Context, name string) (product, bool) {
	component, isItem := component.Find(name)
	if !isItem {
		return b.cached(name)
	}
	bill := b.folder.Bill()
	item := bill.Item(name)
	if item == nil || item.Recipe != b.keys[name] || item.Version != component.Version || !b.folder.Complete(*item) {
		return product{}, false
	}
	if !b.current(item.Contains) {
		return product{}, false
	}
	if slices.Contains(b.options.Only, name) {
		if b.folder.RemoveDamaged(ctx, *item) != nil || !b.folder.Complete(*item) {
			return product{}, false
		}
	}
	return product{file: b.folder.Blob(item.SHA256), packages: item.Packages, properties: item.Properties, contains: item.Contains, item: *item}, true
}

// inputs makes what a recipe needs. The queue knows afterwards, as before, that the recipe is
// looked at, unless there is an error.
func (b *builder) inputs(ctx context.Context, name string) (map[string]product, error) {
	needs := b.recipes[name].needs()
	if len(needs) == 0 {
		return nil, nil
	}
	b.queue.look(len(needs))
	b.queue.known()
	products := make([]product, len(needs))
	// One failed input must not cancel the others: they may be inputs of items
	// that can still be made.
	group := errgroup.Group{}
	for i, need := range needs {
		group.Go(func() (err error) {
			products[i], err = b.need(ctx, need)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	b.queue.look(1)
	inputs := map[string]product{}
	for i, need := range needs {
		inputs[need] = products[i]
	}
	return inputs, nil
}

// run executes a recipe and stores what it made.
func (b *builder) run(ctx context.Context, name string, inputs map[string]product) (product, error) {
	done, err := b.queue.wait(ctx, turn(b.recipes[name].group()), b.ranks[name])
	if err != nil {
		return product{}, err
	}
	defer done()
	step := event.Start(b.options.Sink, name, "building")
	j := &job{builder: b, name: name, inputs: inputs, step: step, dir: b.work("jobs", name)}
	p, err := b.execute(ctx, j)
	result := "built"
	switch {
	case err == nil:
		step.End("built", nil)
		b.progress.made(name, 1)
	case ctx.Err() != nil: // nothing is wrong with it
		result = "interrupted"
		step.Skip("interrupted")
	default:
		result = "failed"
		step.End("", err)
	}
	b.note(name, result, step.Elapsed())
	return p, err
}

func (b *builder) execute(ctx context.Context, j *job) (product, error) {
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return product{}, full(j.name, err)
	}
	defer os.RemoveAll(j.dir)
	out, err := b.recipes[j.name].make(ctx, j)
	if err != nil {
		return product{}, explain(ctx, j.name, err)
	}
	p, err := b.keep(ctx, j.name, out)
	if err != nil {
		return product{}, full(j.name, fmt.Errorf("storing: %w", err))
	}
	return p, nil
}

func (b *builder) note(name, result string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report.Timings = append(b.report.Timings, Timing{name, result, took.Seconds()})
}

// finish removes what no recipe stands for any more and records what the
// bundle cannot have.
func (b *builder) finish() error {
	var missing []bundle.Missing
	for _, c := range component.All() {
		if c.Unbuildable != "" {
			missing = append(missing, bundle.Missing{Name: c.Name, Reason: c.Unbuildable})
		}
	}
	if err := b.folder.SetMissing(missing); err != nil {
		return err
	}
	if err := b.cleanCache(); err != nil {
		return err
	}
	freed, err := b.folder.Clean()
	b.report.Freed = freed
	return err
}

// keys computes each recipe's key: a hash over the recipe, the toolchain and
// the keys of what it needs.
func keys(all map[string]recipe, toolchain string) (map[string]string, error) {
	done := map[string]string{}
	var visit func(name string, path []string) (string, error)
	visit = func(name string, path []string) (string, error) {
		if key, ok := done[name]; ok {
			return key, nil
		}
		r, ok := all[name]
		if !ok || slices.Contains(path, name) {
			return "", fmt.Errorf("recipe %s of %s: absent, or needs itself", name, strings.Join(path, " → "))
		}
		hash := sha256.New()
		c, _ := component.Find(name)
		if err := json.NewEncoder(hash).Encode([]any{name, c, toolchain, epoch, r}); err != nil {
			return "", fmt.Errorf("recipe %s: %w", name, err)
		}
		io.WriteString(hash, r.fingerprint())
		for _, need := range r.needs() {
			key, err := visit(need, append(path, name))
			if err != nil {
				return "", err
			}
			io.WriteString(hash, key)
		}
		done[name] = hex.EncodeToString(hash.Sum(nil))[:32]
		return done[name], nil
	}
	for name := range all {
		if _, err := visit(name, nil); err != nil {
			return nil, err
		}
	}
	return done, nil
}
