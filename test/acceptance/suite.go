package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// suite is a client's own acceptance tests, run as they are.
type suite struct {
	// name is the folder-less name of the list and of the page.
	name string
	// title and about begin the page.
	title, about string
	services     []service
	// root is what the import paths of packages begin with; results are without.
	root string
	// dir is where go test runs, the working directory when empty.
	dir string
	// args are arguments of go test: what to build, and how long it may take.
	args []string
	// tests matches the names of all tests of the suite; empty is all there are.
	tests string
	// packages are those with tests, without root.
	packages []string
	// again are the reasons of tests that skip themselves and run as somebody
	// else.
	again []again
	// environment is that of the tests on a cloud, besides a login's.
	environment func(*cloud) map[string]string
}

// service is a service of the sandbox and the tests of it.
type service struct {
	name string
	has  func(key) bool
}

// again is a second run, of the tests that skipped themselves with reason, as
// login.
type again struct {
	reason string
	login  func(*cloud) map[string]string
}

// suites are those that there are, by name.
func suites() map[string]func(context.Context, options) (suite, error) {
	return map[string]func(context.Context, options) (suite, error){"gophercloud": gophercloudSuite, "opentofu": opentofuSuite}
}

// runner runs a suite on a cloud.
type runner struct {
	suite
	cloud *cloud
	list  list
	// run narrows the tests.
	run     string
	leftOut bool
}

// passes runs everything as an administrator of a project, and then once more,
// as another user, what skipped itself because it wants one.
func (r runner) passes(ctx context.Context) (results, error) {
	total, err := r.first(ctx, r.cloud.admin())
	if err != nil {
		return nil, err
	}
	for _, a := range r.again {
		packages, names := total.skipped(a.reason)
		if len(names) == 0 {
			continue
		}
		more, err := r.pass(ctx, packages, "^("+strings.Join(names, "|")+")$", "", a.login(r.cloud))
		if err != nil {
			return nil, err
		}
		maps.Copy(total, more)
	}
	return total, nil
}

// first runs all that is listed or new. Tests of several packages share names,
// so that a package with tests left out takes a run of its own.
func (r runner) first(ctx context.Context, login map[string]string) (results, error) {
	total := results{}
	var whole []string
	for _, pkg := range r.packages {
		run, skip := r.run, r.list.pattern(pkg)
		switch {
		case r.leftOut && skip == "":
			continue
		case r.leftOut:
			run, skip = skip, ""
		case skip == "":
			whole = append(whole, pkg)
			continue
		}
		some, err := r.pass(ctx, []string{pkg}, run, skip, login)
		if err != nil {
			return nil, err
		}
		maps.Copy(total, some)
	}
	if len(whole) == 0 {
		return total, nil
	}
	some, err := r.pass(ctx, whole, r.run, "", login)
	maps.Copy(total, some)
	return total, err
}

// pass is one run of go test; tests that fail are no error.
func (r runner) pass(ctx context.Context, packages []string, run, skip string, login map[string]string) (results, error) {
	args := append([]string{"test", "-json", "-p", "1", "-count", "1", "-vet", "off"}, r.args...)
	if run == "" {
		run = r.tests
	}
	for flag, pattern := range map[string]string{"-run": run, "-skip": skip} {
		if pattern == "" {
			continue
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		args = append(args, flag, pattern)
	}
	for _, p := range packages {
		args = append(args, r.root+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.dir
	cmd.Env = environment(os.Environ(), r.environment(r.cloud), login)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	results, err := readResults(out, r.root, os.Stdout)
	exit := cmd.Wait()
	if failed := (*exec.ExitError)(nil); errors.As(exit, &failed) && ctx.Err() == nil {
		exit = nil // the results tell more
	}
	return results, errors.Join(err, exit)
}

// environment is the process's without any OS_ variable of another cloud.
func environment(base []string, more ...map[string]string) []string {
	var env []string
	for _, v := range base {
		if !strings.HasPrefix(v, "OS_") {
			env = append(env, v)
		}
	}
	for _, m := range more {
		for name, value := range m {
			env = append(env, name+"="+value)
		}
	}
	return env
}
