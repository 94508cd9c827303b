package try

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const gib = 1 << 30

// feed writes a console text in small pieces, a line a second.
func feed(c *console, text string) (last time.Duration) {
	for line := range strings.SplitAfterSeq(text, "\n") {
		last += time.Second
		for _, half := range []string{line[:len(line)/2], line[len(line)/2:]} {
			c.write([]byte(half), last)
		}
	}
	return last
}

// The consoles in testdata were recorded from machines that booted, or did not.
func TestRecordedConsoles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		reason  Reason
		words   string
		reached []Milestone
	}{
		"node-uefi":       {"", "", []Milestone{FirmwareStarted, BootLoaderStarted, KernelStarted, InitStarted, NetworkUp, CloudInitDone}},
		"no-loader-bios":  {NoBootLoader, "not a bootable disk", []Milestone{FirmwareStarted}},
		"no-loader-uefi":  {NoBootLoader, "UEFI Interactive Shell", []Milestone{FirmwareStarted}},
		"grub-rescue":     {LoaderStopped, "Minimal BASH-like", []Milestone{FirmwareStarted, BootLoaderStarted}},
		"no-root":         {NoRoot, "LABEL=other does not exist", []Milestone{FirmwareStarted, BootLoaderStarted, KernelStarted}},
		"no-root-panic":   {NoRoot, "VFS: Cannot open root device", []Milestone{FirmwareStarted, BootLoaderStarted, KernelStarted}},
		"panic":           {KernelPanic, "not syncing: Attempted to kill init! exitcode", []Milestone{FirmwareStarted, BootLoaderStarted, KernelStarted}},
		"other-processor": {WrongArchitecture, "Unsupported", []Milestone{FirmwareStarted}},
		"emergency":       {EmergencyMode, "You are in emergency mode", []Milestone{FirmwareStarted, BootLoaderStarted, KernelStarted, InitStarted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			c := newConsole(image{size: 2 * gib})
			now := feed(c, string(text))
			if c.stopped != want.reason || !strings.Contains(c.words, want.words) {
				t.Errorf("stopped: %q: %q, want %q: %q", c.stopped, c.words, want.reason, want.words)
			}
			var reached []Milestone
			for _, r := range c.milestones() {
				reached = append(reached, r.Milestone)
			}
			if !slices.Equal(reached, want.reached) {
				t.Errorf("reached %q, want %q", reached, want.reached)
			}
			if want.reason == "" {
				c.sshAnswers(now)
			}
			if reason, decided := c.verdict(now+lastWords, time.Minute, time.Hour, nil); !decided || reason != want.reason {
				t.Errorf("verdict %q (%t)", reason, decided)
			}
		})
	}
}

