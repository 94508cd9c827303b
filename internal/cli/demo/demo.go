// Package demo is `slipway demo`: an OpenStack in a box, and an environment on it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/ui"
)

// The machine drivers of the sandbox that a demo uses.
const (
	driverContainer = "container"
	driverQEMU      = "qemu"
	driverNone      = "none"
)

// The providers of seeds.
const (
	seedOpenStack = "openstack"
	seedKind      = "kind"
)

type options struct {
	dir, bundle, from, driver, seed, listen string
	keys                                    []string
	unsigned, own, down, yes                bool
	controlPlanes                           int
	// seeds opens the runtime of this machine.
	seeds func(context.Context) (localseed.Provider, error)
}

// run starts a command of slipway in a folder and waits for it.
type run func(ctx context.Context, dir string, args ...string) error

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{driver: driverContainer, seed: seedOpenStack, seeds: environment.LocalSeeds}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Create a whole environment on this machine: a sandbox, and Slipway on it",
		Long: `Completes a bundle, starts a sandbox, writes an environment file and brings the
environment up, each by the command that you would type: it prints them. First it says
what this needs from the machine, and how long it takes.

The environment is in the folder demo; work there with all other commands. Run the same
command again after an interruption: it continues. --down deletes everything, except for
the bundle.`,
		Example: `  sudo slipway demo
  sudo slipway demo --from oci://registry.example.org/slipway/bundle:v0.1.0 --key bundle.pub
  slipway demo --driver none --yes   # all APIs, but no machines
  sudo slipway demo --down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams, child(streams)) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", "demo", "folder of the demo")
	flags.StringVar(&o.bundle, "bundle", "bundle", "folder of the bundle; what it lacks is pulled or built")
	flags.StringVar(&o.from, "from", "", "address of a bundle in a registry to pull first, such as oci://registry.example.org/slipway/bundle:v0.1.0")
	flags.StringSliceVar(&o.keys, "key", nil, "public key of minisign that a bundle of --from must be signed with, or its file")
	flags.BoolVar(&o.unsigned, "unsigned", false, "accept a bundle of --from without checking who signed it")
	flags.BoolVar(&o.own, "own", false, "rebuild the items of the bundle that contain the controllers of another slipway binary")
	ui.ChoiceFlag(flags, &o.driver, "driver", []string{driverContainer, driverQEMU, driverNone}, "what servers are: containers, virtual machines (which need KVM to be fast enough), or nothing")
	ui.ChoiceFlag(flags, &o.seed, "seed", []string{seedOpenStack, seedKind}, "what the seed is: a server of the sandbox, or a container of Docker or Podman on this machine")
	flags.StringVar(&o.listen, "listen", "", "loopback address of the sandbox's APIs, if another sandbox has the usual one; port 0 chooses a free port")
	flags.IntVar(&o.controlPlanes, "control-planes", 0, "machines of the control plane: 1 or 3 (default: 3 if this machine has the memory)")
	flags.BoolVar(&o.down, "down", false, "delete the demo")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask before a bundle is built or the demo is deleted")
	return cmd
}

func (o options) run(ctx context.Context, streams ui.Streams, do run) (err error) {
	if o.dir, err = filepath.Abs(o.dir); err == nil {
		o.bundle, err = filepath.Abs(o.bundle)
	}
	if err != nil {
		return err
	}
	if o.down {
		return o.remove(ctx, streams, do)
	}
	if err := o.validate(); err != nil {
		return err
	}
	estimate, err := o.estimate()
	if err != nil {
		return err
	}
	estimate.print(streams.Err)
	if estimate.build > 0 && !o.yes {
		if err := target.Confirm(ctx, streams, "build it?"); err != nil {
			return err
		}
	}
	return o.create(ctx, streams, do, estimate)
}

// validate tells all mistakes at once, before anything is made.
func (o options) validate() error {
	var wrong []error
	if runtime.GOOS != "linux" {
		wrong = append(wrong, fault.Usage("slipway demo on "+runtime.GOOS, errors.New("the sandbox needs Linux"), "run it on a machine with Linux, or in a virtual machine"))
	}
	if o.driver != driverNone && os.Geteuid() != 0 {
		wrong = append(wrong, fault.Usage("slipway demo", errors.New("machines need root"), "run it with sudo, or without machines with --driver none"))
	}
	if o.controlPlanes != 0 && o.controlPlanes != 1 && o.controlPlanes != 3 {
		wrong = append(wrong, fault.Usage("--control-planes", fmt.Errorf("%d is not 1 or 3", o.controlPlanes), "give 1 or 3, or leave the flag out"))
	}
	if o.from == "" && (len(o.keys) > 0 || o.unsigned) {
		wrong = append(wrong, fault.Usage("--key and --unsigned", errors.New("they are for a bundle of --from"), "give the bundle's address with --from"))
	}
	entries, err := os.ReadDir(o.dir)
	if err == nil && len(entries) > 0 && !o.isDemo() {
		wrong = append(wrong, fault.Usage("--dir "+o.dir, errors.New("the folder is not empty, and no demo"), "name another folder"))
	}
	return errors.Join(wrong...)
}

// marker is a file in the folder of a demo: only a folder with it is deleted.
const marker = ".slipway-demo"

func (o options) isDemo() bool {
	_, err := os.Stat(filepath.Join(o.dir, marker))
	_, old := os.Readlink(filepath.Join(o.dir, "clouds.yaml")) // of make up before there was a marker
	return err == nil || old == nil
}

func (o options) cloud() string { return filepath.Join(o.dir, "cloud") }
