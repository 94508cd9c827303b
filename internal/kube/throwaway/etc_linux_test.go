package throwaway

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnEtcOfItsOwn: what is written to /etc goes to the folder of the data, also where that has
// a name with the characters that end an option of mount.
func TestAnEtcOfItsOwn(t *testing.T) {
	t.Parallel()
	if !ownEtc(t, "plain") {
		t.Skip("mounts are not permitted here")
	}
	for _, name := range []string{"status, owners", "a:b"} {
		if !ownEtc(t, name) {
			t.Errorf("a server with its data in %q writes to the host's /etc", name)
		}
	}
}

// ownEtc says whether a program with its data in a folder of that name has an /etc of its own. It
// looks before it writes.
func ownEtc(t *testing.T, name string) bool {
	t.Helper()
	data := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	command, err := withOwnEtc("/bin/sh", data, []string{"-c", `grep -q ' /etc ' /proc/self/mounts && mkdir /etc/rancher`})
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Logf("%s: %v: %s", name, err, out)
		return false
	}
	_, err = os.Stat(filepath.Join(data, "etc", "rancher"))
	return err == nil
}
