// Command mutate changes conditions and results of packages, one at a time, and
// lists the changes that no test of the package notices, nor of another that is
// for it: what is promised there is not tested. The files themselves stay as they are: the compiler is given
// the change as an overlay.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// folders are those whose packages are changed when none are named.
var folders = []string{"addons/magnum", "addons/janitor", "images", "internal/preflight", "stacks"}

// others are packages that the tests of another one are for: the API and the program of an
// environment are tested with a whole cloud.
func others() map[string]string {
	const api = "addons/magnum/api"
	return map[string]string{"addons/magnum/openstack": api, "addons/magnum/inventory": api, "addons/magnum/keystone": api, "addons/magnum/v1alpha1": api,
		"stacks/openstack": "stacks"}
}

type options struct {
	sample, most int
	seed         uint64
	timeout      time.Duration
	others       map[string]string
	out          io.Writer
}

func main() {
	o := options{out: os.Stdout, others: others()}
	flag.IntVar(&o.sample, "sample", 8, "how many changes are tried in each package, by chance; 0 is all")
	flag.Uint64Var(&o.seed, "seed", 1, "of the chance: the same seed tries the same changes of the same files")
	flag.IntVar(&o.most, "most", 10, "how many percent of the changes may survive")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long the tests may take for one change, with the compiler")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: mutate [flags] [FOLDER...]\nWithout folders: %s\n", strings.Join(folders, " "))
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

func (o options) start(ctx context.Context, below []string) error {
	if len(below) == 0 {
		below = folders
	}
	dirs, err := packages(below)
	if err != nil {
		return err
	}
	var sum tally
	for _, dir := range dirs {
		if err := o.pack(ctx, dir, &sum); err != nil {
			return err
		}
	}
	tried := sum.noticed + len(sum.survivors)
	if tried == 0 {
		return errors.New("nothing was changed")
	}
	fmt.Fprintf(o.out, "\n%d changes, %d noticed, %d survived (%.1f %%), %d more do not compile\n", tried, sum.noticed, len(sum.survivors), percent(len(sum.survivors), tried), sum.broken)
	for _, m := range sum.survivors {
		fmt.Fprintln(o.out, "survived:", m)
	}
	if percent(len(sum.survivors), tried) > float64(o.most) {
		return fmt.Errorf("more than %d %% survived", o.most)
	}
	return nil
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// packages are the folders below that have tests.
func packages(below []string) ([]string, error) {
	var dirs []string
	for _, root := range below {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if entry.Name() == "testdata" {
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
	slices.SortFunc(chosen, func(a, b mutation) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.from - b.from
	})
	return chosen
}

// pack tries the changes of one package.
func (o options) pack(ctx context.Context, dir string, sum *tally) error {
	all, err := find(dir)
	if err != nil {
		return err
	}
	chosen := o.choose(dir, all)
	if len(chosen) == 0 {
		return nil
	}
	began := time.Now()
	if end, text, err := o.test(ctx, dir, ""); err != nil || end != unnoticed {
		return fmt.Errorf("the tests of %s fail without a change: %w\n%s", dir, err, text)
	}
	fmt.Fprintf(o.out, "=== %s: %d of %d changes; the tests take %s\n", dir, len(chosen), len(all), time.Since(began).Round(time.Second))
	for _, m := range chosen {
		end, err := o.try(ctx, dir, m)
		if err != nil {
			return err
		}
		switch end {
		case unnoticed:
			sum.survivors = append(sum.survivors, m)
			fmt.Fprintln(o.out, "survived:", m)
		case noticed:
			sum.noticed++
		case uncompiled:
			sum.broken++
		}
	}
	return nil
}

// ending is what the tests say to a change.
type ending int

const (
	unnoticed ending = iota
	noticed
	uncompiled
)

// try tests a package with a change.
func (o options) try(ctx context.Context, dir string, m mutation) (ending, error) {
	work, err := os.MkdirTemp("", "slipway-mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	text, err := os.ReadFile(m.file)
	if err != nil {
		return 0, err
	}
	changed, overlay := filepath.Join(work, "changed.go"), filepath.Join(work, "overlay.json")
	original, err := filepath.Abs(m.file)
	if err != nil {
		return 0, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(text), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return 0, err
	}
	end, _, err := o.test(ctx, dir, overlay)
	if other := o.others[dir]; err == nil && end == unnoticed && other != "" {
		end, _, err = o.test(ctx, other, overlay)
	}
	return end, err
}

// test runs a package's tests. Those that never end are a way to notice.
func (o options) test(ctx context.Context, dir, overlay string) (ending, []byte, error) {
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=" + o.timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(limited, "go", append(args, "./"+dir)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, text, ctx.Err()
	case limited.Err() != nil:
		return noticed, text, nil
	case err == nil:
		return unnoticed, text, nil
	case !errors.As(err, &exit):
		return 0, text, fmt.Errorf("testing %s: %w", dir, err)
	case bytes.Contains(text, []byte("[build failed]")) || bytes.Contains(text, []byte("[setup failed]")):
		return uncompiled, text, nil
	}
	return noticed, text, nil
}
