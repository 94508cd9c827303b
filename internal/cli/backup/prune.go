package backup

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
	"github.com/slipway-sh/slipway/internal/ui"
)

type pruneOptions struct {
	from   vault.Flags
	dry    bool
	format string
}

func newPrune(streams ui.Streams) *cobra.Command {
	o := pruneOptions{format: "table"}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove the backups that spec.backup.keep does not keep",
		Long: `Removes backups that no rule of spec.backup.keep wants, and then the stored contents that
no backup needs any more, when they are older than two days. The newest backup always
stays, and so does what a retention lock of the target protects. While a backup is being
written, no contents are removed. Backups of the seed's datastore count by themselves.`,
		Example: "  slipway backup prune --dry-run\n  slipway backup prune",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "only say what would be removed")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o pruneOptions) run(ctx context.Context, streams ui.Streams) error {
	loaded, err := o.from.Load()
	if err != nil {
		return err
	}
	both, err := openIn(ctx, loaded, o.from.Target)
	if err != nil {
		return err
	}
	if !o.dry {
		read := func() (changes, error) { return lastChanges(ctx, loaded) }
		if err := endPins(ctx, both.management, read); err != nil {
			return err
		}
	}
	result, err := both.prune(ctx, keep(loaded.Environment), o.dry)
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, result, pruneTable(result, o.dry))
}

// changes are the records on the management cluster of what needs a backup until its end.
type changes struct {
	undo    *undo.Point
	rebuild restore.Rebuild
}

// endPins ends the pins of undos and rebuilds that are over: one that is killed when all is done
// leaves its own. If nobody knows, as of a management cluster that is away, they stay; and so do
// those of others, which a newer Slipway knows.
func endPins(ctx context.Context, of *backup.Repository, read func() (changes, error)) error {
	pinned, err := of.Pinned(ctx)
	if err != nil || len(pinned) == 0 {
		return err
	}
	known, err := read()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for id, all := range pinned {
		if !slices.Contains(all, backup.HolderUndo) || !known.undo.Over(id) {
			continue
		}
		if err := of.Unpin(ctx, backup.HolderUndo, id); err != nil {
			return err
		}
	}
	return known.rebuild.EndPins(ctx, of)
}

// lastChanges reads the records.
func lastChanges(ctx context.Context, loaded *config.Loaded) (c changes, err error) {
	err = recorded(ctx, loaded, func(client kubernetes.Interface) (err error) {
		on := &kube.Cluster{Typed: client}
		if c.undo, err = undo.ReadPoint(ctx, on); err == nil {
			c.rebuild, err = restore.ReadRebuild(ctx, on)
		}
		return err
	})
	return c, err
}

// keep is what the file says, or its defaults.
func keep(e *config.Environment) backup.Keep {
	if e.Spec.Backup == nil {
		return backup.Keep{Last: 7, Daily: 14, Weekly: 8, Monthly: 12}
	}
	k := e.Spec.Backup.Keep
	return backup.Keep{Last: k.Last, Daily: k.Daily, Weekly: k.Weekly, Monthly: k.Monthly}
}

func pruneTable(result backup.Pruned, dry bool) ui.Table {
	t := ui.Table{Header: []string{"BACKUP", "ACTION"}}
	action := map[bool]string{true: "would be removed", false: "removed"}[dry]
	for _, id := range result.Kept {
		t.Rows = append(t.Rows, []string{id, "kept"})
	}
	for _, id := range result.Removed {
		t.Rows = append(t.Rows, []string{id, action})
	}
	t.Footer = []string{fmt.Sprintf("%d stored contents (%s) %s", result.Objects, mib(result.Bytes), action)}
	for _, id := range result.Pinned {
		t.Footer = append(t.Footer, "backup "+id+" stays until the slipway undo or slipway recover that uses it has come to its end")
	}
	if result.Locked > 0 {
		t.Footer = append(t.Footer, fmt.Sprintf("%d objects stay: the target refuses to delete them, as under a retention lock", result.Locked))
	}
	if result.Waiting != "" {
		t.Footer = append(t.Footer, "contents stay for now: "+result.Waiting)
	}
	return t
}
