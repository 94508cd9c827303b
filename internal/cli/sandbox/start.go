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
	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/ui"
)

type startOptions struct {
	dir, listen, driver, bundle string
	factor                      float64
	foreground                  bool
}

func newStart(streams ui.Streams) *cobra.Command {
	o := startOptions{listen: sandbox.DefaultListen, driver: driverAuto, bundle: "bundle", factor: 1}
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the sandbox in the background and say how to use it",
		Long: `Start runs the cloud in the background. As root, with the bundle at hand, servers
are Linux containers that run systemd on networks, volumes and load balancers
that are real; that is the driver container. Without root or what else it needs
start says so, and the driver is none: all APIs work, servers become ACTIVE
without a machine.`,
		Example: `  sudo slipway sandbox start
  slipway sandbox start --driver none --factor 0
  slipway sandbox start --dir ./cloud --listen 127.0.0.1:0 --foreground`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	dirFlag(cmd, &o.dir)
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", o.listen, "loopback address of the APIs; port 0 takes a free one")
	flags.StringVar(&o.driver, "driver", o.driver, "what stands behind servers: "+strings.Join(append([]string{driverAuto}, sandbox.Drivers()...), ", "))
	flags.StringVar(&o.bundle, "bundle", o.bundle, "bundle that has the OCI runtime; without one it is taken from the PATH")
	flags.Float64Var(&o.factor, "factor", o.factor, "how long operations take, as a multiple of a cloud's time; 0 is at once")
	flags.BoolVar(&o.foreground, "foreground", false, "stay in the foreground until a signal comes")
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
		return fault.New("sandbox", err, "name another folder with --dir")
	}
	if _, runs, err := sandbox.Running(o.dir); err != nil || runs {
		if err == nil {
			fmt.Fprintln(streams.Out, "The sandbox runs already.")
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

// gcPercent is how much garbage there may be beside what lives, in percent. By Go's
// default of 100 a list of 100 servers spent a third of its time in collecting, for
// a heap of 30 MiB (test/bench).
const gcPercent = 200

// serve is the cloud itself, until a signal.
func (o startOptions) serve(ctx context.Context, streams ui.Streams) error {
	claim, err := sandbox.NewClaim(o.dir)
	if err != nil {
		return fault.New("sandbox", err, "see slipway sandbox status")
	}
	defer claim.Release()
	if os.Getenv("GOGC") == "" { // whoever sets it knows better
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	progress, err := ui.NewProgress("plain", streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	host, err := sandbox.NewHost(o.host(progress))
	if err != nil {
		return fault.New("--driver "+o.driver, err, "slipway sandbox reset begins a new one; see slipway sandbox start --help")
	}
	cloud, err := sandbox.Open(sandbox.Options{Dir: o.dir, Listen: o.listen, Factor: o.factor, Host: host, Events: progress})
	if err != nil {
		return fault.New("sandbox", err, "another address is chosen with --listen, another folder with --dir")
	}
	err = errors.Join(handOver(o.dir, cloud.CloudsYAML()), claim.Announce(cloud.ControlURL()))
	if err == nil {
		if o.foreground {
			fmt.Fprintf(streams.Out, "The sandbox answers at %s; Ctrl-C stops it.\n", cloud.URL())
		}
		err = cloud.Serve(ctx)
	}
	// The signal that ended it must not keep the host from being cleaned.
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
	fmt.Fprintf(streams.Out, `The sandbox answers at %s (driver %s, process %d).
State and log are in %s.

Use it from this shell:
  export OS_CLIENT_CONFIG_FILE=%s OS_CLOUD=sandbox
  openstack server list

OS_CLOUD=sandbox-admin is the administrator. slipway sandbox stop keeps what was
made, slipway sandbox reset deletes it.
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
