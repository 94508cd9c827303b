package image

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/ui"
)

func newManifest(streams ui.Streams) *cobra.Command {
	o := newOptions()
	o.format = "yaml"
	cmd := &cobra.Command{
		Use:   "manifest",
		Short: "Check a manifest and print it in Slipway's own form",
		Long: `Reads a manifest of any form, checks it and prints it with all defaults filled in.
Another tool's list becomes a manifest that can be kept and edited. No cloud is
asked.`,
		Example: `  slipway image manifest -m manifest.json > images.yaml
  slipway image manifest -o table`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.read(cmd.Context())
			if err != nil {
				return err
			}
			table := ui.Table{Header: []string{"KEY", "NAME", "KUBERNETES", "FORMAT", "VISIBILITY", "SOURCE"}}
			for _, i := range m.Spec.Images {
				table.Rows = append(table.Rows, []string{i.Key, i.Name, cmp.Or(i.KubernetesVersion, "-"), i.DiskFormat(), i.Visibility, i.Source()})
			}
			return ui.Output(streams.Out, o.format, m, table)
		},
	}
	o.manifestFlags(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}
