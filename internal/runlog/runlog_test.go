package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/slipway-sh/slipway/internal/event"
)

// stores are the places of a state: a folder and a bucket.
func stores(t *testing.T) map[string]Store {
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { b.Close() })
	return map[string]Store{"folder": Folder(t.TempDir()), "bucket": Bucket{b}}
}

func begin(t *testing.T, store Store, r *Recorder, command string) {
	t.Helper()
	host, _ := os.Hostname()
	if err := r.Begin(t.Context(), store, Record{Environment: "prod", Command: command, User: "ada", Host: host, PID: os.Getpid(), Started: time.Now(), Files: []File{{"slipway.yaml", "abc"}}}); err != nil {
		t.Fatal(err)
	}
}

// TestARunIsRecorded from its beginning on, with what it changed and how it ended, without
// secrets.
func TestARunIsRecorded(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := func() Record {
				t.Helper()
				all, err := List(t.Context(), store, "prod", 1)
				if err != nil || len(all) != 1 {
					t.Fatalf("%v, %v", all, err)
				}
				return all[0]
			}
			r := &Recorder{}
			r.Emit(event.Event{Step: "before", State: event.Done, Message: "created"})
			begin(t, store, r, "slipway up --password=hunter22")
			if got := one(); got.Now(time.Now()) != Running || got.User != "ada" || got.Command != "slipway up --password=[removed]" || got.Files[0].SHA256 != "abc" {
				t.Errorf("while it runs: %+v", got)
			}
			event.Start(r, "seed", "creating").End("created", nil)
			event.Start(r, "other", "looking").End("", nil)
			event.Start(r, "volume", "creating").End("", errors.New("password: hunter22"))
			failure := fmt.Errorf("logging in: token=s3cr3tvalue")
			if err := r.End(t.Context(), 4, failure, false); err != nil {
				t.Fatal(err)
			}
			got := one()
			if got.Outcome != Failed || got.Exit != 4 || got.Ended.IsZero() || strings.Join(got.Changed, ",") != "seed: created" || got.Error != "logging in: token=[removed]" {
				t.Errorf("%+v", got)
			}
			events := string(Events(t.Context(), store, "prod", got.ID))
			if strings.Count(events, "\n") != 6 || strings.Contains(events, "hunter22") || strings.Contains(events, "before") || !strings.Contains(events, `"step":"seed"`) {
				t.Error(events)
			}
			for line := range strings.Lines(events) {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
			for _, end := range []struct {
				err         error
				interrupted bool
				want        Outcome
			}{{nil, false, Succeeded}, {context.Canceled, true, Interrupted}} {
				time.Sleep(2 * time.Millisecond) // runs of one millisecond have no order
				begin(t, store, r, "slipway down")
				if err := r.End(t.Context(), 0, end.err, end.interrupted); err != nil || one().Outcome != end.want {
					t.Errorf("%v: %+v, want %s", err, one(), end.want)
				}
			}
			if all, err := List(t.Context(), store, "prod", 0); err != nil || len(all) != 3 || all[0].ID < all[2].ID {
				t.Errorf("%v: %+v", err, all)
			}
			if all, err := List(t.Context(), store, "other", 0); err != nil || len(all) != 0 {
				t.Errorf("of another environment: %v, %v", all, err)
			}
		})
	}
}

// slow is a store that takes a second for what the first beat writes.
type slow struct {
	Store
	puts atomic.Int32
}

func (s *slow) Put(ctx context.Context, name string, text []byte) error {
	if s.puts.Add(1) == 2 {
		time.Sleep(time.Second)
	}
	return s.Store.Put(ctx, name, text)
}

// TestTheEndIsTheLast: a beat that is being written when the run ends does not come after it.
func TestTheEndIsTheLast(t *testing.T) {
	t.Parallel()
	dir := Folder(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		store, r := &slow{Store: dir}, &Recorder{}
		begin(t, store, r, "slipway up")
		time.Sleep(beatEvery + time.Millisecond)
		if err := r.End(t.Context(), 0, nil, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if all, err := List(t.Context(), store, "prod", 0); err != nil || len(all) != 1 || all[0].Outcome != Succeeded || store.puts.Load() != 3 {
			t.Errorf("%+v, %v after %d writings", all, err, store.puts.Load())
		}
	})
}

// together is a store that answers when as many are read at the same time as may be.
type together struct {
	Store
	here atomic.Int32
	met  chan struct{}
}

