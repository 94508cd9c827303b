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
		Short: "Check an image manifest and print it in Slipway's own format",
		Long: `Reads an image manifest in any supported format, checks it and prints it with all
defaults filled in. Use it to convert another tool's list into a manifest that you can
keep and edit. It does not contact a cloud.`,
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
