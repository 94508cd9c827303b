package source

import (
	"context"
	_ "embed" // the list of packages
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

//go:embed hostpackages.txt
var hostPackages string

// HostPackages lists the Debian packages that a build needs on the host.
func HostPackages() []string {
	var names []string
	for line := range strings.Lines(hostPackages) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names
}

// Preflight checks what a build needs of the host before anything is made. All
// findings come at once, with fault.ExitPreflight.
func Preflight(ctx context.Context, o Options) error {
	names, err := choose(recipes(), o)
	if err != nil {
		return err
	}
	var found []error
	refuse := func(object, remedy, format string, args ...any) {
		found = append(found, &fault.Fault{Exit: fault.ExitPreflight, Object: object, Remedy: remedy, Err: fmt.Errorf(format, args...)})
	}
	if _, err := exec.LookPath("go"); err != nil {
		refuse("go", "install Go from your distribution or from go.dev", "%w", err)
	}
	if missing := missingPackages(ctx, o.Env); len(missing) > 0 {
		refuse("host packages", "run make build-deps, or apt-get install "+strings.Join(missing, " "), "not installed: %s", strings.Join(missing, ", "))
	}
	if os.Geteuid() != 0 && needsRoot(names) {
		refuse("root rights", "run with sudo -E, or leave out machines and images with --only", "unpacking Debian packages with their owners needs root")
	}
	return errors.Join(found...)
}

// missingPackages asks dpkg. On a system without it the tools are looked up
// when they are run.
func missingPackages(ctx context.Context, env []string) []string {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "dpkg-query", append([]string{"-W", "-f", "${db:Status-Abbrev}${Package}\n"}, HostPackages()...)...)
	cmd.Env = env
	out, _ := cmd.Output() // it fails when a package is unknown, and prints the others
	installed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "ii "); ok {
			installed[name] = true
		}
	}
	return slices.DeleteFunc(HostPackages(), func(name string) bool { return installed[name] })
}

// needsRoot reports whether any of the items is, or has a base, made of Debian packages.
func needsRoot(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		component, _ := component.Find(name)
		return component.Kind == bundle.Machine || component.Kind == bundle.Image
	})
}
