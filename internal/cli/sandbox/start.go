//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/ui"
)

type startOptions struct {
	dir, listen, driver, accel, bundle string
	factor                             float64
	foreground                         bool
}

func newStart(streams ui.Streams) *cobra.Command {
	o := startOptions{listen: sandbox.DefaultListen, driver: driverAuto, accel: qemu.Auto, bundle: "bundle", factor: 1}
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the sandbox in the background",
		Long: `Starts the sandbox in the background and prints how to use it. As root and with a bundle
it uses the driver container: servers are Linux containers that run systemd, with real
networks, volumes and load balancers. If something is missing for that, start says what,
and uses the driver none: all APIs work, but servers become ACTIVE without a machine.

With the driver qemu, servers are virtual machines. With the driver container, single servers
are, if their flavor has the extra spec slipway:driver=qemu, or their image the property
slipway_driver=qemu. --accel auto uses KVM if a small guest has run with it, and else emulates
the processor (tcg): a machine then takes one or two minutes to boot.`,
		Example: `  sudo slipway sandbox start
  slipway sandbox start --driver none --factor 0
  sudo slipway sandbox start --driver qemu --accel kvm
  slipway sandbox start --dir ./cloud --listen 127.0.0.1:0 --foreground`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	dirFlag(cmd, &o.dir)
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", o.listen, "loopback address of the APIs; port 0 chooses a free port")
	flags.StringVar(&o.driver, "driver", o.driver, "machine driver: "+strings.Join(append([]string{driverAuto}, sandbox.Drivers()...), ", "))
	ui.ChoiceFlag(flags, &o.accel, "accel", qemu.Accelerators(), "processors of virtual machines: kvm, or tcg, which emulates them; auto takes kvm where it works")
	flags.StringVar(&o.bundle, "bundle", o.bundle, "folder of a bundle with the OCI runtime; without one the runtime is taken from PATH")
	flags.Float64Var(&o.factor, "factor", o.factor, "duration of operations as a multiple of a real cloud's; 0 means no delay")
	flags.BoolVar(&o.foreground, "foreground", false, "stay in the foreground until a signal arrives")
	return cmd
}

func (o startOptions) run(ctx context.Context, streams ui.Streams) (err error) {
	if o.factor < 0 {
		return fault.Usage("--factor", fmt.Errorf("%g is negative", o.factor), "use 0 or more")
	}
	if o.dir, err = folder(o.dir); err != nil {
		return err
	}
	if err := sandbox.Prepare(o.dir); err != nil {
		return fault.New("sandbox", err, "give another folder with --dir")
	}
	if _, runs, err := sandbox.Running(o.dir); err != nil || runs {
		if err == nil {
			fmt.Fprintln(streams.Out, "The sandbox is already running.")
			err = o.report(ctx, streams)
		}
		return err
	}
	if err := o.choose(streams); err != nil {
		return err
	}
	if o.foreground {
		return o.serve(ctx, streams)
	}
	if err := o.background(ctx); err != nil {
		return err
	}
	return o.report(ctx, streams)
}

// gcPercent is the value of GOGC. With Go's default of 100, listing 100 servers
// spent a third of its time in garbage collection, for a heap of 30 MiB (test/bench).
const gcPercent = 200

// serve runs the cloud itself until a signal arrives.
func (o startOptions) serve(ctx context.Context, streams ui.Streams) error {
	claim, err := sandbox.NewClaim(o.dir)
	if err != nil {
		return fault.New("sandbox", err, "see slipway sandbox status")
	}
	defer claim.Release()
	if os.Getenv("GOGC") == "" { // the operator's own setting wins
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	progress, err := ui.NewProgress("plain", streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	host, err := sandbox.NewHost(o.host(progress))
	if err != nil {
		return fault.New("--driver "+o.driver, err, "start a new one with slipway sandbox reset; see slipway sandbox start --help")
	}
	cloud, err := sandbox.Open(sandbox.Options{Dir: o.dir, Listen: o.listen, Factor: o.factor, Host: host, Events: progress})
	if err != nil {
		return fault.New("sandbox", err, "choose another address with --listen or another folder with --dir")
	}
	err = errors.Join(handOver(o.dir, cloud.CloudsYAML()), claim.Announce(cloud.ControlURL()))
	if err == nil {
		if o.foreground {
			fmt.Fprintf(streams.Out, "The sandbox listens at %s; Ctrl-C stops it.\n", cloud.URL())
		}
		err = cloud.Serve(ctx)
	}
	// The signal that ended it must not prevent cleaning up the host.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return errors.Join(err, cloud.Stop(ending))
}

// report says where the cloud is and what to do next.
func (o startOptions) report(ctx context.Context, streams ui.Streams) error {
	status, err := waitReady(ctx, o.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, `The sandbox listens at %s (driver %s, process %d).
Its state and log are in %s.

Use it from this shell:
  export OS_CLIENT_CONFIG_FILE=%s OS_CLOUD=sandbox
  openstack server list

OS_CLOUD=sandbox-admin logs in as administrator. slipway sandbox stop keeps all
resources, slipway sandbox reset deletes them.
`, status.URL, status.Driver, status.PID, o.dir, quote(filepath.Join(o.dir, "clouds.yaml")))
	return nil
}

// quote makes a path safe to copy into a shell.
func quote(path string) string {
	if strings.ContainsAny(path, " \t'\"\\$`&;()<>|*?[]#~!{}\n") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
