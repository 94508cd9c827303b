package throwaway

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartsAgainAfterALostRace: a server that ended in a race is started again on its data, as
// systemd would do it, and one that ended for another reason is not.
func TestStartsAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	if !ownEtc(t, "plain") {
		t.Skip("mounts are not permitted here")
	}
	for _, c := range []struct {
		name, words string
		starts      int
	}{
		{"port", "listen tcp 127.0.0.1:20001: bind: address already in use", startAttempts},
		{"address", `F1128 hooks.go:204] PostStartHook "start-service-ip-repair-controllers" failed: ` +
			"unable to perform initial IP and Port allocation check", startAttempts},
		{"other", "no space left on device", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			k3s := filepath.Join(t.TempDir(), "k3s")
			script := "#!/bin/sh\necho start >>" + data + "/starts\necho '" + c.words + "'\nexit 1\n"
			if err := os.WriteFile(k3s, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			_, _, err := Start(context.Background(), k3s, data, os.Environ())
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the error has not what k3s said: %v", err)
			}
			starts, err := os.ReadFile(filepath.Join(data, "starts"))
			if n := strings.Count(string(starts), "start"); err != nil || n != c.starts {
				t.Errorf("k3s was started %d times instead of %d: %v", n, c.starts, err)
			}
		})
	}
}
