package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// step is a command of slipway, and the folder that it runs in.
type step struct {
	dir  string
	args []string
}

// create does all of it. Each step leaves alone what an earlier run did.
func (o options) create(ctx context.Context, streams ui.Streams, do run, e estimate) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fault.Usage("--dir", err, "name a folder that you may write to")
	}
	lock, err := o.hold()
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the process ends
	start := []string{"sandbox", "start", "--dir", o.cloud(), "--bundle", o.bundle, "--driver", o.driver, "--factor", "0"}
	if o.listen != "" {
		start = append(start, "--listen", o.listen)
	}
	for _, s := range append(o.bundleSteps(e), step{o.dir, start}) {
		if err := o.do(ctx, streams, do, s); err != nil {
			return err
		}
	}
	if err := o.links(); err != nil {
		return err
	}
	if err := o.environment(ctx, streams, do, e); err != nil {
		return err
	}
	for _, s := range o.last(e) {
		if err := o.do(ctx, streams, do, s); err != nil {
			return err
		}
	}
	o.next(streams)
	return nil
}

// last are the steps on the environment. Without machines it cannot come up, and
// without a bundle there is nothing to plan with.
func (o options) last(e estimate) []step {
	switch {
	case e.machines:
		return []step{{o.dir, []string{"up", "--yes"}}, {o.dir, []string{"status"}}}
	case e.empty && o.from == "":
		return []step{{o.dir, []string{"sandbox", "status", "--dir", o.cloud()}}}
	}
	return []step{{o.dir, []string{"plan"}}}
}

func (o options) bundleSteps(e estimate) []step {
	if o.from != "" {
		args := []string{"bundle", "pull", o.from, "--dir", o.bundle}
		for _, key := range o.keys {
			args = append(args, "--key", key)
		}
		if o.unsigned {
			args = append(args, "--unsigned")
		}
		return []step{{"", args}}
	}
	if !e.machines {
		return nil
	}
	args := []string{"bundle", "ensure", "--dir", o.bundle}
	if o.own {
		args = append(args, "--own")
	}
	return []step{{"", args}}
}

// do prints a command and runs it.
func (o options) do(ctx context.Context, streams ui.Streams, do run, s step) error {
	line := "slipway " + strings.Join(s.args, " ")
	if s.dir != "" {
		line = "cd " + s.dir + " && " + line
	}
	fmt.Fprintf(streams.Err, "\n$ %s\n", line)
	return do(ctx, s.dir, s.args...)
}

// links are where an environment file looks for its cloud and its bundle.
func (o options) links() error {
	for name, to := range map[string]string{"clouds.yaml": filepath.Join(o.cloud(), "clouds.yaml"), "bundle": o.bundle} {
		path := filepath.Join(o.dir, name)
		if old, err := os.Readlink(path); err == nil && old == to {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Symlink(to, path); err != nil {
			return err
		}
	}
	return nil
}

// environment writes the environment file, unless it is there: you may have
// changed it. One with a seed on this machine is written under another name first,
// so that a killed run leaves no file without the seed's provider.
func (o options) environment(ctx context.Context, streams ui.Streams, do run, e estimate) error {
	path := filepath.Join(o.dir, config.DefaultFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	draft := config.DefaultFile
	if o.seed == seedKind {
		draft = ".draft.yaml"
	}
	args := []string{"init", "--cloud", "sandbox", "--name", "demo", "--magnum-admin-cloud", "sandbox-admin", "--control-planes", strconv.Itoa(e.controlPlanes), "--force", "--file", draft}
	if err := o.do(ctx, streams, do, step{o.dir, args}); err != nil {
		return err
	}
	if o.seed != seedKind {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(o.dir, draft))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.dir, draft), []byte(kindSeed(string(text))), 0o644); err != nil {
		return err
	}
	return os.Rename(filepath.Join(o.dir, draft), path)
}

// kindSeed makes the seed of an environment file a container on this machine. Of
// the settings of a seed server only the network has an effect then.
func kindSeed(text string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		setting := len(line) > 2 && strings.HasPrefix(line, "  ") && line[2] != ' '
		switch {
		case line == "  seed:\n":
			inside = true
			out.WriteString(line + "    provider: kind\n    network:\n")
			continue
		case setting:
			inside = false
		}
		if !inside || strings.HasPrefix(line, "      cidr:") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func (o options) next(streams ui.Streams) {
	if o.driver == driverNone {
		fmt.Fprintf(streams.Out, "\nThe sandbox runs without machines. Look around in %s: slipway config show, slipway preflight.\n", o.dir)
	} else {
		fmt.Fprintf(streams.Out, "\nContinue in %s:\n  KUBECONFIG=.slipway/management.kubeconfig %s get nodes\n", o.dir, filepath.Join(o.bundle, "bin", "kubectl"))
	}
	fmt.Fprintf(streams.Out, "Delete all of it:\n  slipway demo --down --dir %s\n", o.dir)
}

// remove deletes the seed of an interrupted run, the sandbox with all its machines, and the folder.
func (o options) remove(ctx context.Context, streams ui.Streams, do run) error {
	if _, err := os.Stat(o.dir); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(streams.Out, "There is no demo in %s.\n", o.dir)
		return nil
	}
	if !o.isDemo() {
		return fault.Usage("--dir "+o.dir, errors.New("this folder is no demo"), "name the folder of the demo")
	}
	lock, err := o.hold()
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the process ends
	if err := o.idle(); err != nil {
		return err
	}
	if !o.yes {
		if err := target.Confirm(ctx, streams, "delete the demo in "+o.dir+"?"); err != nil {
			return err
		}
	}
	if err := o.removeSeed(ctx, streams); err != nil {
		return err
	}
	if err := o.do(ctx, streams, do, step{"", []string{"sandbox", "reset", "--dir", o.cloud()}}); err != nil {
		return err
	}
	if err := os.RemoveAll(o.dir); err != nil {
		return fault.New(o.dir, err, "run the same command again as the user who created the demo")
	}
	fmt.Fprintln(streams.Out, "The demo is deleted; its bundle stays.")
	return nil
}
