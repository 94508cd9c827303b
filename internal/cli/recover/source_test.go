package recover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/cli/environment"
)

// shelf is a folder with backups, and what writes to it.
type shelf struct {
	*testing.T
	folder string
	reader *age.X25519Identity
	key    backup.Key
}

func (s shelf) write(below string, what *snapshot.Snapshot) string {
	s.Helper()
	at := location.Location{Scheme: location.Folder, Folder: filepath.Join(s.folder, "backups")}
	if below != "" {
		at = at.Below(below)
	}
	to, err := target.Open(at, target.Access{})
	if err != nil {
		s.Fatal(err)
	}
	r, err := backup.Open(s.Context(), to, backup.Options{Environment: "prod", Now: func() time.Time { return what.Taken }, Key: s.key, Recipients: []string{s.reader.Recipient().String()}})
	if err != nil {
		s.Fatal(err)
	}
	b, err := r.Write(s.Context(), what)
	if err != nil {
		s.Fatal(err)
	}
	return b.ID
}

// find reads what recover reads.
func (s shelf) find(at time.Time) Found {
	s.Helper()
	file := filepath.Join(s.folder, "slipway.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\nspec: {cloud: none, backup: {target: file://./backups, recipients: ["+s.reader.Recipient().String()+"]}}\n"), 0o600); err != nil {
		s.Fatal(err)
	}
	flags := environment.Flags{Files: []string{file}}
	loaded, err := flags.Load()
	if err != nil {
		s.Fatal(err)
	}
	found, err := Vault(s.Context(), loaded, Wanted{At: at, Identities: []age.Identity{s.reader}})
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// TestTheNewestDatastoreIsUsed, with the servers of its own moment, whoever made it; one that
// cannot be read is told, and the older one is used.
func TestTheNewestDatastoreIsUsed(t *testing.T) {
	t.Parallel()
	s := shelf{T: t, folder: t.TempDir()}
	var err error
	if s.reader, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	if s.key, err = backup.NewKey(); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	own := backuptest.Snapshot(1, day.Add(4*time.Hour))
	id := s.write("", own)
	if found := s.find(time.Time{}); found.ID != id || found.Snapshot == nil || found.Datastore != nil || found.Note != "" {
		t.Errorf("nobody made one: %+v", found.Datastore)
	}
	copied := func(hour int, content string) *snapshot.Snapshot {
		return &snapshot.Snapshot{Environment: "prod", Taken: day.Add(time.Duration(hour) * time.Hour), Datastore: []byte(content), Cloud: snapshot.Inventory{Servers: []snapshot.Resource{{ID: content}}}}
	}
	s.write(location.Seed, copied(3, "three"))
	expect := func(what string, at time.Time, content string) {
		t.Helper()
		found := s.find(at)
		if d := found.Datastore; d == nil || string(d.Archive) != content || d.Cloud.Servers[0].ID != content && content != "own" || found.Note != "" {
			t.Errorf("%s: %+v, %q", what, d, found.Note)
		}
	}
	expect("only the seed made one", time.Time{}, "three")
	own.Taken, own.Datastore = day.Add(5*time.Hour), []byte("own")
	s.write("", own)
	expect("the operator's is newer", time.Time{}, "own")
	six := s.write(location.Seed, copied(6, "six"))
	expect("the seed's is newer", time.Time{}, "six")
	expect("at a time before", day.Add(5*time.Hour), "own")
	if err := os.RemoveAll(filepath.Join(s.folder, "backups", location.Seed, "packs")); err != nil {
		t.Fatal(err)
	}
	if found := s.find(time.Time{}); found.Datastore == nil || string(found.Datastore.Archive) != "own" || !strings.Contains(found.Note, "it cannot be read") {
		t.Errorf("%s is gone: %+v, %q", six, found.Datastore, found.Note)
	}
}

// TestABackupThatIsStillToCome counts as of when it was stored, and the operator is told: its
// clock was ahead, and the proof of clocks would refuse it until then.
func TestABackupThatIsStillToCome(t *testing.T) {
	t.Parallel()
	s := shelf{T: t, folder: t.TempDir()}
	var err error
	if s.reader, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	if s.key, err = backup.NewKey(); err != nil {
		t.Fatal(err)
	}
	s.write("", backuptest.Snapshot(1, time.Now().Add(-time.Hour)))
	id := s.write("", backuptest.Snapshot(1, time.Now().Add(24*time.Hour)))
	if found := s.find(time.Time{}); found.ID != id || time.Until(found.Snapshot.Taken) > time.Minute || !strings.Contains(found.Note, "was ahead") {
		t.Errorf("%s of %s: %q", found.ID, found.Snapshot.Taken, found.Note)
	}
}
