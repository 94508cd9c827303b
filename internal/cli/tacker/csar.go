package tacker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newCSAR(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "csar",
		Short: "Make and verify VNF packages",
		Long: `Makes VNF packages that Tacker's v2 API takes. The same input makes the same bytes, and
the package's vnfdId changes if and only if its content does.`,
	}
	cmd.AddCommand(newManagement(streams), newWorkload(streams), newVerify(streams))
	return cmd
}

// packageOptions are the flags of the commands that make a package.
type packageOptions struct {
	variant, types, out, format string
}

func (o *packageOptions) add(flags *pflag.FlagSet) {
	o.format = "table"
	ui.ChoiceFlag(flags, &o.variant, "variant", csar.Variants(), "what the package deploys: a chart, or plain manifests")
	flags.StringVar(&o.types, "types", "", "folder with ETSI's SOL001 2.6.1 definitions (etsi_nfv_sol001_common_types.yaml and etsi_nfv_sol001_vnfd_types.yaml)")
	flags.StringVar(&o.out, "out", "", "package to write (default: NAME.csar)")
	ui.FormatFlag(flags, &o.format)
}

func newWorkload(streams ui.Streams) *cobra.Command {
	o := packageOptions{variant: string(csar.Helm)}
	cmd := &cobra.Command{
		Use:   "workload SPEC",
		Short: "Make the package of a workload cluster",
		Long: `Reads a spec, a YAML file with the name of the package and the values of the chart
openstack-cluster, and writes a package. All mistakes are reported before anything is
written. A package holds no secret: the credential of the cloud stays in a Secret on the
management cluster.`,
		Example: `  slipway tacker csar workload shop.yaml --types sol001
  slipway tacker csar workload shop.yaml --types sol001 --variant raw --out shop-raw.csar -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := read("SPEC", args[0])
			if err != nil {
				return err
			}
			spec, err := csar.ParseSpec(args[0], text)
			if err != nil {
				return err
			}
			return o.write(streams, func(made csar.Options) (*csar.Package, error) { return csar.Workload(spec, made) })
		},
	}
	o.add(cmd.Flags())
	return cmd
}

func newManagement(streams ui.Streams) *cobra.Command {
	o, folder := packageOptions{variant: string(csar.Helm)}, "bundle"
	spec := csar.Spec{Name: "capi-mgmt"}
	cmd := &cobra.Command{
		Use:   "mgmt",
		Short: "Make the package of a management cluster",
		Long: `Writes a package that puts cert-manager, Cluster API, its kubeadm providers, the provider
for OpenStack and its resource controller on a cluster, in the versions of a bundle. The
package's script refuses to terminate it while clusters exist.`,
		Example: `  slipway tacker csar mgmt --bundle bundle --types sol001
  slipway tacker csar mgmt --types sol001 --variant raw --out capi-raw.csar`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.write(streams, func(made csar.Options) (*csar.Package, error) {
				return management(cmd.Context(), folder, spec, made)
			})
		},
	}
	o.add(cmd.Flags())
	cmd.Flags().StringVar(&folder, "bundle", folder, "folder of the bundle")
	cmd.Flags().StringVar(&spec.Name, "name", spec.Name, "name of the package")
	cmd.Flags().StringVar(&spec.Version, "package-version", "1.0.0", "version of the package")
	cmd.Flags().StringVar(&spec.Provider, "provider", "", "provider of the VNF (default: Slipway)")
	return cmd
}

func management(ctx context.Context, folder string, spec csar.Spec, made csar.Options) (*csar.Package, error) {
	b, err := bundle.Open(folder)
	if err != nil {
		return nil, err
	}
	objects, err := clusterctl.Objects(ctx, b)
	if err != nil {
		return nil, err
	}
	return csar.Management(spec, objects, made)
}

// made is what the commands print as data.
type made struct {
	File   string `json:"file"`
	VNFDID string `json:"vnfdId"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

func (o packageOptions) write(streams ui.Streams, build func(csar.Options) (*csar.Package, error)) error {
	types, err := csar.ReadTypes(o.types)
	if err != nil {
		return err
	}
	p, err := build(csar.Options{Variant: csar.Variant(o.variant), Types: types})
	if err != nil {
		return err
	}
	text, err := p.Zip()
	if err != nil {
		return err
	}
	file := cmp.Or(o.out, p.Name+".csar")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fault.Usage("--out", err, "name a file that you may write")
	}
	sum := sha256.Sum256(text)
	result := made{file, p.ID, hex.EncodeToString(sum[:]), len(text)}
	return ui.Output(streams.Out, o.format, result, ui.Table{Header: []string{"FILE", "VNFD ID", "SHA-256"}, Rows: [][]string{{result.File, result.VNFDID, result.SHA256}}})
}

func newVerify(streams ui.Streams) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "verify PACKAGE",
		Short: "Verify a package's layout, digests and definitions",
		Long: `Checks what Tacker checks when it onboards a package, and what it relies on later without
a look: every digest, and whether VDUs, aspects, deltas and levels fit together. Any
CSAR will do. All mistakes are reported.`,
		Example: "  slipway tacker csar verify shop.csar",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := read("PACKAGE", args[0])
			if err != nil {
				return err
			}
			content, err := csar.Verify(text)
			if err != nil {
				return err
			}
			return ui.Output(streams.Out, format, map[string]any{"vnfdId": content.ID, "vdus": content.Units, "files": len(content.Files)},
				ui.Table{Header: []string{"VNFD ID", "CONTENT"}, Rows: [][]string{{content.ID, content.Summary()}}})
		},
	}
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}
