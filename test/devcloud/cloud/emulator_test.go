package cloud

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheEmulatorChangesTheProcessorAlone: every other word of QEMU's is passed on as it is.
func TestTheEmulatorChangesTheProcessorAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := (&Cloud{Machines: true}).writeEmulator(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "usr/local/bin/qemu-system-x86_64"))
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(string(text), "exec /usr/bin/qemu-system-x86_64", `printf '%s\n'`, 1)
	words := []string{"-name", "Nehalem of two words", "-cpu", "Nehalem,vme=on", "-m", "2048", ""}
	out, err := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh"}, words...)...).Output()
	words[3] = "Nehalem,model=28,vme=on"
	if want := strings.Join(words, "\n") + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}
