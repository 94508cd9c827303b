package backup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	store "github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
)

// written writes a backup as another machine does, below a folder of the target.
func (e environment) written(t *testing.T, folder string, s *snapshot.Snapshot) store.Backup {
	t.Helper()
	at := location.Location{Scheme: location.Folder, Folder: filepath.Join(e.dir, "backups")}
	if folder != "" {
		at = at.Below(folder)
	}
	to, err := target.Open(at, target.Access{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := store.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Open(t.Context(), to, store.Options{Environment: "prod", Now: func() time.Time { return s.Taken }, Key: key, Recipients: []string{e.recipient.Recipient().String()}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Write(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBackupsOfTheSeed are listed, shown, verified and pruned beside those of the management
// cluster, and never are the one that is meant when none is named.
func TestBackupsOfTheSeed(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t)
	now := time.Now().UTC().Truncate(time.Second)
	own := e.written(t, "", backuptest.Snapshot(1, now.Add(-time.Hour)))
	old := e.written(t, location.Seed, &snapshot.Snapshot{Environment: "prod", Taken: now.Add(-time.Minute), Datastore: []byte("old")})
	seed := e.written(t, location.Seed, &snapshot.Snapshot{Environment: "prod", Taken: now, Datastore: []byte("the datastore")})
	var all []struct{ ID, Of, Damage string }
	if err := json.Unmarshal([]byte(e.must(t, "list", "-o", "json")), &all); err != nil || len(all) != 3 || all[0].ID != own.ID || all[0].Of != "management" || all[1].Of != "seed" || all[2].Damage != "" {
		t.Errorf("listed %+v, %v", all, err)
	}
	if text := e.must(t, "list"); !strings.Contains(text, seed.ID+"  seed") {
		t.Errorf("listed\n%s", text)
	}
	if text := e.must(t, "show"); !strings.Contains(text, own.ID) {
		t.Errorf("the newest is\n%s", text)
	}
	if text := e.must(t, "show", seed.ID); !strings.Contains(text, "seed's datastore") {
		t.Errorf("shown\n%s", text)
	}
	if text := e.must(t, "verify", "--all", "--identity", e.identity); strings.Count(text, "whole") != 3 || strings.Count(text, "yes") != 3 {
		t.Errorf("verified\n%s", text)
	}
	if _, err := e.run(t, "show", "1999"); err == nil || !strings.Contains(err.Error(), "no such backup") {
		t.Errorf("one that is not there: %v", err)
	}
	if text := e.must(t, "prune"); !strings.Contains(text, old.ID) || strings.Count(text, "removed") < 2 {
		t.Errorf("pruned\n%s", text)
	}
	if text := e.must(t, "list"); strings.Contains(text, old.ID) || !strings.Contains(text, seed.ID) || !strings.Contains(text, own.ID) {
		t.Errorf("after prune\n%s", text)
	}
	e.write(t, filepath.Join(e.dir, "backups", location.Seed, "tables", seed.Table.SHA256), "forged")
	if text, err := e.run(t, "verify", "--all"); err == nil || !strings.Contains(err.Error(), "1 of 2 are damaged") || fault.Remedy(err) == "" {
		t.Errorf("a forged one: %v\n%s", err, text)
	}
}
