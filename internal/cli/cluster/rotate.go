package cluster

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type rotateOptions struct {
	from    environment.Flags
	timeout target.Timeout
	place
	overlap  time.Duration
	progress string
	format   string
}

func newRotate(streams ui.Streams) *cobra.Command {
	o := rotateOptions{timeout: target.Timeout(30 * time.Minute), overlap: time.Minute, progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "rotate-credential NAME",
		Short: "Give a workload cluster a new application credential, and revoke the former one",
		Long: `Creates a new application credential for a cluster that slipway cluster create made,
writes it into the cluster's Secret and waits until it is on the cluster. Then it restarts
the cloud controller manager and the CSI drivers, which read it only when they start, and
revokes the former credential. Both are valid until then, so nothing is interrupted.

You can run it again: it continues a run that was killed. If the cluster does not answer,
the former credential stays valid. It also replaces a credential that is lost: its Secret is
gone, or Keystone refuses it. With spec.credential.separate of the environment file,
the cluster gets two credentials with different access rules.`,
		Example: `  slipway cluster rotate-credential shop
  slipway cluster rotate-credential shop --overlap 5m -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams, args[0]) })
		},
	}
	flags := cmd.Flags()
	o.from.Add(flags)
	o.timeout.Add(flags)
	o.add(flags)
	flags.DurationVar(&o.overlap, "overlap", o.overlap, "how long the former credential stays valid at least")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// rotated is what rotate-credential prints as data.
type rotated struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	workload.Rotation
}

func (o rotateOptions) run(ctx context.Context, streams ui.Streams, name string) error {
	if o.overlap < workload.MinOverlap {
		return fault.Usage("--overlap", errors.New("it is too short"), "give "+workload.MinOverlap.String()+" or more")
	}
	s, key, err := o.find(ctx, work, o.from, name)
	if err != nil {
		return err
	}
	defer s.close()
	result := rotated{Name: key.Name, Namespace: key.Namespace}
	err = ui.Step(o.progress, streams, name, "rotating the credential", func(step *event.Step) (string, error) {
		result.Rotation, err = s.RotateCredential(ctx, s.cloud, key, o.overlap, step.Wait)
		return "rotated", err
	})
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, result, result.table())
}

func (r rotated) table() ui.Table {
	var footer []string
	for _, line := range []struct {
		word string
		list []string
	}{{"restarted", r.Restarted}, {"revoked", r.Revoked}} {
		if len(line.list) > 0 {
			footer = append(footer, line.word+": "+strings.Join(line.list, ", "))
		}
	}
	head := "cluster " + r.Name + " has application credential " + r.Credential
	if r.CloudProvider != "" {
		head += ", and " + r.CloudProvider + " for what runs on it"
	}
	return ui.Table{Header: []string{head}, Footer: append(footer, r.Notes...)}
}
