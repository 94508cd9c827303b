//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/ui"
)

type statusOptions struct{ dir, format string }

// state is what status prints as data.
type state struct {
	Running bool   `json:"running"`
	Dir     string `json:"dir"`
	// CloudsYAML is the path of the file for OpenStack's clients.
	CloudsYAML string `json:"cloudsYAML,omitempty"`
	*sandbox.Status
}

func newStatus(streams ui.Streams) *cobra.Command {
	o := statusOptions{format: "table"}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show whether and where the sandbox is running",
		Example: "  slipway sandbox status\n  slipway sandbox status -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	dirFlag(cmd, &o.dir)
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o statusOptions) run(ctx context.Context, streams ui.Streams) error {
	dir, err := folder(o.dir)
	if err != nil {
		return err
	}
	s := state{Dir: dir}
	status, err := ask(ctx, dir)
	switch {
	case err == nil:
		s.Running, s.Status, s.CloudsYAML = true, &status, filepath.Join(dir, "clouds.yaml")
	case !errors.Is(err, errStopped):
		return err
	}
	return ui.Output(streams.Out, o.format, s, s.table())
}

func (s state) table() ui.Table {
	if !s.Running {
		return ui.Table{Header: []string{"WHAT", "VALUE"}, Rows: [][]string{{"running", "no"}, {"folder", s.Dir}}}
	}
	return ui.Table{Header: []string{"WHAT", "VALUE"}, Rows: [][]string{
		{"running", "yes"}, {"address", s.URL}, {"process", fmt.Sprint(s.PID)}, {"driver", s.Driver},
		{"factor", fmt.Sprint(s.Factor)}, {"started", s.Started.Local().Format("2006-01-02 15:04:05")},
		{"services", strings.Join(s.Services, ", ")}, {"fault rules", fmt.Sprint(s.Faults)},
		{"folder", s.Dir}, {"clouds.yaml", s.CloudsYAML},
	}}
}
