// Package source builds a bundle from Go modules and Debian packages: what a
// machine without internet, but with a module proxy and a Debian mirror, can
// have. Every item has a recipe (recipes.go); a recipe's key covers all of its
// inputs, so that only what changed is built again.
package source

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Options say what to build and how.
type Options struct {
	// Only names the items to build, with what they are made of; empty means all.
	// Named items are checked byte by byte before they count as built.
	Only []string
	// With names options, whose items are built besides; without Only, that is besides all others.
	With []string
	// Force builds the chosen items even if nothing changed.
	Force bool
	// Jobs bounds how many recipes run at once; 0 lets DefaultJobs decide.
	Jobs int
	// Env is the environment of the go command and of the Debian tools, as
	// "KEY=value". It carries GOPROXY, GOCACHE and the like.
	Env []string
	// DebianSuite and DebianMirror are where packages come from; the mirror may
	// be empty for the tool's own default.
	DebianSuite, DebianMirror string
	// Program is the path of Slipway's own binary, which clusters run too. Only
	// what is made of it fails without.
	Program string
	// Sink takes the progress.
	Sink event.Sink
	// DiscardCache removes intermediate results at the end. Items that did not change need
	// none; others are made from the start by the next build.
	DiscardCache bool
}

// DefaultSuite is the Debian release of machines and of image bases. systemd
// 252 is the last series there that runs on cgroup v1 hosts too.
const DefaultSuite = "bookworm"

// Timing is how long one item or intermediate result took.
type Timing struct {
	Name    string  `json:"name"`
	Result  string  `json:"result"` // built, unchanged, failed or interrupted
	Seconds float64 `json:"seconds"`
}

// Report is what a build did, in the order in which things ended.
type Report struct {
	Timings []Timing `json:"timings"`
	Seconds float64  `json:"seconds"`
	// Freed is how many bytes of replaced items were removed.
	Freed int64 `json:"freedBytes"`
}

// Counted is how many timings have that result.
func (r Report) Counted(result string) int {
	n := 0
	for _, t := range r.Timings {
		if t.Result == result {
			n++
		}
	}
	return n
}

// memoryPerJob is what one job may take: the linker's peak for the largest
// Kubernetes binary is below 3 GiB.
const memoryPerJob = 4 << 30

// DefaultJobs is the number of jobs for a machine: a processor and 4 GiB of
// available memory each, at least one.
func DefaultJobs(processors int, availableBytes int64) int {
	return max(1, min(processors, int(availableBytes/memoryPerJob)))
}

// Names lists the components that can be built from source, sorted.
func Names() []string { return buildable(recipes()) }

func buildable(all map[string]recipe) []string {
	var names []string
	for _, c := range component.All() {
		if _, ok := all[c.Name]; ok {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Build makes the chosen items in the folder. Items that did not change are
// left as they are. A failed item does not stop the others, only those made of
// it; all errors are joined, and carry fault.ExitPartial when something was
// kept. The report is valid also with an error.
func Build(ctx context.Context, folder *bundle.Folder, o Options) (Report, error) {
	all := recipes()
	if o.Program != "" {
		program, err := newOwnProgram(o.Program)
		if err != nil {
			return Report{}, err
		}
		all[programName] = program
	}
	return build(ctx, folder, o, all)
}

func build(ctx context.Context, folder *bundle.Folder, o Options, all map[string]recipe) (Report, error) {
	begin := time.Now()
	wanted, err := choose(all, o)
	if err != nil {
		return Report{}, err
	}
	b, err := newBuilder(ctx, folder, o, all)
	if err != nil {
		return Report{}, err
	}
	err = b.whole(ctx, wanted)
	switch {
	case err != nil:
	case len(o.Only) == 0:
		err = b.finish()
	default: // what the items replaced would stay, gigabytes for machines
		b.report.Freed, err = folder.Clean()
	}
	if err == nil && o.DiscardCache {
		err = b.discardCache()
	}
	b.report.Seconds = time.Since(begin).Seconds()
	return b.report, b.partial(err)
}

// choose returns the names to build. Every unknown name and every name without
// a recipe is an error.
func choose(all map[string]recipe, o Options) ([]string, error) {
	more, unknown := optional(o.With)
	if len(o.Only) == 0 {
		return append(buildable(all), more...), unknown
	}
	only, wrong := slices.Concat(o.Only, more), []error{unknown}
	for _, name := range only {
		component, known := component.Find(name)
		_, buildable := all[name]
		switch {
		case !known:
			wrong = append(wrong, fault.Usage("item "+name, errors.New("unknown"), closest(name)))
		case !buildable:
			wrong = append(wrong, fault.Usage("item "+name, fmt.Errorf("cannot be built from source: %s", component.Unbuildable), "pull it with slipway bundle pull --only "+name))
		}
	}
	return only, errors.Join(wrong...)
}

// optional are the items of options.
func optional(names []string) ([]string, error) {
	var items []string
	var wrong []error
	for _, name := range names {
		i := slices.IndexFunc(component.Options(), func(o component.Option) bool { return o.Name == name })
		if i < 0 {
			wrong = append(wrong, fault.Usage("option "+name, errors.New("unknown"), "the options are: "+strings.Join(component.OptionNames(), ", ")))
			continue
		}
		for _, c := range component.Options()[i].Items {
			items = append(items, c.Name)
		}
	}
	return items, errors.Join(wrong...)
}

// closest is the advice for a misspelt name.
func closest(name string) string {
	var near []string
	for _, known := range Names() {
		if strings.Contains(known, name) || strings.Contains(name, known) {
			near = append(near, known)
		}
	}
	if len(near) == 0 {
		return "see `slipway bundle list` for the names"
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}

// partial gives the exit code: what was built before an error is kept.
func (b *builder) partial(err error) error {
	if err == nil || fault.ExitCode(err) == fault.ExitInterrupted {
		return err
	}
	if b.report.Counted("built")+b.report.Counted("unchanged") == 0 {
		return err
	}
	return &fault.Fault{Exit: fault.ExitPartial, Err: err}
}

// platform is what this package builds for: the machine it runs on.
func platform() string { return "linux/" + runtime.GOARCH }

// Platform is the platform of the bundles that Build makes, as "linux/amd64".
func Platform() string { return platform() }
