// Package backup is `slipway backup`.
package backup

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Back up the management cluster, and check and prune its backups",
		Long: `A backup has everything from which the management cluster can be rebuilt: its objects with
their status, the environment file, the state, and what the cloud had at that moment. It is
encrypted to spec.backup.recipients: only their private keys read it. The cluster has none
of these keys, and most of these commands need none.`,
	}
	cmd.AddCommand(newCreate(streams), newList(streams), newShow(streams), newVerify(streams), newPrune(streams), newDrill(streams))
	return cmd
}

func newList(streams ui.Streams) *cobra.Command {
	var from vault.Flags
	format := "table"
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the backups",
		Long: `Lists the backups of the management cluster, then those that the seed makes of its
datastore, each newest first. One that is damaged, forged or of another writer is listed
with the cause. No private key is needed.`,
		Example: "  slipway backup list\n  slipway backup list --target s3://backups/prod?endpoint=https://s3.example.org -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			both, err := open(cmd.Context(), from)
			if err != nil {
				return err
			}
			all, err := both.list(cmd.Context())
			if err != nil {
				return err
			}
			return ui.Output(streams.Out, format, all, listTable(all))
		},
	}
	from.Add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

func listTable(all []listed) ui.Table {
	t := ui.Table{Header: []string{"ID", "OF", "TAKEN", "SLIPWAY", "KUBERNETES", "OBJECTS", "SERVERS", "ADDED", "STATE"}}
	for _, b := range all {
		if b.Damage != "" {
			t.Rows = append(t.Rows, []string{b.ID, b.Of, "", "", "", "", "", "", b.Damage})
			continue
		}
		state := "ok"
		if !b.Dated.IsZero() {
			state = "ok; " + ahead(b.Backup)
		}
		for _, by := range b.PinnedBy {
			state += "; slipway " + string(by) + " uses it"
		}
		t.Rows = append(t.Rows, []string{b.ID, b.Of, b.Taken.Local().Format(time.DateTime), b.Slipway, b.Kubernetes, strconv.Itoa(b.Objects), strconv.Itoa(b.Cloud["servers"]), mib(b.Written), state})
	}
	if len(all) == 0 {
		t.Footer = []string{"there are no backups; make one with: slipway backup create"}
	}
	return t
}

// ahead tells of a backup that a clock which was ahead dated.
func ahead(b backup.Backup) string {
	return "it is dated " + b.Dated.Local().Format(time.DateTime) + ", and this is when it was stored: a clock was ahead"
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func newShow(streams ui.Streams) *cobra.Command {
	var from vault.Flags
	format := "table"
	cmd := &cobra.Command{
		Use:     "show [ID]",
		Short:   "Show what is in a backup, as far as everybody can read it",
		Long:    "Shows a backup, the newest if you name none: versions, counts, who can read it and who\nwrote it. The first characters of an ID are enough. No private key is needed.",
		Example: "  slipway backup show\n  slipway backup show 20261124t -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			both, err := open(cmd.Context(), from)
			if err != nil {
				return err
			}
			_, b, err := both.find(cmd.Context(), argument(args))
			if err != nil {
				return err
			}
			return ui.Output(streams.Out, format, b, showTable(b))
		},
	}
	from.Add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

// argument is the only argument, or "".
func argument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