func (s *together) Get(ctx context.Context, name string) ([]byte, error) {
	if s.here.Add(1) == readAtOnce {
		close(s.met)
	}
	select {
	case <-s.met:
		return s.Store.Get(ctx, name)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestRunsAreReadSideBySide, and stay in their order; of those that cannot be read each is told.
func TestRunsAreReadSideBySide(t *testing.T) {
	t.Parallel()
	inside := Folder(t.TempDir())
	for i := range readAtOnce + 4 {
		id := fmt.Sprintf("20260102T0304%02d", i)
		text := fmt.Sprintf(`{"id": %q}`, id)
		if i == 3 || i == 7 {
			text = "no record"
		}
		if err := inside.Put(t.Context(), recordName("prod", id), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	all, err := List(ctx, &together{Store: inside, met: make(chan struct{})}, "prod", 0)
	if err == nil || len(all) != readAtOnce+2 || !slices.IsSortedFunc(all, func(a, b Record) int { return strings.Compare(b.ID, a.ID) }) {
		t.Fatalf("read %+v, %v", all, err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "reading run 20260102T030407: ") || !strings.HasPrefix(lines[1], "reading run 20260102T030403: ") {
		t.Errorf("told %v", err)
	}
}

// TestAKilledRunIsInterrupted: its process is gone from this host, or it says nothing any
// more on another.
func TestAKilledRunIsInterrupted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	host, _ := os.Hostname()
	dead := exec.Command("/bin/true")
	if err := dead.Run(); err != nil {
		t.Skip(err)
	}
	for name, test := range map[string]struct {
		r    Record
		want Outcome
	}{
		"here and alive":           {Record{Host: host, PID: os.Getpid(), Started: now, Beat: now}, Running},
		"here and gone":            {Record{Host: host, PID: dead.Process.Pid, Started: now, Beat: now}, Interrupted},
		"here, another process":    {Record{Host: host, PID: os.Getpid(), Started: now.Add(-time.Hour), Beat: now}, Interrupted},
		"elsewhere and heard":      {Record{Host: "x", PID: 1, Started: now.Add(-time.Hour), Beat: now.Add(-time.Minute)}, Running},
		"elsewhere and not heard":  {Record{Host: "x", PID: 1, Started: now.Add(-time.Hour), Beat: now.Add(-3 * time.Minute)}, Interrupted},
		"ended long ago elsewhere": {Record{Host: "x", Outcome: Succeeded, Beat: now.Add(-time.Hour)}, Succeeded},
	} {
		if test.r.Outcome == "" {
			test.r.Outcome = Running
		}
		if got := test.r.Now(now); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestOldRunsGo, and of those that stay only the newest have events.
func TestOldRunsGo(t *testing.T) {
	t.Parallel()
	store := Folder(t.TempDir())
	for i := range kept + 5 {
		for _, name := range []string{recordName("prod", fmt.Sprintf("%05d", i)), eventsName("prod", fmt.Sprintf("%05d", i))} {
			if err := store.Put(t.Context(), name, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	prune(t.Context(), store, "prod")
	names, err := store.List(t.Context(), folder("prod"))
	if err != nil || len(names) != kept+keptEvents || names[0] != "runs/prod/00005.json" {
		t.Errorf("%v: %d, the oldest %s", err, len(names), names[0])
	}
	if info, err := os.Stat(string(store) + "/" + names[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestAStoreThatFailsIsTold, and the recorder then drops what comes.
func TestAStoreThatFailsIsTold(t *testing.T) {
	t.Parallel()
	r := &Recorder{}
	if err := r.Begin(t.Context(), Folder("/proc/none"), Record{Environment: "prod", Started: time.Now()}); err == nil {
		t.Error("no error")
	}
	r.Emit(event.Event{Step: "x", State: event.Done, Message: "created"})
	if err := r.End(t.Context(), 0, nil, false); err != nil || len(r.record.Changed) > 0 {
		t.Errorf("%v, %v", err, r.record.Changed)
	}
}

func TestTheBucketOfAState(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"s3://b/a/c?endpoint=h:9000&disableSSL=true&region=r": "s3://b?disable_https=true&endpoint=http%3A%2F%2Fh%3A9000&region=r a/c/",
		"s3://b": "s3://b ", "gs://b/x/": "gs://b x/",
	} {
		address, prefix, err := bucketOf(in)
		if err != nil || address+" "+prefix != want {
			t.Errorf("%s: %s %s, %v", in, address, prefix, err)
		}
	}
	if _, _, err := Open(t.Context(), "ftp://x"); err == nil {
		t.Error("a store of an unknown kind")
	}
}

// TestNewsAreInAFolderAtOnce, so that the console follows a run; without news the record is
// written as seldom as in a bucket.
func TestNewsAreInAFolderAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store, r := Folder(dir), &Recorder{}
		if err := r.Begin(t.Context(), store, Record{Environment: "prod", Started: time.Now()}); err != nil {
			t.Fatal(err)
		}
		beat := func() time.Time {
			runs, err := List(t.Context(), store, "prod", 1)
			if err != nil || len(runs) != 1 {
				t.Fatal(runs, err)
			}
			return runs[0].Beat
		}
		began := beat()
		time.Sleep(newsEvery * 2)
		if !beat().Equal(began) {
			t.Error("it was written without news")
		}
		r.Emit(event.Event{Step: "seed", State: event.Waiting, Message: "server is BUILD"})
		time.Sleep(newsEvery + time.Millisecond)
		if text := string(Events(t.Context(), store, "prod", r.record.ID)); !strings.Contains(text, "server is BUILD") {
			t.Errorf("the events are %q", text)
		}
		told := beat()
		time.Sleep(beatEvery + newsEvery)
		if again := beat(); !again.After(told) {
			t.Errorf("no beat after %s", again.Sub(told))
		}
		if err := r.End(t.Context(), 0, nil, false); err != nil {
			t.Error(err)
		}
	})
}
