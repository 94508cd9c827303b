package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/etcd"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newSnapshot(streams ui.Streams) *cobra.Command {
	o := options{format: "table", timeout: time.Minute}
	cmd := &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Write a snapshot of an etcd cluster, from its leader, into a file",
		Long: `Writes a snapshot of an etcd cluster into a new file with mode 0600. It is taken of the
leader, only if most members are healthy and follow it, and none is corrupt. A cluster of
one member has a leader too. The file has all Secrets of the cluster; it is whole or not
there.

slipway backup create takes one of the management cluster, encrypted, without this command.`,
		Example: `  slipway etcd snapshot /root/etcd.db
  slipway etcd snapshot etcd.db --endpoint https://10.0.0.5:2379 --cacert ca.crt --cert client.crt --key client.key`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.snapshot(cmd.Context(), streams, args[0]) },
	}
	o.add(cmd)
	return cmd
}

// snapshot writes beside the file first, so that nothing half is there.
func (o options) snapshot(ctx context.Context, streams ui.Streams, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fault.Usage(path, errors.Join(errors.New("it is there already"), err), "name a file that does not exist")
	}
	config, err := o.tls()
	if err != nil {
		return err
	}
	client, err := etcd.Dial(o.endpoint, config, o.timeout)
	if err != nil {
		return err
	}
	defer client.Close()
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fault.Usage(path, err, "name a file in a folder where you may write")
	}
	defer os.Remove(part)
	copied, err := etcd.Snapshot(ctx, client, file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return ui.Output(streams.Out, o.format, copied, ui.Table{Header: []string{"MEMBER", "ENDPOINT", "SIZE"}, Rows: [][]string{{copied.Name, copied.Endpoint, mib(copied.Bytes)}}})
}
