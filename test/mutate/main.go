// Command mutate changes conditions and results of packages, one at a time, and
// lists the changes that no test of the package notices, nor of another that is
// for it: what is promised there is not tested. The files themselves stay as they are: the compiler is
// given an overlay with all changes of a package, of which a run of its tests makes one. So a package
// is compiled and linked once, and a change is tried on those tests only that reach it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// folders are those whose packages are changed when none are named.
var folders = []string{"addons/magnum/...", "addons/janitor", "images/...", "internal/preflight", "stacks/..."}

// others are packages that the tests of another one are for: the API and the program of an
// environment are tested with a whole cloud.
func others() map[string]string {
	const api = "addons/magnum/api"
	return map[string]string{"addons/magnum/openstack": api, "addons/magnum/inventory": api, "addons/magnum/keystone": api, "addons/magnum/v1alpha1": api,
		"stacks/openstack": "stacks"}
}

type options struct {
	sample, most int
	jobs         int
	seed         uint64
	timeout      time.Duration
	others       map[string]string
	out          io.Writer
}

func main() {
	o := options{out: os.Stdout, others: others()}
	flag.IntVar(&o.sample, "sample", 0, "how many changes are tried in each package, by chance; 0 is all")
	flag.Uint64Var(&o.seed, "seed", 1, "of the chance: the same seed tries the same changes of the same files")
	flag.IntVar(&o.most, "most", 10, "how many percent of the changes may survive")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long the tests may take for one change, at most")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many changes are tried at once")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: mutate [flags] [FOLDER...]\nFOLDER/... is also what is below. Without folders: %s\n", strings.Join(folders, " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.start(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// tally counts what became of changes.
type tally struct {
	noticed, broken int
	survivors       []mutation
}

func (o options) start(ctx context.Context, named []string) error {
	if len(named) == 0 {
		named = folders
	}
	dirs, err := packages(named)
	if err != nil {
		return err
	}
	var sum tally
	for i, dir := range dirs {
		if err := o.pack(ctx, dir, &sum); err != nil {
			// What was tried took long: its result is printed also when a package ends the run.
			if i > 0 {
				o.tell(sum)
			}
			if ctx.Err() != nil {
				err = errors.New("stopped by a signal")
			}
			return fmt.Errorf("trying %s, package %d of %d: %w", dir, i+1, len(dirs), err)
		}
	}
	tried := sum.noticed + len(sum.survivors)
	if tried == 0 {
		return errors.New("nothing was changed")
	}
	o.tell(sum)
	if percent(len(sum.survivors), tried) > float64(o.most) {
		return fmt.Errorf("more than %d %% survived", o.most)
	}
	return nil
}

func (o options) tell(sum tally) {
	tried := sum.noticed + len(sum.survivors)
	fmt.Fprintf(o.out, "\n%d changes, %d noticed, %d survived (%.1f %%), %d more do not compile\n", tried, sum.noticed, len(sum.survivors),
		percent(len(sum.survivors), tried), sum.broken)
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// packages are those of the folders that have tests.
func packages(folders []string) ([]string, error) {
	var dirs []string
	for _, folder := range folders {
		root, below := strings.CutSuffix(folder, "/...")
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if entry.Name() == "testdata" || name != root && !below {
				return fs.SkipDir
			}
			if tests, _ := filepath.Glob(filepath.Join(name, "*_test.go")); len(tests) > 0 {
				dirs = append(dirs, filepath.ToSlash(name))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("looking for packages: %w", err)
		}
	}
	return dirs, nil
}

// choose takes a sample. Each package has its own chance, so that a change in one
// does not choose others in the next.
func (o options) choose(dir string, all []mutation) []mutation {
	if o.sample <= 0 || len(all) <= o.sample {
		return all
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(dir))
	chosen := slices.Clone(all)
	rand.New(rand.NewPCG(o.seed, name.Sum64())).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	chosen = chosen[:o.sample]
	slices.SortFunc(chosen, func(a, b mutation) int { return a.id - b.id })
	return chosen
}

// pack tries the changes of one package.
func (o options) pack(ctx context.Context, dir string, sum *tally) error {
	all, err := find(dir)
	if err != nil || len(all) == 0 {
		return err
	}
	began := time.Now()
	tests, broken, err := begin(ctx, dir, dir, all, o.timeout)
	if err != nil {
		return err
	}
	chosen := o.choose(dir, without(all, broken))
	prepared := time.Since(began)
	tell := func(tried int) { fmt.Fprintf(o.out, "    %s: %d of %d tried\n", dir, tried, len(chosen)) }
	left, err := tests.survivors(ctx, chosen, o.jobs, tell)
	if err := errors.Join(err, tests.end()); err != nil {
		return err
	}
	if other := o.others[dir]; other != "" && len(left) > 0 {
		if left, err = o.elsewhere(ctx, other, dir, all, left, tell); err != nil {
			return err
		}
	}
	sum.noticed += len(chosen) - len(left)
	sum.broken += len(broken)
	sum.survivors = append(sum.survivors, left...)
	fmt.Fprintf(o.out, "=== %s: %d of %d changes, %d survived; prepared in %s, tried in %s\n", dir, len(chosen), len(all)-len(broken), len(left),
		prepared.Round(time.Second), (time.Since(began) - prepared).Round(time.Second))
	for _, m := range left {
		reached := ""
		if len(tests.reached[m.id]) == 0 {
			reached = " (no test of the package reaches it)"
		}
		fmt.Fprintf(o.out, "survived: %s%s\n", m, reached)
	}
	return nil
}

// elsewhere tries changes of dir on the tests of another package.
func (o options) elsewhere(ctx context.Context, other, dir string, all, left []mutation, tell func(int)) ([]mutation, error) {
	tests, _, err := begin(ctx, other, dir, all, o.timeout)
	if err != nil {
		return nil, err
	}
	left, err = tests.survivors(ctx, left, o.jobs, tell)
	return left, errors.Join(err, tests.end())
}

func without(all, some []mutation) []mutation {
	return slices.DeleteFunc(slices.Clone(all), func(m mutation) bool {
		return slices.ContainsFunc(some, func(n mutation) bool { return n.id == m.id })
	})
}
