// Package config is `slipway config`: show, validate, schema, import.
package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and check the environment file",
		Long: `The environment file, slipway.yaml, describes an environment. If you give several
files, later ones override earlier ones: maps are merged, everything else is replaced,
and null resets a key to its default. docs/reference/environment.md lists the keys.`,
	}
	cmd.AddCommand(newShow(streams), newValidate(streams), newSchema(streams), newImport(streams))
	return cmd
}

func newShow(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	var origins bool
	format := "yaml"
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the environment with all files merged and defaults filled in",
		Example: `  slipway config show --origins
  slipway config show -f slipway.yaml -f production.yaml -o json
  slipway config show --env staging -o table`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			loaded, err := from.Load()
			if err != nil {
				return err
			}
			return show(streams, loaded, format, origins)
		},
	}
	from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&origins, "origins", false, "show the file and line, or the default, that each value comes from")
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

func show(streams ui.Streams, loaded *config.Loaded, format string, origins bool) error {
	if format == "yaml" {
		text, err := loaded.YAML(origins)
		if err != nil {
			return err
		}
		_, err = streams.Out.Write(text)
		return err
	}
	if format == "json" && !origins {
		return ui.Output(streams.Out, format, loaded.Environment, ui.Table{})
	}
	values, err := loaded.Values()
	if err != nil {
		return err
	}
	table := ui.Table{Header: []string{"PATH", "VALUE", "ORIGIN"}}
	for _, v := range values {
		table.Rows = append(table.Rows, []string{v.Path, fmt.Sprint(v.Value), v.Origin})
	}
	return ui.Output(streams.Out, format, values, table)
}

func newValidate(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the environment file without contacting the cloud",
		Long: `Checks syntax, keys, types and values of all files, the values for the chart of the
management cluster, and the image manifests that spec.images names, and reports every
mistake at once. To check the environment against its cloud, use slipway preflight.`,
		Example: "  slipway config validate\n  slipway config validate -f slipway.yaml -f production.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			loaded, err := from.Load()
			if err != nil {
				return err
			}
			_, wrong := manifest.ReadFiles(loaded.Environment.Spec.Images...)
			if err := errors.Join(environment.CheckValues(loaded), wrong); err != nil {
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "environment %s is valid (%s)\n", loaded.Environment.Metadata.Name, strings.Join(loaded.Files, ", "))
			return err
		},
	}
	from.Add(cmd.Flags())
	return cmd
}

func newSchema(streams ui.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of environment files",
		Example: "  slipway config schema > slipway.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = streams.Out.Write(text)
			return err
		},
	}
}
