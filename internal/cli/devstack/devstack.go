// Package devstack is `slipway devstack`: what the plugin in the folder devstack of the
// repository calls, phase by phase.
package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devstack",
		Short: "Steps of the devstack plugin",
		Long: `The plugin in the folder devstack of the repository calls these commands from
stack.sh, unstack.sh and clean.sh. They read their settings from the variables of
devstack and local.conf. You need them only to repeat one step by hand. See
docs/get-started/devstack.md.`,
	}
	cmd.AddCommand(newCheck(streams), newTrust(streams), newMissing(streams), newEquip(streams), newConfigure(streams), newCommand(streams), newFirewall(streams), newCluster(streams),
		newPrepare(streams), newInstall(streams), newTempest(streams), newTacker(streams), newUnstack(streams), newSweep(), newClean())
	return cmd
}

// step is a command that needs the settings.
func step(use, short, long, example string, run func(context.Context, devstack.Settings) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := devstack.Read(os.Getenv)
			if err != nil {
				return err
			}
			return run(cmd.Context(), settings)
		},
	}
}

// longStep is a step that shows its progress.
func longStep(streams ui.Streams, use, short, long, example string, run func(context.Context, devstack.Settings, event.Sink) error) *cobra.Command {
	mode := "auto"
	cmd := step(use, short, long, example, func(ctx context.Context, s devstack.Settings) error {
		progress, err := ui.NewProgress(mode, streams)
		if err != nil {
			return err
		}
		defer progress.Close()
		return run(ctx, s, progress)
	})
	ui.ProgressFlag(cmd.Flags(), &mode)
	return cmd
}

func newCheck(streams ui.Streams) *cobra.Command {
	return step("check", "Check the settings and the size of the host",
		`Reports all mistakes in the settings, and whether the host has 16 GB of memory, 60 GB
of free disk and KVM. A smaller host is refused with exit code 3, or accepted with
SLIPWAY_SMALL_MACHINE=True.`, "  slipway devstack check",
		func(_ context.Context, s devstack.Settings) error {
			if s.Tacker {
				if _, err := definitions(s.TackerTypes); err != nil {
					return err
				}
			}
			machine, err := host(s)
			if err != nil {
				return err
			}
			judged := machine.Judge()
			if s.SmallMachine && judged != nil {
				for _, one := range fault.All(judged) {
					fmt.Fprintf(streams.Err, "warning: %v\n", one)
				}
				return nil
			}
			return judged
		})
}

// host reads what this machine has.
func host(s devstack.Settings) (devstack.Machine, error) {
	var m devstack.Machine
	text, err := os.Open("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("reading the memory of the host: %w", err)
	}
	defer text.Close()
	if m.Memory, err = devstack.ReadMemory(text); err != nil {
		return m, fmt.Errorf("reading the memory of the host: %w", err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(existing(s.Dir), &disk); err != nil {
		return m, fmt.Errorf("reading the free disk of the host: %w", err)
	}
	m.Disk = disk.Bavail * uint64(disk.Bsize)
	_, err = os.Stat("/dev/kvm")
	m.KVM = err == nil
	return m, nil
}

// existing is the nearest folder above a path that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || !strings.Contains(path, "/") {
			return path
		}
		path = path[:strings.LastIndex(path, "/")]
		if path == "" {
			return "/"
		}
	}
}

func newConfigure(streams ui.Streams) *cobra.Command {
	return step("configure", "Write the files of the services",
		"Writes the configuration of k3s, a clouds.yaml of the service users, and default values\nof clusters, readable by the user only.", "  slipway devstack configure",
		func(_ context.Context, s devstack.Settings) error {
			if err := errors.Join(s.Mark(), s.Configure()); err != nil {
				return err
			}
			_, err := fmt.Fprintln(streams.Out, s.Dir)
			return err
		})
}

func newCommand(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "command SERVICE",
		Short: "Print how a service is started",
		Long: `Prints two lines for devstack's run_process: the command, and its variables as systemd
takes them. The services are ` + strings.Join(devstack.Services(), ", ") + `.`,
		Example: "  slipway devstack command slipway-api", Args: cobra.ExactArgs(1), ValidArgs: devstack.Services(),
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := devstack.Read(os.Getenv)
		if err != nil {
			return err
		}
		command, err := s.Command(args[0])
		if err != nil {
			return fault.Usage("service", err, "see slipway devstack command --help")
		}
		_, err = fmt.Fprintf(streams.Out, "%s\n%s\n", command.Line, command.Environment)
		return err
	}
	return cmd
}

func newFirewall(ui.Streams) *cobra.Command {
	return step("firewall", "Open the host to pods and nodes",
		"Adds iptables rules with the comment "+devstack.Tag+", so that pods of the management\ncluster reach the APIs on the host and floating IPs, and nodes reach the APIs. Rules that\nare there are left alone. `slipway devstack clean` removes them.", "  slipway devstack firewall",
		func(ctx context.Context, s devstack.Settings) error { return s.Open(ctx, asRoot) })
}

// asRoot runs a program of the host as root.
func asRoot(ctx context.Context, program string, args ...string) (string, error) {
	if os.Geteuid() != 0 {
		program, args = "sudo", append([]string{"-n", program}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return string(out), err
}

// folderCommand is a command that needs the plugin's folder only, because it runs by sudo,
// which passes no variables.
func folderCommand(use, short, long string, run func(ctx context.Context, dir string) error) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.NoArgs,
		Example: "  sudo slipway devstack " + use + " --dir /opt/stack/data/slipway",
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the plugin, SLIPWAY_DIR")
	_ = cmd.MarkFlagRequired("dir") // the flag is there
	return cmd
}

func newSweep() *cobra.Command {
	return folderCommand("sweep", "End what a stopped k3s left running",
		"Ends containers of a k3s that was stopped, and removes their mounts, their bridge and\nthe chains of iptables. The data of k3s stay.",
		func(ctx context.Context, dir string) error { return devstack.Sweep(ctx, asRoot, dir, "/proc") })
}

func newClean() *cobra.Command {
	return folderCommand("clean", "Remove all that the plugin left on the host",
		"Ends what k3s left running, deletes the cluster of mode kind, removes the plugin's\niptables rules, and removes its folder with all data.",
		func(ctx context.Context, dir string) error {
			if err := removeKind(ctx, dir, environment.LocalSeeds); err != nil {
				return err
			}
			return devstack.Clean(ctx, asRoot, dir, "/proc")
		})
}

// open logs in to an entry of clouds.yaml.
func open(ctx context.Context, name string) (*cloud.Cloud, error) {
	return cloud.Open(ctx, cloud.Options{Cloud: name, Env: environment.System(), UserAgent: environment.UserAgent()})
}
