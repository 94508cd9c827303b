package backup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type verifyOptions struct {
	from       vault.Flags
	all        bool
	identities []string
	format     string
}

func newVerify(streams ui.Streams) *cobra.Command {
	o := verifyOptions{format: "table"}
	cmd := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Check that backups are whole",
		Long: `Reads all objects of a backup, the newest if you name none, and checks its signature and
their digests. No private key is needed for that. With --identity it decrypts all
contents too and compares each with what was written.`,
		Example: "  slipway backup verify\n  slipway backup verify --all -o json\n  slipway backup verify 20261124t --identity backup-key.txt",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "check all backups, also those of the seed")
	cmd.Flags().StringArrayVar(&o.identities, "identity", nil, "file of age-keygen with a private key; can be repeated")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o verifyOptions) run(ctx context.Context, streams ui.Streams, args []string) error {
	if o.all && len(args) > 0 {
		return fault.Usage("--all", errors.New("a backup is named too"), "give one of the two")
	}
	identities, err := vault.Identities(o.identities)
	if err != nil {
		return err
	}
	both, err := open(ctx, o.from)
	if err != nil {
		return err
	}
	wanted, err := o.wanted(ctx, both, args)
	if err != nil {
		return err
	}
	results, broken, strange := []backup.Verified{}, 0, []string{}
	for _, b := range wanted {
		v, err := both.of(b).Verify(ctx, b.Backup, identities...)
		if v.Stranger && o.all { // the others may be for these identities
			strange, err = append(strange, v.ID), nil
		}
		if err != nil {
			return err
		}
		if len(v.Problems) > 0 {
			broken++
		}
		results = append(results, v)
	}
	if err := ui.Output(streams.Out, o.format, results, verifyTable(results)); err != nil {
		return err
	}
	var wrong []error // the first decides the exit code
	if broken > 0 {
		wrong = append(wrong, fault.New("backups", fmt.Errorf("%d of %d are damaged", broken, len(results)), "make a new one with slipway backup create --full, and find out what changed the target"))
	}
	if len(strange) > 0 {
		wrong = append(wrong, fault.Usage("--identity", fmt.Errorf("%d of %d backups are encrypted to others, and were not decrypted: %s", len(strange), len(results), strings.Join(strange, ", ")),
			"repeat --identity with the file of one of their recipients, which slipway backup show names"))
	}
	return errors.Join(wrong...)
}

func (o verifyOptions) wanted(ctx context.Context, both repositories, args []string) ([]listed, error) {
	if o.all {
		return both.list(ctx)
	}
	of, b, err := both.find(ctx, argument(args))
	return []listed{{Of: of, Backup: b}}, err
}

func verifyTable(results []backup.Verified) ui.Table {
	t := ui.Table{Header: []string{"ID", "OBJECTS READ", "SIZE", "DECRYPTED", "STATE"}}
	for _, v := range results {
		state := "whole"
		switch {
		case v.Pruned:
			state = "pruned meanwhile"
		case len(v.Problems) > 0:
			state = strings.Join(v.Problems, "; ")
		case v.Stranger:
			state = "whole; encrypted to others, so not decrypted"
		}
		t.Rows = append(t.Rows, []string{v.ID, strconv.Itoa(v.Checked), mib(v.CheckedBytes), map[bool]string{true: "yes", false: "no"}[v.Decrypted], state})
	}
	return t
}
