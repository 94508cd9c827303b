package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/images/try"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// tryFlags are the flags of `image try`.
type tryFlags struct {
	firmware, accelerator, format, progress string
	timeout                                 time.Duration
}

const bothFirmwares = "both"

func newTry(streams ui.Streams) *cobra.Command {
	f := &tryFlags{firmware: bothFirmwares, accelerator: try.Accelerators()[0], format: "table", progress: "auto"}
	cmd := &cobra.Command{
		Use:   "try FILE",
		Short: "Boot an image in QEMU on this machine and say why it stops",
		Long: `Boots a raw or qcow2 image as a cloud would: with a virtio disk that is larger than the
image, a configuration drive, a network card and a serial console. It prints the
milestones with the seconds from the start of QEMU, and if the machine does not reach the
last one, the reason. The image is not changed, the machine reaches no network, and
nothing is left on this machine.

An image passes if cloud-init ran to its end with the configuration drive, ran the user
data, an SSH server answers, and the root file system has grown. Without KVM QEMU emulates
the processor: a boot then takes one to five minutes.

Needs the Debian packages qemu-system-x86, qemu-utils, genisoimage, and ovmf for UEFI.
Root rights are not needed. The reasons are explained in docs/guides/try-an-image.md.

Exit codes: 0 all boots passed, 1 one did not, 2 wrong usage, 3 a tool is missing or the
file is not a disk image, 5 the time was over, 130 interrupted.`,
		Example: `  slipway image try bundle/machines/node.raw
  slipway image try ubuntu-kube-v1.34.2.qcow2 --firmware uefi --timeout 20m
  slipway image try node.qcow2 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), streams, args[0]) },
	}
	ui.ChoiceFlag(cmd.Flags(), &f.firmware, "firmware", []string{string(try.BIOS), string(try.UEFI), bothFirmwares}, "firmware to boot with")
	ui.ChoiceFlag(cmd.Flags(), &f.accelerator, "accelerator", try.Accelerators(), "kvm, or tcg, which emulates the processor; auto takes kvm where it works")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long each boot may take (default 10m, with KVM 3m)")
	ui.FormatFlag(cmd.Flags(), &f.format)
	ui.ProgressFlag(cmd.Flags(), &f.progress)
	return cmd
}

func (f *tryFlags) run(ctx context.Context, streams ui.Streams, file string) error {
	if f.timeout < 0 {
		return fault.Usage("--timeout", fmt.Errorf("it is %s", f.timeout), "give a time such as 10m")
	}
	firmware := []try.Firmware{try.Firmware(f.firmware)}
	if f.firmware == bothFirmwares {
		firmware = []try.Firmware{try.BIOS, try.UEFI}
	}
	progress, err := ui.NewProgress(f.progress, streams)
	if err != nil {
		return err
	}
	report, failed := try.Run(ctx, try.Options{File: file, Firmware: firmware, Accelerator: f.accelerator, Timeout: f.timeout, Sink: progress})
	progress.Close()
	if len(report.Boots) == 0 {
		return failed
	}
	return errors.Join(ui.Output(streams.Out, f.format, report, tryTable(report)), failed)
}

// tryTable has a row for each milestone and a column for each firmware.
func tryTable(report try.Report) ui.Table {
	table := ui.Table{Header: []string{"MILESTONE"}}
	for _, b := range report.Boots {
		table.Header = append(table.Header, strings.ToUpper(string(b.Firmware)))
		if len(b.FailedUnits) > 0 {
			table.Footer = append(table.Footer, fmt.Sprintf("%s: units that failed: %s", b.Firmware, strings.Join(b.FailedUnits, ", ")))
		}
	}
	for _, b := range report.Boots {
		if b.Passed || b.Node.Kubeadm != "" {
			table.Footer = append(table.Footer, fmt.Sprintf("%s: %s", b.Firmware, b.Node))
		}
	}
	for _, m := range try.Milestones() {
		row := []string{string(m)}
		for _, b := range report.Boots {
			row = append(row, seconds(b, m))
		}
		table.Rows = append(table.Rows, row)
	}
	result := []string{"result"}
	for _, b := range report.Boots {
		if b.Passed {
			result = append(result, "passed")
		} else {
			result = append(result, string(b.Reason))
		}
	}
	table.Rows = append(table.Rows, result)
	for _, b := range report.Boots {
		if len(b.Console) > 0 {
			table.Footer = append(table.Footer, fmt.Sprintf("%s: the end of the console:", b.Firmware))
			table.Footer = append(table.Footer, b.Console[max(0, len(b.Console)-shownLines):]...)
		}
	}
	return table
}

// shownLines is how much of a console the table shows; -o json has more.
const shownLines = 12

func seconds(b try.Boot, m try.Milestone) string {
	for _, r := range b.Milestones {
		if r.Milestone == m {
			return fmt.Sprintf("%.1f s", r.Seconds)
		}
	}
	return "-"
}
