// Package logs is `slipway logs`.
package logs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from    environment.Flags
	lines   int
	follow  bool
	console bool
	pods    string
	grep    string
	since   time.Duration
}

// defaultSince is how far back Loki looks if nobody says.
const defaultSince = time.Hour

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{lines: 100, since: defaultSince}
	cmd := &cobra.Command{
		Use:   "logs [UNIT]",
		Short: "Show the seed's journal, or the logs of the management cluster's pods",
		Long: `Shows the end of the seed's journal, or of one systemd unit such as k3s or slipway-data.

With --console it shows the end of the seed's console log, as the cloud keeps it. That
needs no login to the seed, so it works while the seed does not boot.

With --pods it shows the newest lines of the management cluster's pods of a namespace, or
of those whose name begins so, from Loki (spec.monitoring): also of pods and nodes that
are gone. Each line begins with its time, its node, its pod and its container.`,
		Example: `  slipway logs k3s
  slipway logs k3s --follow
  slipway logs --console --lines 1000 | grep cloud-init
  slipway logs --pods capo-system --since 6h --grep error
  slipway logs --pods kube-system/etcd --lines 1000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().IntVar(&o.lines, "lines", o.lines, "number of lines to show, from the end")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "keep showing new lines")
	cmd.Flags().BoolVar(&o.console, "console", false, "show the console log, which the cloud keeps, instead of the journal")
	cmd.Flags().StringVar(&o.pods, "pods", "", "show logs of pods instead: NAMESPACE, or NAMESPACE/POD with the beginning of the pod's name")
	cmd.Flags().DurationVar(&o.since, "since", o.since, "how far back to look, with --pods")
	cmd.Flags().StringVar(&o.grep, "grep", "", "show only lines that contain this text, with --pods")
	return cmd
}

func (o options) run(ctx context.Context, streams ui.Streams, units []string) error {
	if o.pods != "" {
		return o.printPods(ctx, streams, units)
	}
	if err := o.withoutPods(); err != nil {
		return err
	}
	if o.console {
		return o.printConsole(ctx, streams, units)
	}
	seed, _, err := target.OpenSeed(ctx, o.from)
	if err != nil {
		return err
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	args := []string{"--no-pager", "--lines", strconv.Itoa(o.lines)}
	for _, unit := range units {
		args = append(args, "--unit", unit)
	}
	if o.follow {
		args = append(args, "--follow")
	}
	if err := machine.Pipe(ctx, nil, streams.Out, "journalctl", args...); err != nil {
		return fault.New("journal of "+seed.Name, err, "list the units with slipway ssh -- systemctl list-units")
	}
	return nil
}

// withoutPods refuses what only the logs of pods can do.
func (o options) withoutPods() error {
	var wrong []error
	if o.grep != "" {
		wrong = append(wrong, fault.Usage("--grep", errors.New("it is for --pods"), "pipe the output into grep"))
	}
	if o.since != defaultSince {
		wrong = append(wrong, fault.Usage("--since", errors.New("it is for --pods"), "give --lines instead"))
	}
	return errors.Join(wrong...)
}

// printConsole prints the console log, which has no units and cannot be followed.
func (o options) printConsole(ctx context.Context, streams ui.Streams, units []string) error {
	const fix = "give --console without a unit and without --follow"
	var mistakes []error
	if len(units) > 0 {
		mistakes = append(mistakes, fault.Usage("unit "+units[0], errors.New("the console log has no units"), fix))
	}
	if o.follow {
		mistakes = append(mistakes, fault.Usage("--follow", errors.New("the cloud cannot follow the console log"), fix))
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	text, err := target.ConsoleLog(ctx, o.from, o.lines)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(streams.Out, text)
	return err
}
