package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type saveOptions struct {
	dir, progress string
	unsigned      bool
}

func newSave(streams ui.Streams) *cobra.Command {
	o := saveOptions{progress: "auto"}
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Write a whole bundle as one archive, for machines without a network",
		Long: `Writes the bundle with its signature as one tar archive, which is also an OCI layout.
The same bundle gives the same bytes. With - it goes to standard output, for a
program that packs it: machine images become much smaller.`,
		Example: `  slipway bundle save bundle.tar
  slipway bundle save - | zstd -T0 > bundle.tar.zst`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args[0]) },
	}
	dirFlag(cmd, &o.dir)
	cmd.Flags().BoolVar(&o.unsigned, "unsigned", false, "save a bundle that is not signed")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o saveOptions) run(ctx context.Context, streams ui.Streams, file string) error {
	folder, err := openSigned(o.dir, o.unsigned)
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	findings, err := folder.Verify(ctx, progress)
	for _, finding := range findings {
		err = errors.Join(err, finding.Fault())
	}
	if err != nil {
		return err
	}
	if file == "-" {
		return artifact.Save(ctx, folder, streams.Out, progress)
	}
	if err := saveFile(ctx, folder, file, progress); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = fault.New(file, err, "free space there, or write the archive elsewhere")
		}
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s has the %d items of the bundle %s\n", file, len(folder.Bill().Items), o.dir)
	return err
}

// saveFile writes the file whole or not at all.
func saveFile(ctx context.Context, folder *bundle.Folder, file string, sink event.Sink) error {
	began := false
	err := ui.WriteFile(file, 0o644, func(w io.Writer) error {
		began = true
		return artifact.Save(ctx, folder, w, sink)
	})
	if err != nil && !began {
		return fault.Usage(file, err, "name a file in a folder that you may write to")
	}
	return err
}

type loadOptions struct {
	dir, progress, platform string
	trustOptions
}

func newLoad(streams ui.Streams) *cobra.Command {
	o := loadOptions{progress: "auto"}
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Read a bundle from an archive of slipway bundle save",
		Long: `Makes the folder the bundle of the archive. The signature is checked before anything
is stored, and each digest while it is; the bundle that was there stays until the
whole archive is right. What the folder has already is not written again.`,
		Example: `  slipway bundle load bundle.tar --key bundle.pub
  zstd -dc bundle.tar.zst | slipway bundle load - --key RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args[0]) },
	}
	dirFlag(cmd, &o.dir)
	platformFlag(cmd.Flags(), &o.platform)
	o.trustOptions.flags(cmd.Flags())
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o loadOptions) run(ctx context.Context, streams ui.Streams, file string) error {
	trust, err := o.trust()
	content, size, openErr := openArchive(streams, file)
	if err := errors.Join(err, openErr); err != nil {
		return err
	}
	defer content.Close()
	folder, err := create(o.dir, o.platform)
	if err != nil {
		return err
	}
	defer folder.Close()
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	bill, err := artifact.Load(ctx, folder, file, content, size, trust, progress)
	progress.Close()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "bundle %s: %d items loaded, every digest matches\n", o.dir, len(bill.Items))
	return err
}

func openArchive(streams ui.Streams, file string) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(streams.In), 0, nil
	}
	content, err := os.Open(file)
	if err != nil {
		return nil, 0, fault.Usage(file, err, "name a file that slipway bundle save wrote")
	}
	info, err := content.Stat()
	if err != nil {
		return nil, 0, err
	}
	return content, info.Size(), nil
}
