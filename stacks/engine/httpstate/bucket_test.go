package httpstate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

const (
	stateFile = ".pulumi/stacks/slipway/prod.json"
	lockFile  = ".pulumi/locks/organization/slipway/prod/1.json"
	lockText  = `{"pid": 42, "username": "ann", "hostname": "laptop", "timestamp": "2026-01-02T03:04:05Z"}`
)

// opened is the store that the engine sees of a server.
func opened(t *testing.T, s *statetest.Server) (*blob.Bucket, *bucket) {
	t.Helper()
	inner := newBucket(client(t, s))
	b := blob.NewBucket(inner)
	t.Cleanup(func() { b.Close() })
	return b, inner
}

// keys are what a folder has; folders end with a slash.
func keys(t *testing.T, b *blob.Bucket, prefix, delimiter string) (all []string, failed error) {
	t.Helper()
	for list := b.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter}); ; {
		o, err := list.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if o.IsDir != strings.HasSuffix(o.Key, "/") {
			t.Errorf("%s is a folder: %t", o.Key, o.IsDir)
		}
		all = append(all, o.Key)
	}
}

// TestTheEngineSeesAStoreOfFiles: its checkpoint is on the server, its lock is the server's, and all
// else is in memory.
func TestTheEngineSeesAStoreOfFiles(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"plain": false, "GitLab": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := statetest.Start(t, gitlab)
			b, _ := opened(t, s)
			if text, err := b.ReadAll(t.Context(), metaFile); err != nil || string(text) != "version: 1\n" {
				t.Errorf("%q, %v", text, err)
			}
			if _, err := b.ReadAll(t.Context(), stateFile); gcerrors.Code(err) != gcerrors.NotFound {
				t.Errorf("before there is a state: %v", err)
			}
			if _, err := b.ReadAll(t.Context(), "none"); gcerrors.Code(err) != gcerrors.NotFound {
				t.Errorf("a file that is not there: %v", err)
			}
			if err := b.WriteAll(t.Context(), lockFile, []byte(lockText), nil); err != nil || !s.Locked() {
				t.Fatalf("locking: %v", err)
			}
			for key, text := range map[string]string{stateFile: `{"n":1}`, ".pulumi/history/slipway/prod/1.json": "h", ".pulumi/stacks/slipway/prod.json.attrs": "a"} {
				if err := b.WriteAll(t.Context(), key, []byte(text), nil); err != nil {
					t.Errorf("%s: %v", key, err)
				}
				if got, err := b.ReadAll(t.Context(), key); err != nil || string(got) != text {
					t.Errorf("%s: %q, %v", key, got, err)
				}
				if a, err := b.Attributes(t.Context(), key); err != nil || a.Size != int64(len(text)) {
					t.Errorf("%s: %+v, %v", key, a, err)
				}
			}
			if document := string(s.Document()); !strings.Contains(document, `{"n":1}`) || strings.Contains(document, `"h"`) {
				t.Errorf("the server has %s", document)
			}
			for prefix, want := range map[[2]string][]string{
				{"", ""}:                    {".pulumi/history/slipway/prod/1.json", lockFile, metaFile, stateFile, stateFile + ".attrs"},
				{".pulumi/", "/"}:           {".pulumi/history/", ".pulumi/locks/", metaFile, ".pulumi/stacks/"},
				{".pulumi/stacks/", "/"}:    {".pulumi/stacks/slipway/"},
				{".pulumi/history/", "/"}:   {".pulumi/history/slipway/"},
				{".pulumi/stacks/none", ""}: nil,
			} {
				if got, err := keys(t, b, prefix[0], prefix[1]); err != nil || !slices.Equal(got, want) {
					t.Errorf("%q has %q, %v; want %q", prefix, got, err, want)
				}
			}
			if err := b.Copy(t.Context(), "copy", stateFile, nil); err != nil {
				t.Error(err)
			}
			if text, err := b.ReadAll(t.Context(), "copy"); err != nil || string(text) != `{"n":1}` {
				t.Errorf("the copy is %q, %v", text, err)
			}
			if err := b.Copy(t.Context(), "copy", "none", nil); gcerrors.Code(err) != gcerrors.NotFound {
				t.Errorf("a copy of nothing: %v", err)
			}
			for _, key := range []string{stateFile, lockFile, metaFile} {
				if err := b.Delete(t.Context(), key); err != nil {
					t.Errorf("deleting %s: %v", key, err)
				}
				if there, err := b.Exists(t.Context(), key); err != nil || there {
					t.Errorf("%s is there: %t, %v", key, there, err)
				}
			}
			if s.Locked() || s.Document() != nil {
				t.Errorf("the server has %s, locked %t", s.Document(), s.Locked())
			}
			if err := b.Delete(t.Context(), metaFile); gcerrors.Code(err) != gcerrors.NotFound {
				t.Errorf("deleting nothing: %v", err)
			}
		})
	}
}

