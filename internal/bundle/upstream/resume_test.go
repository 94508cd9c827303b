package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

func TestCutConnectionIsResumed(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(20, 200_000)
	s := newSite(t, map[string][]byte{"tool": file})
	s.cutOnce(file, 150_000)
	folder := newFolder(t)
	events := &event.Recorder{}
	o := s.options(pinned(c, file))
	o.Sink = events
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	seen := s.seen()
	if len(seen) != 2 {
		t.Fatalf("%d requests, want 2", len(seen))
	}
	have := rangeStart(t, seen[1])
	if have == 0 || have > 150_000 {
		t.Errorf("resumed at %d of 150000 sent", have)
	}
	if got, want := seen[1].Header.Get("If-Range"), `"`+sum(file)[:16]+`"`; got != want {
		t.Errorf("If-Range %s, want %s", got, want)
	}
	waited := false
	for _, e := range events.Events() {
		waited = waited || e.State == event.Waiting
	}
	if !waited {
		t.Error("no event tells of the pause")
	}
}

func rangeStart(t *testing.T, r *http.Request) int {
	t.Helper()
	var from int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil {
		t.Fatalf("Range %q: %v", r.Header.Get("Range"), err)
	}
	return from
}

// leave puts the start of a file where a killed pull left it.
func leave(t *testing.T, folder *bundle.Folder, sha string, content []byte, validator string) {
	t.Helper()
	dir := filepath.Join(folder.Dir(), bundle.WorkDir, "partial")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{sha: content, sha + ".validator": []byte(validator)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKilledPullGoesOn(t *testing.T) {
	t.Parallel()
	file := noise(21, 10_000)
	tag := `"` + sum(file)[:16] + `"`
	ignore := func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(file) // 200, whatever was asked for
		return true
	}
	wrongRange := func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("Content-Range", "bytes 10-9999/10000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(file[10:])
		return true
	}
	for name, test := range map[string]struct {
		left      []byte
		validator string
		answer    func(int, http.ResponseWriter, *http.Request) bool
		requests  int
	}{
		"the rest is fetched":                {file[:6000], tag, nil, 1},
		"no validator, still the rest":       {file[:6000], "", nil, 1},
		"other validator: anew":              {noise(22, 6000), `"old"`, nil, 1},
		"server ignores the range":           {file[:6000], tag, ignore, 1},
		"wrong range: anew":                  {file[:6000], tag, wrongRange, 2},
		"start does not fit: anew":           {noise(23, 6000), tag, nil, 2},
		"more than the file has: anew":       {noise(24, 20_000), tag, nil, 2},
		"complete: nothing is asked":         {file, tag, nil, 0},
		"created, but nothing written to it": {nil, "", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := binary("tool")
			s := newSite(t, map[string][]byte{"tool": file})
			s.before = test.answer
			folder := newFolder(t)
			leave(t, folder, sum(file), test.left, test.validator)
			if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
				t.Fatal(err)
			}
			checkStored(t, folder, c, file)
			seen := s.seen()
			if len(seen) != test.requests {
				t.Fatalf("%d requests, want %d", len(seen), test.requests)
			}
			if len(seen) > 0 && len(test.left) > 0 {
				if got := rangeStart(t, seen[0]); got != len(test.left) {
					t.Errorf("asked from %d, %d were there", got, len(test.left))
				}
			}
			if left := partialFiles(t, folder); len(left) > 0 {
				t.Errorf("files stay: %v", left)
			}
		})
	}
}

func TestCancelledPullKeepsPartial(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(25, 100_000)
	s := newSite(t, map[string][]byte{"tool": file})
	s.before = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 {
			return false
		}
		sendSome(w, file, 40_000)
		<-r.Context().Done()
		return true
	}
	dir := t.TempDir()
	folder := openFolder(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		path := filepath.Join(dir, bundle.WorkDir, "partial", sum(file))
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if info, err := os.Stat(path); err == nil && info.Size() == 40_000 {
				break
			}
		}
		cancel(fault.ErrInterrupted)
	}()
	err := upstream.Pull(ctx, folder, []component.Component{c}, s.options(pinned(c, file)))
	if got := fault.ExitCode(err); got != fault.ExitInterrupted {
		t.Fatalf("exit code %d of %v", got, err)
	}
	folder.Close()
	folder = openFolder(t, dir)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	if got := rangeStart(t, s.seen()[1]); got != 40_000 {
		t.Errorf("went on at %d, 40000 were there", got)
	}
}

func TestSuccessSweepsForgottenPartials(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(26, 100)
	s := newSite(t, map[string][]byte{"tool": file})
	folder := newFolder(t)
	leave(t, folder, sum([]byte("pinned last year")), []byte("half of"), "")
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Fatal(err)
	}
	if left := partialFiles(t, folder); len(left) > 0 {
		t.Errorf("files stay: %v", left)
	}
}
