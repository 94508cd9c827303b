// Package initialize is `slipway init`.
package initialize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/scaffold"
	"github.com/slipway-sh/slipway/internal/ui"
)

// options are the flags.
type options struct {
	file, name, cloud string
	// admin is the entry of clouds.yaml that registers the Magnum API in the catalog.
	admin         string
	controlPlanes int
	force         bool
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	var o options
	format := "table"
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Inspect a cloud and write a first environment file",
		Long: `Inspects the project and writes a commented environment file: what it found (external
networks, flavors, images, volume types, availability zones, load balancer providers),
what it chose, and why. Nothing in the cloud is changed.`,
		Example: `  slipway init
  slipway init --cloud mycloud --name prod
  slipway init --cloud mycloud --magnum-admin-cloud mycloud-admin
  slipway init -f environments/staging.yaml --force`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := o.run(cmd.Context())
			if err != nil {
				return err
			}
			table := ui.Table{Header: []string{"SETTING", "VALUE", "WHY"}, Footer: []string{"", "written to " + o.file + "; check it with `slipway preflight`"}}
			for _, c := range chosen {
				value := c.Value
				if value == "" {
					value = "-"
				}
				table.Rows = append(table.Rows, []string{c.Setting, value, c.Why})
			}
			return ui.Output(streams.Out, format, chosen, table)
		},
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", config.DefaultFile, "file to write")
	cmd.Flags().StringVar(&o.name, "name", "slipway", "name of the environment")
	cmd.Flags().StringVar(&o.cloud, "cloud", "", "entry of clouds.yaml (default: OS_CLOUD, else the only entry)")
	cmd.Flags().StringVar(&o.admin, "magnum-admin-cloud", "", "entry of clouds.yaml of a Keystone administrator; adds the Magnum-compatible API to the environment")
	cmd.Flags().IntVar(&o.controlPlanes, "control-planes", 3, "machines of the control plane of the management cluster: 1, 3, 5 or 7")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite an existing file")
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

func (o options) run(ctx context.Context) ([]scaffold.Choice, error) {
	if _, err := os.Lstat(o.file); err == nil && !o.force {
		return nil, o.exists()
	}
	c, err := cloud.Open(ctx, cloud.Options{Cloud: o.cloud, Env: environment.System(), UserAgent: environment.UserAgent()})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	snapshot, err := c.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	text, chosen, err := scaffold.File(o.name, o.admin, o.controlPlanes, snapshot)
	if err != nil {
		return nil, err
	}
	if _, err := config.Parse(config.Source{Name: o.file, Text: text}); err != nil {
		return nil, fmt.Errorf("checking the generated environment file: %w", err)
	}
	return chosen, o.write(text)
}

func (o options) exists() error {
	return fault.Usage(o.file, errors.New("the file exists already"), "name another file with -f, or overwrite it with --force")
}

// write writes the file whole or not at all. A file that appeared meanwhile is
// replaced only with --force.
func (o options) write(text []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if o.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(o.file, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return o.exists()
	}
	if err != nil {
		return fault.Usage(o.file, err, "use -f to name a file in a folder that you may write to")
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
