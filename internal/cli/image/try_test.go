package image

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/images/try"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func TestTryRefusesWhatCannotBeTried(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "page", []byte("<!doctype html>"))
	for name, c := range map[string]struct {
		args []string
		exit fault.Exit
		say  string
	}{
		"no file":          {[]string{"try", "absent.raw"}, fault.ExitPreflight, "image absent.raw: no such file"},
		"no image":         {[]string{"try", "page", "--firmware", "bios"}, fault.ExitPreflight, "a web page"},
		"a wrong time":     {[]string{"try", "page", "--timeout", "-1s"}, fault.ExitUsage, "--timeout: it is -1s"},
		"a wrong firmware": {[]string{"try", "page", "--firmware", "coreboot"}, fault.ExitFailure, "bios|uefi|both"},
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := run(t, c.args...); err == nil || fault.ExitCode(err) != c.exit || !strings.Contains(strings.ReplaceAll(err.Error(), ", ", "|"), c.say) {
				t.Errorf("%s: %v (exit code %d)", text, err, fault.ExitCode(err))
			}
		})
	}
}

func TestTheTableOfATrial(t *testing.T) {
	t.Parallel()
	report := try.Report{Boots: []try.Boot{
		{Firmware: try.BIOS, Passed: true, FailedUnits: []string{"a.service"}, Milestones: []try.Reached{{Milestone: try.FirmwareStarted, Seconds: 0.34}, {Milestone: try.CloudInitDone, Seconds: 49}}},
		{Firmware: try.UEFI, Reason: try.KernelPanic, Milestones: []try.Reached{{Milestone: try.FirmwareStarted, Seconds: 5}}, Console: []string{"the last words"}},
	}}
	var out bytes.Buffer
	if err := ui.Output(&out, "table", report, tryTable(report)); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"MILESTONE BIOS UEFI", "firmware 0.3 s 5.0 s", "cloud-init done 49.0 s -", "result passed kernel panic",
		"bios: units that failed: a.service", "uefi: the end of the console: the last words"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}
