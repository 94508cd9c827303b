package backup_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
)

// storedOnce checks that each content is in one pack only.
func storedOnce(t *testing.T, o backup.Options, packs map[string][]byte) {
	t.Helper()
	seen := map[string]string{}
	for name, whole := range packs {
		all, err := backup.PiecesOf(o.Key, o.Recipients, whole)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, one := range all {
			if seen[one] != "" {
				t.Errorf("a content is in %s and in %s", seen[one], name)
			}
			seen[one] = name
		}
	}
}

var errKilled = errors.New("killed")

// TestKilledAtEachCall: a writer that ends at whichever call leaves nothing that is
// listed, and the next one continues from what was stored: nothing is there twice.
func TestKilledAtEachCall(t *testing.T) {
	t.Parallel()
	for call := 1; ; call++ {
		w, s := newWorld(t), backuptest.Snapshot(1, begin)
		var mu sync.Mutex
		calls := 0
		w.memory.Fault = func(context.Context, string, string) error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls >= call {
				return errKilled
			}
			return nil
		}
		r, err := backup.Open(t.Context(), w.memory, w.options)
		if err == nil {
			_, err = r.Write(t.Context(), s)
		}
		w.memory.Fault = nil
		if err == nil {
			break
		}
		if all, err := w.open(t).List(t.Context()); err != nil || len(all) != 0 {
			t.Fatalf("call %d: %d are listed, %v", call, len(all), err)
		}
		w.pass(time.Minute)
		b := w.write(t, s)
		got, err := w.open(t).Read(t.Context(), b.ID, w.first)
		if err != nil {
			t.Fatal(err)
		}
		sameSnapshot(t, got, s)
		packs := map[string][]byte{}
		for _, name := range names(w, "packs/") {
			packs[name] = w.memory.Objects()[name]
		}
		storedOnce(t, w.options, packs)
	}
}

// The variables that make the test's program a writer that is killed.
const (
	killFolder = "SLIPWAY_TEST_KILL_FOLDER"
	killKey    = "SLIPWAY_TEST_KILL_KEY"
	killFor    = "SLIPWAY_TEST_KILL_RECIPIENT"
)

// killClusters are enough that some packs are written.
const killClusters = 1200

// TestWriterToKill is the process that TestKilledProcess kills.
func TestWriterToKill(t *testing.T) {
	folder := os.Getenv(killFolder)
	if folder == "" {
		t.Skip("started by TestKilledProcess only")
	}
	o := backup.Options{Environment: backuptest.Environment, Key: backup.Key([]byte(os.Getenv(killKey))), Recipients: []string{os.Getenv(killFor)}}
	r := must(backup.Open(t.Context(), openFolder(t, folder), o))
	s := backuptest.Snapshot(killClusters, begin)
	must(os.Stdout.WriteString("begins\n"))
	must(r.Write(t.Context(), s))
}

func openFolder(t *testing.T, folder string) target.Target {
	t.Helper()
	return must(target.Open(must(location.Parse("file://"+folder)), target.Access{}))
}

// TestKilledProcess: a process that writes into a folder is killed at 20 random
// moments. Nothing half is listed, and what comes out in the end is whole and there
// once.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set: run make proofs")
	}
	w, folder := newWorld(t), t.TempDir()
	key := strings.Repeat("k", backup.KeySize)
	o := backup.Options{Environment: backuptest.Environment, Key: backup.Key([]byte(key)), Recipients: []string{w.first.Recipient().String()}}
	whole := 0
	for range 20 {
		killOne(t, folder, key, o.Recipients[0], time.Duration(rand.IntN(2500))*time.Millisecond)
		r := must(backup.Open(t.Context(), openFolder(t, folder), o))
		all := must(r.List(t.Context()))
		for _, b := range all {
			if v := must(r.Verify(t.Context(), b)); len(v.Problems) > 0 {
				t.Fatalf("listed, but %v", v.Problems)
			}
		}
		whole = len(all)
	}
	t.Logf("%d of 20 were whole before they were killed", whole)
	s := backuptest.Snapshot(killClusters, begin)
	r := must(backup.Open(t.Context(), openFolder(t, folder), o))
	b := must(r.Write(t.Context(), s))
	sameSnapshot(t, must(r.Read(t.Context(), b.ID, w.first)), s)
	packs := map[string][]byte{}
	files := must(filepath.Glob(filepath.Join(folder, "packs", "*")))
	for _, file := range files {
		packs[file] = must(os.ReadFile(file))
	}
	if len(packs) == 0 {
		t.Fatal("no packs")
	}
	storedOnce(t, o, packs)
}

// killOne starts a writer and kills it some time after it begins.
func killOne(t *testing.T, folder, key, recipient string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestWriterToKill$")
	cmd.Env = append(os.Environ(), killFolder+"="+folder, killKey+"="+key, killFor+"="+recipient)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 16)) // it begins, or has ended
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestTwoWritersAtOnce: both backups are whole, and the next one uses what is there.
func TestTwoWritersAtOnce(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(5, begin)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			r, err := backup.Open(t.Context(), w.memory, w.options)
			if err == nil {
				_, err = r.Write(t.Context(), s)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	all, err := w.open(t).List(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%d backups, %v", len(all), err)
	}
	for _, b := range all {
		got, err := w.open(t).Read(t.Context(), b.ID, w.first)
		if err != nil {
			t.Fatal(err)
		}
		sameSnapshot(t, got, s)
	}
	w.pass(time.Hour)
	// One wrote everything. The other used what it found of that, if it was late.
	whole := max(all[0].Written, all[1].Written)
	if third := w.write(t, s); third.Written*5 > whole {
		t.Errorf("the third wrote %d bytes of %d again", third.Written, whole)
	}
}
