// Package kubeconfig is `slipway kubeconfig`.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	var output string
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig of the seed, or write it to a file",
		Long: `Prints the administrator's kubeconfig of the seed's Kubernetes. It is a secret: with
--output it is written to a file with mode 0600, which appears whole or not at all.`,
		Example: `  slipway kubeconfig --output seed.kubeconfig
  KUBECONFIG=seed.kubeconfig kubectl get pods -A`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), streams, from, output) },
	}
	from.Add(cmd.Flags())
	cmd.Flags().StringVar(&output, "output", "", "file to write instead of standard output")
	return cmd
}

func run(ctx context.Context, streams ui.Streams, from environment.Flags, output string) error {
	seed, _, err := target.OpenSeed(ctx, from)
	if err != nil {
		return err
	}
	if seed.Kubeconfig == "" {
		return fault.New("seed "+seed.Name, errors.New("its Kubernetes was not ready yet"), "slipway up goes on")
	}
	if output == "" {
		_, err := fmt.Fprint(streams.Out, seed.Kubeconfig)
		return err
	}
	if err := write(output, seed.Kubeconfig); err != nil {
		return fault.New(output, err, "choose another file")
	}
	return nil
}

// write replaces the file in one step.
func write(path, text string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
