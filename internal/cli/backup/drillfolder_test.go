package backup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFoldersOfKilledDrills are removed by the next one, and never that of a drill which runs.
func TestFoldersOfKilledDrills(t *testing.T) {
	t.Parallel()
	in, now := t.TempDir(), time.Now()
	running, leave, err := drillFolder(in)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]struct {
		lock bool
		age  time.Duration
		left bool
	}{
		"slipway-drill-killed":  {true, 0, false},
		"slipway-drill-earlier": {false, 25 * time.Hour, false},
		"slipway-drill-begins":  {false, time.Hour, true},
		"slipway-kind-1":        {true, 25 * time.Hour, true},
	}
	for name, one := range folders {
		dir := filepath.Join(in, name)
		if err := os.MkdirAll(filepath.Join(dir, "server"), 0o700); err != nil {
			t.Fatal(err)
		}
		if one.lock {
			if err := os.WriteFile(filepath.Join(dir, drillLock), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir, now.Add(-one.age), now.Add(-one.age)); err != nil {
			t.Fatal(err)
		}
	}
	long := now.Add(-48 * time.Hour)
	if err := os.Chtimes(running, long, long); err != nil {
		t.Fatal(err)
	}
	removeDrills(in, now)
	for name, one := range folders {
		if _, err := os.Stat(filepath.Join(in, name)); (err == nil) != one.left {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(running, drillLock)); err != nil {
		t.Errorf("the one that runs: %v", err)
	}
	leave()
	if _, err := os.Stat(running); !os.IsNotExist(err) {
		t.Errorf("at its end: %v", err)
	}
	removeDrills(filepath.Join(in, "nowhere"), now)
}
