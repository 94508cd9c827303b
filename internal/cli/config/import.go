package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/migrate"
	"github.com/slipway-sh/slipway/internal/ui"
)

// importOptions are the flags that the imports share.
type importOptions struct {
	dir, name, format string
	force             bool
}

func (o *importOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "dir", ".", "folder to write the files to")
	cmd.Flags().StringVar(&o.name, "name", "", "name of the environment (default: that of the old configuration)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite existing files")
	ui.FormatFlag(cmd.Flags(), &o.format)
}

func newImport(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write an environment file from the configuration of another tool",
		Long: `Reads the files of another tool, writes an environment file, and lists what became of
every setting: what has no counterpart, what you must check, and which secrets were not
copied. No cloud is contacted and nothing is decrypted.`,
	}
	cmd.AddCommand(newImportAzimuth(streams), newImportSCS(streams))
	return cmd
}

func newImportAzimuth(streams ui.Streams) *cobra.Command {
	o, inventory := importOptions{format: "table"}, ""
	cmd := &cobra.Command{
		Use:   "azimuth",
		Short: "Import an environment of azimuth-ops",
		Long: `Reads an environment of an azimuth-config repository. The folder's ansible.cfg names the
layers; later ones win, as in Ansible. Files that git-crypt, sops or Ansible Vault
encrypted are listed, not read.`,
		Example: "  slipway config import azimuth --inventory azimuth-config/environments/capi-mgmt-prod --dir prod",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			result, err := migrate.Azimuth(inventory, o.name)
			if err != nil {
				return err
			}
			return o.write(streams, result)
		},
	}
	cmd.Flags().StringVar(&inventory, "inventory", "", "folder of the environment, or of an inventory")
	_ = cmd.MarkFlagRequired("inventory") // the flag is there
	o.add(cmd)
	return cmd
}

func newImportSCS(streams ui.Streams) *cobra.Command {
	o, files := importOptions{format: "table"}, []string{}
	cmd := &cobra.Command{
		Use:   "scs",
		Short: "Import settings of SCS' k8s-cluster-api-provider",
		Long: `Reads environment-*.tfvars and clusterctl.yaml. The management server's settings become
an environment file; those of the test cluster become a file with values for
slipway cluster create.`,
		Example: `  slipway config import scs --file environment-prod.tfvars --dir prod
  slipway config import scs --file environment-prod.tfvars --file clusterctl.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			result, err := migrate.SCS(files, o.name)
			if err != nil {
				return err
			}
			return o.write(streams, result)
		},
	}
	cmd.Flags().StringArrayVar(&files, "file", nil, "environment-*.tfvars or clusterctl.yaml; can be repeated, later files override earlier ones")
	_ = cmd.MarkFlagRequired("file") // the flag is there
	o.add(cmd)
	return cmd
}

// write writes all files or none, and prints the notes.
func (o importOptions) write(streams ui.Streams, result *migrate.Result) error {
	names := slices.Sorted(maps.Keys(result.Files))
	var wrong []error
	for _, name := range names {
		path := filepath.Join(o.dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !o.force {
			wrong = append(wrong, fault.Usage(path, errors.New("the file exists already"), "name another folder with --dir, or overwrite it with --force"))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fault.Usage("--dir", err, "name a folder that you may write to")
	}
	table := ui.Table{Header: []string{"SETTING", "RESULT", "TO", "NOTE"}}
	for _, n := range result.Notes {
		table.Rows = append(table.Rows, []string{n.Setting, string(n.Level), n.To, n.Text})
	}
	for _, name := range names {
		path := filepath.Join(o.dir, name)
		if err := os.WriteFile(path, []byte(result.Files[name]), 0o644); err != nil {
			return fault.Usage(path, err, "name a folder with --dir that you may write to")
		}
		table.Footer = append(table.Footer, "written to "+path)
	}
	table.Footer = append(table.Footer, fmt.Sprintf("check it with: slipway preflight -f %s", filepath.Join(o.dir, "slipway.yaml")))
	return ui.Output(streams.Out, o.format, result, table)
}
