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

const (
	root = "github.com/gophercloud/gophercloud/v2/internal/acceptance/openstack/"
	tags = "fixtures acceptance"
)

// services are the folders of the suite for the services of the sandbox, with
// the name that each has in the page.
var services = []struct{ folder, name string }{
	{"identity/v3", "Keystone"}, {"compute/v2", "Nova"}, {"networking/v2", "Neutron"}, {"blockstorage/v3", "Cinder"},
	{"image/v2", "Glance"}, {"loadbalancer/v2", "Octavia"}, {"keymanager/v1", "Barbican"}, {"objectstorage/v1", "Swift"},
}

// listPackages returns the packages with tests, without root.
func listPackages(ctx context.Context) ([]string, error) {
	args := []string{"list", "-tags", tags, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	for _, s := range services {
		args = append(args, root+s.folder+"/...")
	}
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing gophercloud's packages: %w", err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		packages = append(packages, strings.TrimPrefix(strings.TrimSpace(line), root))
	}
	return packages, nil
}

// suite runs the tests.
type suite struct {
	cloud    *cloud
	packages []string
	run      string
	list     list
	leftOut  bool
}

// passes runs everything as an administrator of a project, and then once more,
// as another user, what skipped itself because it wants one.
func (s suite) passes(ctx context.Context) (results, error) {
	passwords := s.cloud.Passwords()
	admin := s.cloud.login("admin", passwords.Admin)
	total, err := s.first(ctx, admin)
	if err != nil {
		return nil, err
	}
	system := maps.Clone(admin)
	system["OS_SYSTEM_SCOPE"] = "all"
	for _, again := range []struct {
		reason string
		login  map[string]string
	}{
		{"must be a non-admin", s.cloud.login("demo", passwords.Demo)},
		{"must use system scope", system},
	} {
		packages, names := total.skipped(again.reason)
		if len(names) == 0 {
			continue
		}
		more, err := s.pass(ctx, packages, "^("+strings.Join(names, "|")+")$", "", again.login)
		if err != nil {
			return nil, err
		}
		maps.Copy(total, more)
	}
	return total, nil
}

// first runs all that is listed or new. Tests of several packages share names,
// so that a package with tests left out takes a run of its own.
func (s suite) first(ctx context.Context, login map[string]string) (results, error) {
	total := results{}
	var whole []string
	for _, pkg := range s.packages {
		run, skip := s.run, s.list.pattern(pkg)
		switch {
		case s.leftOut && skip == "":
			continue
		case s.leftOut:
			run, skip = skip, ""
		case skip == "":
			whole = append(whole, pkg)
			continue
		}
		some, err := s.pass(ctx, []string{pkg}, run, skip, login)
		if err != nil {
			return nil, err
		}
		maps.Copy(total, some)
	}
	if len(whole) == 0 {
		return total, nil
	}
	some, err := s.pass(ctx, whole, s.run, "", login)
	maps.Copy(total, some)
	return total, err
}

// pass is one run of go test; tests that fail are no error.
func (s suite) pass(ctx context.Context, packages []string, run, skip string, login map[string]string) (results, error) {
	args := []string{"test", "-json", "-p", "1", "-count", "1", "-vet", "off", "-timeout", "15m", "-tags", tags}
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
		args = append(args, root+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = environment(os.Environ(), s.cloud.environment, login)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	results, err := readResults(out, os.Stdout)
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