// TestPartsOfFiles are read from where they are asked for.
func TestPartsOfFiles(t *testing.T) {
	t.Parallel()
	b, _ := opened(t, statetest.Start(t, false))
	if err := b.WriteAll(t.Context(), "f", []byte("0123456789"), nil); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[[2]int64]string{{0, -1}: "0123456789", {3, -1}: "3456789", {3, 4}: "3456", {0, 0}: "", {8, 9}: "89", {10, -1}: ""} {
		r, err := b.NewRangeReader(t.Context(), "f", at[0], at[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) != want || r.Size() != 10 {
			t.Errorf("%v: %q of %d, %v", at, text, r.Size(), err)
		}
		r.Close()
	}
}

// TestANewStateIsWrittenUnderALock that is not the engine's, and given back.
func TestANewStateIsWrittenUnderALock(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	b, _ := opened(t, s)
	if err := b.WriteAll(t.Context(), stateFile, []byte(`{"n":1}`), nil); err != nil || s.Locked() {
		t.Errorf("%v, locked %t", err, s.Locked())
	}
	if environment, checkpoint, err := client(t, s).Read(t.Context()); err != nil || environment != "prod" || string(checkpoint) != `{"n":1}` {
		t.Errorf("%s %s, %v", environment, checkpoint, err)
	}
	s.Hold(map[string]any{"ID": "x", "Who": "bob@desk"})
	other, _ := opened(t, s)
	if err := other.WriteAll(t.Context(), stateFile, []byte(`{"n":2}`), nil); err == nil || !strings.Contains(string(s.Document()), `{"n":1}`) {
		t.Errorf("under another's lock: %v, %s", err, s.Document())
	}
	if err := other.WriteAll(t.Context(), lockFile, []byte(lockText), nil); err == nil {
		t.Error("a second lock is taken")
	}
	if err := other.WriteAll(t.Context(), lockFile, []byte("no lock"), nil); err == nil || !strings.Contains(err.Error(), "reading the engine's lock") {
		t.Errorf("a lock that is none: %v", err)
	}
}

// TestAStateOfAnotherEnvironmentStays: neither read nor written nor deleted.
func TestAStateOfAnotherEnvironmentStays(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	c, lock := written(t, s)
	if err := c.Unlock(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	b, _ := opened(t, s)
	const other = ".pulumi/stacks/slipway/test.json"
	_, read := b.ReadAll(t.Context(), other)
	for what, err := range map[string]error{"read": read, "written": b.WriteAll(t.Context(), other, []byte("{}"), nil), "deleted": b.Delete(t.Context(), other)} {
		if err == nil || !strings.Contains(err.Error(), `it is the state of environment "prod"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if text, err := b.ReadAll(t.Context(), stateFile); err != nil || string(text) != `{"n":1}` || s.Locked() {
		t.Errorf("its own: %q, %v", text, err)
	}
}

// TestWhatWasReadIsReadOnce until the lock is taken: another run may have written before that.
func TestWhatWasReadIsReadOnce(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	c, lock := written(t, s)
	b, _ := opened(t, s)
	reads := func() (n int) {
		for _, r := range s.Requests() {
			if strings.HasPrefix(r, http.MethodGet) {
				n++
			}
		}
		return n
	}
	before := reads()
	for range 3 {
		if _, err := b.ReadAll(t.Context(), stateFile); err != nil {
			t.Fatal(err)
		}
	}
	if n := reads() - before; n != 1 {
		t.Errorf("%d readings of the server", n)
	}
	if err := errors.Join(c.Write(t.Context(), lock, "prod", []byte(`{"n":2}`)), c.Unlock(t.Context(), lock), b.WriteAll(t.Context(), lockFile, []byte(lockText), nil)); err != nil {
		t.Fatal(err)
	}
	if text, err := b.ReadAll(t.Context(), stateFile); err != nil || string(text) != `{"n":2}` {
		t.Errorf("under the lock: %q, %v", text, err)
	}
}

// TestAServerThatFailsTellsTheEngine: nothing looks as if it was not there, or was done.
func TestAServerThatFailsTellsTheEngine(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	b, inner := opened(t, s)
	if err := errors.Join(b.WriteAll(t.Context(), lockFile, []byte(lockText), nil), b.WriteAll(t.Context(), stateFile, []byte(`{"n":1}`), nil)); err != nil {
		t.Fatal(err)
	}
	fresh, _ := opened(t, s)
	s.Break(statetest.Answer(http.StatusForbidden))
	_, read := fresh.ReadAll(t.Context(), stateFile)
	_, size := fresh.Attributes(t.Context(), stateFile)
	_, listed := keys(t, fresh, ".pulumi/stacks/", "")
	for what, err := range map[string]error{"reading": read, "its size": size, "listing": listed, "writing": fresh.WriteAll(t.Context(), stateFile, []byte("{}"), nil),
		"writing under the lock": b.WriteAll(t.Context(), stateFile, []byte("{}"), nil), "deleting": b.Delete(t.Context(), stateFile), "unlocking": b.Delete(t.Context(), lockFile)} {
		if err == nil || gcerrors.Code(err) == gcerrors.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := keys(t, fresh, ".pulumi/history/", ""); err != nil {
		t.Errorf("what is in memory alone: %v", err)
	}
	s.Break(nil)
	if text, err := fresh.ReadAll(t.Context(), stateFile); err != nil || string(text) != `{"n":1}` || inner.lock == "" {
		t.Errorf("when it answers again: %q, %v", text, err)
	}
}

// TestAWriterThatIsGivenUpWritesNothing.
func TestAWriterThatIsGivenUpWritesNothing(t *testing.T) {
	t.Parallel()
	b, _ := opened(t, statetest.Start(t, false))
	ctx, cancel := context.WithCancel(t.Context())
	w, err := b.NewWriter(ctx, "f", &blob.WriterOptions{ContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("half"))
	cancel()
	if err := w.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v", err)
	}
	if there, err := b.Exists(t.Context(), "f"); err != nil || there {
		t.Errorf("it is there: %t, %v", there, err)
	}
}

// TestEnginesOpenStatesByTheirAddress, with the login of their environment.
func TestEnginesOpenStatesByTheirAddress(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, true)
	written(t, s)
	mux := new(blob.URLMux)
	Register(mux, statetest.Environ())
	b, err := mux.OpenBucket(t.Context(), EngineURL(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if text, err := b.ReadAll(t.Context(), stateFile); err != nil || string(text) != `{"n":1}` {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := b.SignedURL(t.Context(), stateFile, &blob.SignedURLOptions{Expiry: time.Hour}); err == nil {
		t.Error("anybody may read it")
	}
	if b.As(new(string)) || b.ErrorAs(errNotFound, new(string)) {
		t.Error("the store has types of its own")
	}
	if _, err := mux.OpenBucket(t.Context(), EngineURL("https://me:secret@example.org/state")); err == nil {
		t.Error("an address with a login is opened")
	}
}
