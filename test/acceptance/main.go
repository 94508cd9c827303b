// Command acceptance runs the acceptance tests of a client of OpenStack against
// a sandbox and compares the outcome of each with a list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

type options struct {
	lists, pages, builds string
	run, packages, keep  string
	cloud                string
	update, leftOut      bool
	build                bool
}

func main() {
	var o options
	flag.StringVar(&o.lists, "lists", "test/acceptance", "folder of the lists of tests with the outcome of each")
	flag.StringVar(&o.pages, "pages", "docs/reference", "folder of the pages that are written from the lists")
	flag.StringVar(&o.builds, "builds", "bin", "folder for what is built for the tests")
	flag.StringVar(&o.packages, "packages", "", "run only the packages that match this expression; the rest is not compared")
	flag.StringVar(&o.run, "run", "", "run only the tests that match this expression; the rest is not compared")
	flag.StringVar(&o.keep, "log", "", "file for the output of the tests that failed")
	flag.StringVar(&o.cloud, "cloud", "", "run on this cloud, of the entries NAME and NAME-admin in clouds.yaml, instead of a sandbox; its outcomes may differ as the list of the suite on it says")
	flag.BoolVar(&o.update, "update", false, "write the outcomes to the list instead of comparing, and the page from it")
	flag.BoolVar(&o.leftOut, "left-out", false, "run only the tests that are left out, and name those that pass")
	flag.BoolVar(&o.build, "build", false, "only build what the suite needs")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: acceptance [flags] %s\n", strings.Join(slices.Sorted(maps.Keys(suites())), "|"))
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.start(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

func (o options) start(ctx context.Context, name string) (err error) {
	make := suites()[name]
	if make == nil {
		return fmt.Errorf("no suite %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(suites())), ", "))
	}
	list, err := o.expected(name)
	if err != nil {
		return err
	}
	suite, err := make(ctx, o)
	if err != nil {
		return err
	}
	if o.build {
		return nil
	}
	if suite.packages, err = o.choose(suite.packages); err != nil {
		return err
	}
	results, err := o.results(ctx, suite, list)
	if err != nil {
		return err
	}
	return o.conclude(suite, list, results)
}

// open returns what the tests run on; the sandbox keeps its things in dir.
func (o options) open(ctx context.Context, dir string) (*cloud, error) {
	if o.cloud != "" {
		return openReal(ctx, o.cloud)
	}
	return openSandbox(ctx, dir)
}

func (o options) list(suite string) string { return filepath.Join(o.lists, suite+".txt") }

// differences is the list of the tests of a suite whose outcome is another on a
// real cloud.
func (o options) differences(suite string) string { return filepath.Join(o.lists, suite+"-real.txt") }

// expected is the list of a suite on the chosen cloud.
func (o options) expected(suite string) (list, error) {
	onSandbox, err := readList(o.list(suite))
	if err != nil || o.cloud == "" {
		return onSandbox, err
	}
	differ, err := readList(o.differences(suite))
	if err != nil {
		return nil, err
	}
	return onSandbox.overlaid(differ)
}

func (o options) results(ctx context.Context, suite suite, list list) (_ results, err error) {
	dir, err := os.MkdirTemp("", "slipway-acceptance-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cloud, err := o.open(ctx, filepath.Join(dir, "cloud"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cloud.close()) }()
	return runner{suite: suite, cloud: cloud, run: o.run, list: list, leftOut: o.leftOut}.passes(ctx)
}

// choose returns the packages of the suite that the expression matches.
func (o options) choose(all []string) ([]string, error) {
	pattern, err := regexp.Compile(o.packages)
	if err != nil {
		return nil, fmt.Errorf("-packages: %w", err)
	}
	var chosen []string
	for _, p := range all {
		if pattern.MatchString(p) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

func (o options) partial() bool { return o.run != "" || o.packages != "" }

func (o options) conclude(suite suite, list list, results results) error {
	if o.keep != "" {
		if err := os.WriteFile(o.keep, results.failures(), 0o600); err != nil {
			return err
		}
	}
	if o.leftOut {
		for _, key := range results.with(passed) {
			fmt.Println("passes now:", key)
		}
		return nil
	}
	fmt.Println(results.summary())
	if o.update {
		return o.write(suite, list.updated(results))
	}
	differences := list.compare(results, o.partial())
	for _, d := range differences {
		fmt.Println(d)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%d tests differ from %s", len(differences), o.file(suite.name))
	}
	return nil
}

// file is the list that tells the outcomes on the chosen cloud.
func (o options) file(suite string) string {
	if o.cloud != "" {
		return o.differences(suite)
	}
	return o.list(suite)
}

// write writes the list of the chosen cloud, and the page from both.
func (o options) write(suite suite, next list) error {
	onSandbox, err := readList(o.list(suite.name))
	if err != nil {
		return err
	}
	differ, err := readList(o.differences(suite.name))
	if err != nil {
		return err
	}
	title, where := suite.name+" on the sandbox", next
	if o.cloud == "" {
		onSandbox = next
	} else {
		differ = next.without(onSandbox)
		title, where = suite.name+" on a real OpenStack, where it differs from the sandbox", differ
	}
	return errors.Join(where.write(o.file(suite.name), title),
		os.WriteFile(filepath.Join(o.pages, suite.name+".md"), suite.page(onSandbox, differ), 0o644))
}
