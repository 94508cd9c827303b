package datastore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// host runs programs on this machine; systemctl is noted only.
type host struct {
	ran []string
	// killed ends the run before the n-th program; 0 is never.
	killed int
}

var errKilled = errors.New("killed")

func (h *host) Run(ctx context.Context, program string, args ...string) (string, error) {
	var out bytes.Buffer
	err := h.Pipe(ctx, nil, &out, program, args...)
	return out.String(), err
}

func (h *host) Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error {
	h.ran = append(h.ran, program+" "+strings.Join(args, " "))
	if len(h.ran) == h.killed {
		return errKilled
	}
	if program == "systemctl" {
		return nil
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &remote.Failure{Program: program, Status: exit.ExitCode(), Said: said.String()}
	}
	return err
}

// python runs a program of Python, as tests that need no module of Go's for SQLite.
func python(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", append([]string{"-c", program}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

const (
	// fill makes a database as kine does, with a log beside it that is not merged.
	fill = `
import sqlite3, sys, os
db = sqlite3.connect(sys.argv[1]); db.execute("PRAGMA journal_mode=WAL"); db.execute("PRAGMA wal_autocheckpoint=0")
db.execute("CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT, deleted INTEGER DEFAULT 0)")
db.execute("INSERT INTO kine(name) VALUES ('/registry/gone')"); db.execute("INSERT INTO kine(name, deleted) VALUES ('/registry/gone', 1)")
db.executemany("INSERT INTO kine(name) VALUES (?)", [("/registry/%d" % n,) for n in range(5000)]); db.commit()
db.execute("INSERT INTO kine(name) VALUES ('not committed')")
os._exit(0)`
	count = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("SELECT count(*), sum(name = 'not committed') FROM kine").fetchone(), db.execute("PRAGMA integrity_check").fetchone()[0])`
)

// seed is the data folder of k3s with a datastore.
func seed(t *testing.T, token string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"server/token": token, "server/tls/server-ca.key": "key of " + token, "server/cred/encryption-config.json": "secret of " + token,
		"slipway/node/password": "password of " + token, "server/manifests/x.yaml": "k3s writes this itself", "agent/x": "of the machine"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, "server/db"), 0o700); err != nil {
		t.Fatal(err)
	}
	python(t, fill, filepath.Join(folder, "server/db/state.db"))
	return folder
}

func text(t *testing.T, folder, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Error(err)
	}
	return string(content)
}

// TestANewSeedIsTheOldOne: the copy has all that was committed, also what is only in the
// log, and nothing else; on another seed it takes the place of what k3s made there.
func TestANewSeedIsTheOldOne(t *testing.T) {
	t.Parallel()
	old, fresh := seed(t, "old"), seed(t, "fresh")
	var archive bytes.Buffer
	if err := Take(t.Context(), &host{}, old, &archive); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(old, "slipway-copy-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	h := &host{}
	if err := Put(t.Context(), h, fresh, "b1", archive.Bytes()); err != nil {
		t.Fatal(err)
	}
	expect(t, fresh)
	stop, start := -1, -1
	for i, words := range h.ran {
		switch {
		case strings.HasPrefix(words, "systemctl stop"):
			stop = i
		case strings.HasPrefix(words, "systemctl start"):
			start = i
		case strings.HasPrefix(words, "mv") && (stop < 0 || start >= 0):
			t.Errorf("%s while k3s runs", words)
		}
	}
	if stop < 0 || start != len(h.ran)-1 {
		t.Errorf("ran %q", h.ran)
	}
	kept, _ := filepath.Glob(filepath.Join(fresh, "slipway-before-*/server/token"))
	if len(kept) != 1 {
		t.Errorf("kept %v of before", kept)
	}
	again := &host{}
	if err := Put(t.Context(), again, fresh, "b1", archive.Bytes()); err != nil || len(again.ran) != 2 || text(t, fresh, "server/token") != "old" {
		t.Errorf("a second time: %v, ran %q", err, again.ran)
	}
}

func expect(t *testing.T, folder string) {
	t.Helper()
	if found := python(t, count, filepath.Join(folder, "server/db/state.db")); found != "(5002, 0) ok" {
		t.Errorf("the database has %s", found)
	}
	for name, want := range map[string]string{"server/token": "old", "server/tls/server-ca.key": "key of old", "server/cred/encryption-config.json": "secret of old",
		"slipway/node/password": "password of old", "agent/x": "of the machine"} {
		if got := text(t, folder, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "server/tls/server-ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has %v, %v", info, err)
	}
}

// TestKilledAnywhere: the next run ends with the whole datastore.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	old := seed(t, "old")
	var archive bytes.Buffer
	if err := Take(t.Context(), &host{}, old, &archive); err != nil {
		t.Fatal(err)
	}
	points, template := 0, seed(t, "fresh")
	for point := 1; ; point++ {
		fresh := t.TempDir()
		if err := os.CopyFS(fresh, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		err := Put(t.Context(), &host{killed: point}, fresh, "b1", archive.Bytes())
		if err == nil {
			break
		}
		if points++; !errors.Is(err, errKilled) {
			t.Fatalf("point %d: %v", point, err)
		}
		last := &host{}
		if err := Put(t.Context(), last, fresh, "b1", archive.Bytes()); err != nil {
			t.Fatalf("after point %d: %v", point, err)
		}
		if point%6 == 0 { // each look at a database starts a program
			expect(t, fresh)
		}
		if text(t, fresh, "server/token")+text(t, fresh, "slipway/node/password") != "oldpassword of old" || strings.Contains(text(t, fresh, "server/db/state.db"), "not committed") {
			t.Error("the datastore is not the old one")
		}
		if started := strings.Contains(strings.Join(last.ran, "\n"), "systemctl start"); !started {
			t.Errorf("after point %d k3s was not started: %q", point, last.ran)
		}
		if t.Failed() {
			t.Fatalf("point %d", point)
		}
	}
	if points < 15 {
		t.Errorf("%d points", points)
	}
}

// TestBadArchives replace nothing.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	old := seed(t, "old")
	var archive bytes.Buffer
	if err := Take(t.Context(), &host{}, old, &archive); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"none": nil, "no archive": []byte(strings.Repeat("x", 2000)), "cut off": archive.Bytes()[:archive.Len()/2]} {
		fresh, h := seed(t, "fresh"), &host{}
		err := Put(t.Context(), h, fresh, "b1", content)
		if err == nil || fault.Remedy(err) == "" || strings.Contains(strings.Join(h.ran, "\n"), "systemctl") || text(t, fresh, "server/token") != "fresh" {
			t.Errorf("%s: %v, ran %q", name, err, h.ran)
		}
	}
}

// TestADamagedDatabase is no copy.
func TestADamagedDatabase(t *testing.T) {
	t.Parallel()
	old := seed(t, "old")
	if err := os.Remove(filepath.Join(old, "server/db/state.db-wal")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old, "server/db/state.db"), bytes.Repeat([]byte("x"), 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Take(t.Context(), &host{}, old, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "datastore of the seed") || fault.Remedy(err) == "" {
		t.Errorf("told %v", err)
	}
}

// TestHas tells what is there from what was deleted.
func TestHas(t *testing.T) {
	t.Parallel()
	folder := seed(t, "old")
	for key, want := range map[string]bool{"/registry/17": true, "/registry/gone": false, "/registry/never": false, "not committed": false} {
		if got, err := Has(t.Context(), &host{}, folder, key); err != nil || got != want {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if _, err := Has(t.Context(), &host{}, t.TempDir(), "x"); err == nil {
		t.Error("a datastore that is not there has been read")
	}
}
