// Command gophercloud runs gophercloud's own acceptance tests against a
// sandbox and compares the outcome of each with expected.txt.
//
// The tests are internal packages of the module that go.mod requires; go test
// runs them from the module cache as they are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

type options struct {
	expected, page, run, packages, keep string
	update, leftOut                     bool
}

func main() {
	var o options
	flag.StringVar(&o.expected, "expected", "test/acceptance/gophercloud/expected.txt", "list of tests with the outcome of each")
	flag.StringVar(&o.page, "page", "docs/reference/gophercloud.md", "page that is written from the list")
	flag.StringVar(&o.packages, "packages", "", "run only the packages that match this expression; the rest is not compared")
	flag.StringVar(&o.run, "run", "", "run only the tests that match this expression; the rest is not compared")
	flag.StringVar(&o.keep, "log", "", "file for the output of the tests that failed")
	flag.BoolVar(&o.update, "update", false, "write the outcomes to the list instead of comparing, and the page from it")
	flag.BoolVar(&o.leftOut, "left-out", false, "run only the tests that are left out, and name those that pass")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gophercloud:", err)
		os.Exit(1)
	}
}

func (o options) start(ctx context.Context) (err error) {
	list, err := readList(o.expected)
	if err != nil {
		return err
	}
	packages, err := o.choose(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "slipway-gophercloud-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cloud, err := openCloud(ctx, filepath.Join(dir, "cloud"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.close()) }()
	suite := suite{cloud: cloud, packages: packages, run: o.run, list: list, leftOut: o.leftOut}
	results, err := suite.passes(ctx)
	if err != nil {
		return err
	}
	return o.conclude(list, results)
}

// choose returns the packages of the suite that the expression matches.
func (o options) choose(ctx context.Context) ([]string, error) {
	pattern, err := regexp.Compile(o.packages)
	if err != nil {
		return nil, fmt.Errorf("-packages: %w", err)
	}
	all, err := listPackages(ctx)
	if err != nil {
		return nil, err
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

func (o options) conclude(list list, results results) error {
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
		list = list.updated(results)
		return errors.Join(list.write(o.expected), os.WriteFile(o.page, list.page(), 0o644))
	}
	differences := list.compare(results, o.partial())
	for _, d := range differences {
		fmt.Println(d)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%d tests differ from %s", len(differences), o.expected)
	}
	return nil
}