// start is what every machine prints that comes to its init.
const start = `SeaBIOS (version 1.16.2-debian-1.16.2-1)
GRUB loading.
Welcome to GRUB!
[    0.000000] Linux version 6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org)
[    2.100000] systemd[1]: systemd 252.39-1~deb12u1 running in system mode
`

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const (
		finished = "[   48.1] cloud-init[700]: Cloud-init v. 22.4.2 finished at Tue, 24 Nov 2026 12:00:00 +0000. Datasource DataSourceConfigDrive [net,ver=2][source=/dev/vdb].  Up 48.90 seconds\n"
		grown    = "\r\nslipway-report root_kib=6291456 failed=a.service,b.service, end\r\n"
		same     = "slipway-report root_kib=1900000 failed= end\n"
		hung     = "[  242.7] INFO: task kworker/u4:1:33 blocked for more than 120 seconds.\n"
		prompt   = "\r\nslipway-try login: "
		patience = time.Minute
	)
	for name, c := range map[string]struct {
		text    string
		ssh     bool
		later   time.Duration
		ended   error
		reason  Reason
		decided bool
	}{
		"booted":                          {start + grown + finished, true, 0, nil, "", true},
		"booted, with a prompt":           {start + grown + finished + prompt, true, 0, nil, "", true},
		"no SSH yet":                      {start + grown + finished, false, 0, nil, "", false},
		"no SSH":                          {start + grown + finished, false, 2 * patience, nil, NoSSH, true},
		"not grown":                       {start + same + finished, true, 0, nil, RootNotGrown, true},
		"no user data yet":                {start + finished, true, 0, nil, "", false},
		"no user data":                    {start + finished, true, patience, nil, NoUserData, true},
		"no data source":                  {start + strings.Replace(finished, "DataSourceConfigDrive", "DataSourceNone", 1), false, 0, nil, NoDataSource, true},
		"a prompt, cloud-init may follow": {start + prompt, true, 0, nil, "", false},
		"a prompt without cloud-init":     {start + prompt, true, 2 * patience, nil, NoCloudInit, true},
		"a prompt while cloud-init runs":  {start + "[    9.0] cloud-init[400]: Cloud-init v. 22.4.2 running 'init' at Tue\n" + prompt, true, 2 * patience, nil, "", false},
		"a silent machine":                {"SeaBIOS (version 1)\nGRUB loading.\n" + grown, true, 0, nil, NoSerialConsole, true},
		"a silent machine, without data":  {"SeaBIOS (version 1)\nGRUB loading.\n", true, 2 * patience, nil, NoSerialConsole, true},
		"in time":                         {start, false, 0, nil, "", false},
		"a disk that was slow":            {"GRUB loading.\n[    1.000000] a\n" + hung + start, false, 2 * patience, nil, "", false},
		"a device hangs, maybe":           {start + hung, false, patience / 2, nil, "", false},
		"a device hangs":                  {start + hung, false, 2 * patience, nil, DeviceHung, true},
		"too late":                        {start, false, 2 * time.Hour, nil, TimedOut, true},
		"QEMU does not start":             {"", false, 0, errors.New("no such option"), EmulatorFailed, true},
		"a restart":                       {start, false, 0, errors.New("off"), Restarted, true},
		"a panic, and what follows it":    {start + "[    3.000000] Kernel panic - not syncing: x\n", false, 0, nil, KernelPanic, false},
		"a panic":                         {start + "[    3.000000] Kernel panic - not syncing: x\n", false, patience, nil, KernelPanic, true},
		"a program's words":               {start + "[    3.0] app[1]: grub> is no prompt\n" + grown + finished, true, 0, nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			console := newConsole(image{size: 2 * gib})
			now := feed(console, c.text)
			if c.ssh {
				console.sshAnswers(now)
			}
			reason, decided := console.verdict(now+c.later, patience, time.Hour, c.ended)
			if decided != c.decided || decided && reason != c.reason {
				t.Errorf("%q (%t), want %q (%t)", reason, decided, c.reason, c.decided)
			}
			if c.reason != "" && c.decided {
				named, cause, fix := console.explain(c.reason, BIOS, exited{errors.New("x")})
				if named == "" || cause == "" || fix == "" {
					t.Errorf("%q is told as %q: %q, remedy %q", c.reason, named, cause, fix)
				}
			}
		})
	}
}

func TestTheReportOfTheMachine(t *testing.T) {
	t.Parallel()
	c := newConsole(image{size: gib})
	feed(c, start+"\r\nslipway-report root_kib=2097152 failed=a.service,b.service, end\r\n")
	if c.rootBytes != 2*gib || !slices.Equal(c.failedUnits, []string{"a.service", "b.service"}) {
		t.Errorf("%d bytes, failed %q", c.rootBytes, c.failedUnits)
	}
	feed(c, "\x1b[0;1;31mred\x1b[0m\x1b[2J text\n")
	if tail := c.tail(); tail[len(tail)-1] != "red text" {
		t.Errorf("%q", tail[len(tail)-1])
	}
	for range 3 * keptLines {
		feed(c, "line\n")
	}
	if len(c.tail()) > keptLines+1 {
		t.Errorf("%d lines are kept", len(c.tail()))
	}
	c.write(make([]byte, 1<<17), 0)
	if len(c.partial) > 1<<16 {
		t.Errorf("%d bytes without a line are kept", len(c.partial))
	}
}

func TestEveryReasonHasARemedyAndAPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guides/try-an-image.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Reasons() {
		if remedy(r) == "" {
			t.Errorf("%q has no remedy", r)
		}
		if !strings.Contains(string(page), "| `"+string(r)+"` |") {
			t.Errorf("%q is not on the page", r)
		}
	}
}

// FuzzConsole: whatever a machine prints, it is read.
func FuzzConsole(f *testing.F) {
	f.Add([]byte(start))
	f.Add([]byte("\x1b[\nslipway-report root_kib=99999999999999999999 failed= end"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newConsole(image{size: gib})
		feed(c, string(text))
		if len(c.lines) > keptLines || c.rootBytes < 0 {
			t.Errorf("%d lines, %d bytes", len(c.lines), c.rootBytes)
		}
	})
}
