package ui

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/printable"
)

// terminals are the two ends of a terminal: the screen's, and the program's.
func terminals(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return screen, program
}

// TestATerminalGetsNoCommandOfOthers: what tenants and machines wrote is shown as text, and
// progress is redrawn all the same.
func TestATerminalGetsNoCommandOfOthers(t *testing.T) {
	t.Parallel()
	screen, program := terminals(t)
	out := shown(program)
	table := Table{Rows: [][]string{{"shop\x1b]0;yours\a", "\x1b[2J"}}, Footer: []string{"\u009b2Jend"}}
	if err := Output(out, "table", nil, table); err != nil {
		t.Fatal(err)
	}
	p := newTerminal(out, 60)
	step := event.Start(p, "server", "\x1b[1Ahostile\x1b[5n")
	time.Sleep(300 * time.Millisecond) // it is drawn more than once
	step.End("made", nil)
	p.Close()
	fmt.Fprintln(out, "last")
	fmt.Fprint(printable.Raw(out), "\x1b[1mraw\n")
	got := readUntil(t, screen, "raw")
	for _, want := range []string{"shop⟨U+001B⟩]0;yours⟨U+0007⟩  ⟨U+001B⟩[2J\r\n", "⟨U+009B⟩2Jend", "⟨U+001B⟩[1Ahostile⟨U+001B⟩[5n", "\x1b[1A\x1b[J", "✓ server: made", "\x1b[1mraw"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not on the screen: %q", want, got)
		}
	}
	if rest := strings.NewReplacer("\x1b[1A\x1b[J", "", "\x1b[1mraw", "").Replace(got); strings.ContainsAny(rest, "\x1b\a\u009b") {
		t.Errorf("commands on the screen: %q", rest)
	}
}

// TestAFileGetsAllAsItIs: programs read it.
func TestAFileGetsAllAsItIs(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprint(shown(file), "\x1b[2J\r\n\x00")
	if got, err := os.ReadFile(file.Name()); err != nil || string(got) != "\x1b[2J\r\n\x00" {
		t.Errorf("%q, %v", got, err)
	}
}

// readUntil reads what is on the screen until it has the end.
func readUntil(t *testing.T, screen *os.File, end string) string {
	t.Helper()
	var got bytes.Buffer
	piece := make([]byte, 4096)
	for !strings.Contains(got.String(), end) {
		n, err := screen.Read(piece)
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
		got.Write(piece[:n])
	}
	return got.String()
}
