// Package state is `slipway state`: export, import, forget, adopt, unlock.
package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Export, import and repair the state",
		Long: `The state is what Slipway knows about an environment. Use these commands to move or
repair it. Only adopt changes anything in the cloud. Secrets stay encrypted.`,
	}
	cmd.AddCommand(
		command("export", "Print the state as JSON, with secrets encrypted", 0, func(ctx context.Context, e *engine.Engine, _ []string) error {
			text, err := e.Export(ctx)
			if err == nil {
				_, err = streams.Out.Write(text)
			}
			return err
		}),
		command("import [FILE]", "Replace the state with an exported one, from a file or standard input", 1, func(ctx context.Context, e *engine.Engine, args []string) error {
			text, err := read(streams.In, args)
			if err != nil {
				return err
			}
			return e.Import(ctx, text)
		}),
		newForget(),
		newAdopt(streams),
		command("unlock", "Remove the lock of a process that has certainly ended", 0, func(ctx context.Context, e *engine.Engine, _ []string) error {
			if err := e.Unlock(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintln(streams.Out, "unlocked")
			return err
		}))
	return cmd
}

func newForget() *cobra.Command {
	dependents := false
	cmd := command("forget RESOURCE", "Remove a resource from the state without deleting it", 1, func(ctx context.Context, e *engine.Engine, args []string) error {
		if len(args) == 0 {
			return fault.Usage("slipway state forget", errors.New("no resource is named"), "name one, such as seed")
		}
		return e.Forget(ctx, args[0], dependents)
	})
	cmd.Flags().BoolVar(&dependents, "dependents", false, "also forget the resources that depend on it")
	return cmd
}

func newAdopt(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	cmd := &cobra.Command{
		Use:   "adopt RESOURCE ID",
		Short: "Adopt an existing resource of the cloud into the environment",
		Long: `Gives the existing resource the name and the ownership tag of the named resource. The
next up takes it into the state instead of creating a second one, and changes what
differs from the environment file and can be changed. From then on the environment owns
it: down deletes it.

Resources: ` + strings.Join(slices.Sorted(maps.Keys(stacks.Adoptable())), ", ") + `.`,
		Example: "  slipway state adopt seed-data 1f9c1dd4-7d0c-4bd2-bd3f-5f2f1d0a7c11\n  slipway plan",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			word, ok := stacks.Adoptable()[args[0]]
			if !ok {
				return fault.Usage(args[0], errors.New("there is no resource of that name to adopt"), "name one of "+strings.Join(slices.Sorted(maps.Keys(stacks.Adoptable())), ", "))
			}
			t, err := target.Open(cmd.Context(), from, event.Discard{})
			if err != nil {
				return err
			}
			if err := t.Inventory.Adopt(cmd.Context(), word, ownership.New(t.Name(), args[0]), args[1]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "%s %s is now %s of %s; the next slipway up takes it into the state\n", word, args[1], args[0], t.Name())
			return err
		},
	}
	from.Add(cmd.Flags())
	return cmd
}

func command(use, short string, args int, do func(context.Context, *engine.Engine, []string) error) *cobra.Command {
	var from environment.Flags
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.MaximumNArgs(args), RunE: func(cmd *cobra.Command, args []string) error {
		loaded, err := from.Load()
		if err != nil {
			return err
		}
		e, err := target.Engine(loaded, event.Discard{}, func() []infer.InferredResource { return nil })
		if err != nil {
			return err
		}
		return do(cmd.Context(), e, args)
	}}
	from.Add(cmd.Flags())
	return cmd
}

func read(in io.Reader, args []string) ([]byte, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.ReadAll(in)
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, fault.Usage(args[0], err, "give a file that slipway state export wrote")
	}
	return text, nil
}
