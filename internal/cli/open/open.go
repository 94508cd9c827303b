// Package open is `slipway open`.
package open

import (
	"context"
	"fmt"
	"net"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/alerts"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands. console is the one that serves the console.
func New(streams ui.Streams, console *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Reach Prometheus, Alertmanager, Loki, Grafana or the console on a port of this machine",
		Args:  cobra.NoArgs,
	}
	for _, program := range []string{"prometheus", "alertmanager", "loki", "grafana"} {
		cmd.AddCommand(newOpen(streams, program))
	}
	cmd.AddCommand(console)
	return cmd
}

type options struct {
	from    environment.Flags
	listen  string
	browser bool
}

func newOpen(streams ui.Streams, program string) *cobra.Command {
	o := options{listen: "127.0.0.1:0"}
	title := map[string]string{"prometheus": "Prometheus", "alertmanager": "Alertmanager", "loki": "Loki", "grafana": "Grafana"}[program]
	cmd := &cobra.Command{
		Use:   program,
		Short: "Reach " + title + " on a port of this machine",
		Long: `Leads from a port of this machine to ` + title + ` on the management cluster, or on the seed
if the environment has none: through the seed, and into its pod as kubectl port-forward does.
It prints the URL, and lasts until you stop it with Ctrl-C.

The port is for this machine only. Other sites in your browser are refused.`,
		Example: fmt.Sprintf("  slipway open %[1]s\n  slipway open %[1]s --listen 127.0.0.1:9090 --browser", program),
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams, program) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringVar(&o.listen, "listen", o.listen, "loopback address and port; port 0 is any free one")
	cmd.Flags().BoolVar(&o.browser, "browser", false, "open the URL in the browser too (xdg-open)")
	return cmd
}

func (o options) run(ctx context.Context, streams ui.Streams, program string) error {
	if err := listen.Loopback(o.listen); err != nil {
		return err
	}
	on, _, leave, err := target.OpenMonitored(ctx, o.from)
	if err != nil {
		return err
	}
	defer leave()
	return o.forward(ctx, streams, alerts.On(on), program)
}

// forward leads to the program until ctx ends, which is how the command is stopped.
func (o options) forward(ctx context.Context, streams ui.Streams, on alerts.Access, program string) error {
	place, err := alerts.Find(ctx, on.Client, program)
	if err != nil {
		return fault.New(program, err, "install it by spec.monitoring (docs/operations/monitoring.md); Grafana comes with kube-prometheus-stack only")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fault.New("--listen "+o.listen, err, "give 127.0.0.1:PORT with a free port, or leave the flag out")
	}
	transport := on.Transport(place)
	defer transport.CloseIdleConnections()
	handler, err := newForwarder(transport, listener.Addr())
	if err == nil {
		err = handler.answers(ctx)
	}
	if err != nil {
		listener.Close()
		return fault.New(program, err, "see kubectl -n "+place.Namespace+" get pods")
	}
	address := "http://" + listener.Addr().String()
	fmt.Fprintln(streams.Out, address)
	fmt.Fprintln(streams.Err, "this leads to "+program+"; Ctrl-C ends it")
	if o.browser {
		if err := exec.CommandContext(ctx, "xdg-open", address).Start(); err != nil {
			fmt.Fprintf(streams.Err, "notice: no browser was opened: %v\n", err)
		}
	}
	return listen.Browser(ctx, listener, handler)
}
