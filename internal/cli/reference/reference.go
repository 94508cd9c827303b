// Package reference is the hidden command that writes docs/reference from the
// commands and the exit codes, so that the pages cannot differ from them.
package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/slipway-sh/slipway/internal/fault"
)

// New returns the command.
func New() *cobra.Command {
	return &cobra.Command{
		Use:    "reference DIR",
		Short:  "Write the reference pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return write(cmd.Root(), args[0]) },
	}
}

func write(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating folder of the reference: %w", err)
	}
	if err := doc.GenMarkdownTree(root, dir); err != nil {
		return fmt.Errorf("writing the command pages: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "exit-codes.md"), []byte(exitCodes()), 0o644)
}

func exitCodes() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n| code | name | meaning |\n|---|---|---|\n")
	for _, m := range fault.Meanings() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", m.Code, m.Name, m.Text)
	}
	return b.String()
}
