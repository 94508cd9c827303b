// Package reference is the hidden command that generates docs/reference from the
// commands, the exit codes and the types of the environment file, so that the
// pages always agree with them.
package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// New returns the command.
func New() *cobra.Command {
	man := false
	cmd := &cobra.Command{
		Use:    "reference DIR",
		Short:  "Write the reference pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if man {
				return manual(cmd.Root(), args[0])
			}
			return write(cmd.Root(), args[0])
		},
	}
	cmd.Flags().BoolVar(&man, "man", false, "write manual pages of the commands instead")
	return cmd
}

// manual writes the manual pages that packages have. cobra takes their date from
// SOURCE_DATE_EPOCH.
func manual(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating folder of the manual pages: %w", err)
	}
	header := &doc.GenManHeader{Section: "1", Source: "slipway " + component.ThisBuild().Version, Manual: "Slipway"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("writing the manual pages: %w", err)
	}
	return nil
}

func write(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating folder of the reference: %w", err)
	}
	if err := doc.GenMarkdownTree(root, dir); err != nil {
		return fmt.Errorf("writing the command pages: %w", err)
	}
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	page, err := config.Reference()
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"exit-codes.md": exitCodes(), "reasons.md": cause.Reference(), "environment.schema.json": string(schema), "environment.md": page} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the reference: %w", err)
		}
	}
	return nil
}

func exitCodes() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n| code | name | meaning |\n|---|---|---|\n")
	for _, m := range fault.Meanings() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", m.Code, m.Name, m.Text)
	}
	return b.String()
}
