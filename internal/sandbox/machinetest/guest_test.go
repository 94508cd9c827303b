package machinetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheGuestIsItsSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	object, out := filepath.Join(dir, "o"), filepath.Join(dir, "bin")
	for _, args := range [][]string{{"as", "--64", "-o", object, "testdata/guest.s"},
		{"ld", "-Ttext", "0x7c00", "--oformat", "binary", "-o", out, object}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skip(err)
		}
		if text, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if code, err := os.ReadFile(out); err != nil || string(code) != guest {
		t.Errorf("%v: guest is not what testdata/guest.s makes", err)
	}
}
