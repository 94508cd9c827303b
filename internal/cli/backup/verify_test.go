package backup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	store "github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestVerifyAllPassesOverThoseOfOthers: a backup for another identity is told in the end, and
// hides none that is damaged. Alone it is refused.
func TestVerifyAllPassesOverThoseOfOthers(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t)
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other := e
	other.recipient = stranger
	now := time.Now().UTC().Truncate(time.Second)
	old := e.written(t, "", backuptest.Snapshot(1, now.Add(-3*time.Hour)))
	middle := e.written(t, "", backuptest.Snapshot(1, now.Add(-2*time.Hour)))
	strange := other.written(t, "", backuptest.Snapshot(1, now.Add(-time.Hour)))
	verify := func(want fault.Exit, args ...string) (map[string]store.Verified, error) {
		t.Helper()
		text, err := e.run(t, append([]string{"verify", "-o", "json"}, args...)...)
		if fault.ExitCode(err) != want {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
		var all []struct {
			Backup    struct{ ID string }
			Decrypted bool
			Stranger  bool
			Problems  []string
		}
		if text != "" {
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
		}
		found := map[string]store.Verified{}
		for _, v := range all {
			found[v.Backup.ID] = store.Verified{Decrypted: v.Decrypted, Stranger: v.Stranger, Problems: v.Problems}
		}
		return found, err
	}
	if all, _ := verify(fault.ExitOK, "--all"); len(all) != 3 {
		t.Errorf("without a key %+v", all)
	}
	all, err := verify(fault.ExitUsage, "--all", "--identity", e.identity)
	if len(all) != 3 || !all[old.ID].Decrypted || !all[middle.ID].Decrypted || all[strange.ID].Decrypted || !all[strange.ID].Stranger || !strings.Contains(err.Error(), "not decrypted: "+strange.ID) {
		t.Errorf("with a key %+v, %v", all, err)
	}
	if _, err := verify(fault.ExitUsage, "--identity", e.identity); !strings.Contains(err.Error(), "none of the recipients") {
		t.Errorf("it alone: %v", err)
	}
	e.write(t, filepath.Join(e.dir, "backups", "tables", old.Table.SHA256), "forged")
	all, err = verify(fault.ExitFailure, "--all", "--identity", e.identity)
	if len(all[old.ID].Problems) != 1 || !strings.Contains(err.Error(), "1 of 3 are damaged") || !strings.Contains(err.Error(), strange.ID) {
		t.Errorf("with a forged one %+v, %v", all, err)
	}
}
