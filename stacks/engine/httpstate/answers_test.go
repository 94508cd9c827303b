package httpstate

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

// says is a client of a server that gives each request one answer.
func says(t *testing.T, status int, body string) (*Client, *http.Request) {
	t.Helper()
	seen := &http.Request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = *r
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	c, err := New(s.URL+"/state?a=b", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.pause = time.Millisecond
	return c, seen
}

const ourDocument = `{"slipway":1,"serial":3,"lineage":"l","environment":"prod","checkpoint":{"n":1}}`

// TestWhetherThereIsAState: nothing, an empty answer and none are none.
func TestWhetherThereIsAState(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		there  bool
		want   string
	}{
		"one": {200, ourDocument, true, ""}, "nothing there": {404, "", false, ""}, "no content": {204, "", false, ""}, "an empty answer": {200, "", false, ""},
		"another's": {200, `{"version": 4}`, false, "another program's state is there"}, "without a checkpoint": {200, `{"slipway":1}`, false, "another program's"}, "of no format": {200, `{"checkpoint":{}}`, false, "another program's"},
		"refused": {418, "tea", false, "the server answered 418 I'm a teapot: tea"}, "created": {201, ourDocument, false, "the server answered 201"},
	} {
		c, seen := says(t, test.status, test.body)
		there, err := c.Exists(t.Context())
		if err == nil && there != test.there || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %t, %v, want %q", name, there, err, test.want)
		}
		if _, _, login := seen.BasicAuth(); login || seen.Header.Get("Content-MD5") != "" || seen.URL.RawQuery != "a=b" {
			t.Errorf("%s: asked with %v of %s", name, seen.Header, seen.URL)
		}
	}
}

// TestHalfALoginIsSent: a token may be either.
func TestHalfALoginIsSent(t *testing.T) {
	t.Parallel()
	for _, login := range [][2]string{{"me", ""}, {"", "secret"}, {"me", "secret"}} {
		c, seen := says(t, 200, ourDocument)
		c.username, c.password = login[0], login[1]
		if _, err := c.Exists(t.Context()); err != nil {
			t.Fatal(err)
		}
		if user, password, sent := seen.BasicAuth(); !sent || user != login[0] || password != login[1] {
			t.Errorf("%v: %t, %s %s", login, sent, user, password)
		}
	}
}

// TestChangesHaveAnAnswerEach: those that are done, those that somebody else's lock refuses, and others.
func TestChangesHaveAnAnswerEach(t *testing.T) {
	t.Parallel()
	held := `{"ID": "x", "Who": "bob@desk"}`
	for status, want := range map[int][2]string{ // for deleting and for giving back a lock
		200: {}, 202: {}, 204: {}, 404: {}, 409: {"the lock was taken away by bob on desk", "the lock was taken away by bob"}, 423: {"taken away by bob", "taken away by bob"}, 403: {"403 Forbidden", "403 Forbidden"}, 500: {"500", "500"},
	} {
		c, seen := says(t, status, held)
		c.serial, c.lineage = 7, "l"
		for i, err := range []error{c.Delete(t.Context(), "lock/1"), c.Unlock(t.Context(), "lock/1")} {
			if (err == nil) != (want[i] == "") || err != nil && !strings.Contains(err.Error(), want[i]) {
				t.Errorf("%d, %d: %v", status, i, err)
			}
		}
		if seen.URL.Query().Get("ID") != "lock/1" || seen.URL.Query().Get("a") != "b" {
			t.Errorf("%d: asked of %s", status, seen.URL)
		}
		if forgotten := c.serial == 0 && c.lineage == ""; forgotten != (want[0] == "") {
			t.Errorf("%d: version %d of %q is remembered", status, c.serial, c.lineage)
		}
	}
	quiet, _ := says(t, 423, "")
	if err := quiet.Unlock(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "the lock was taken away [") {
		t.Errorf("a server that does not say by whom: %v", err)
	}
}

// TestFaultsSayWhatToDo, also at the edges of what numbers mean.
func TestFaultsSayWhatToDo(t *testing.T) {
	t.Parallel()
	c, _ := says(t, 200, "")
	for status, want := range map[int]string{299: "spec.state.backend: it must be", 300: "to which the server redirects", 399: "to which the server redirects", 400: "it must be", 429: "look at the server", 499: "it must be", 500: "look at the server"} {
		if err := c.refused("reading it", answer{status: status}); !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", status, err, want)
		}
	}
	long := strings.Repeat("é", 100)
	for body, want := range map[string]string{"": "", " \n ": "", "no\n[way]": ": no (way)", long: ": " + long, long + "x": ": " + long + "…", "\xff": ""} {
		if got := said([]byte(body)); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
	if told, ok := Told("something else"); ok || told != nil {
		t.Errorf("told %v", told)
	}
}

// TestWhatArrivedIsCompared: spaces that a server added do not matter, what it changed does.
func TestWhatArrivedIsCompared(t *testing.T) {
	t.Parallel()
	if got := string(compact([]byte("{ \"a\" : 1 }"))); got != `{"a":1}` {
		t.Errorf("%s", got)
	}
	if got := string(compact([]byte("no JSON"))); got != "no JSON" {
		t.Errorf("%s", got)
	}
	for name, test := range map[string]struct {
		change func(string) string
		done   bool
	}{
		"as it was sent":        {func(text string) string { return text }, true},
		"with spaces":           {func(text string) string { return strings.ReplaceAll(text, `"n":2`, ` "n" : 2 `) }, true},
		"another version":       {func(text string) string { return strings.Replace(text, `"serial":2`, `"serial":9`, 1) }, false},
		"another line":          {func(text string) string { return strings.Replace(text, `"lineage":"`, `"lineage":"x`, 1) }, false},
		"another content":       {func(text string) string { return strings.Replace(text, `"n":2`, `"n":3`, 1) }, false},
		"nothing of it is ours": {func(string) string { return "{}" }, false},
	} {
		s := statetest.Start(t, false)
		c, lock := written(t, s)
		var writes atomic.Int32
		s.Break(func(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter)) bool {
			if r.Method != http.MethodPost || writes.Add(1) > 1 {
				if r.Method == http.MethodPost { // a second time is refused
					http.Error(w, "taken", http.StatusUnprocessableEntity)
					return true
				}
				return false
			}
			serve(httptest.NewRecorder())
			s.Put(test.change(string(s.Document())))
			http.Error(w, "gone", http.StatusBadGateway)
			return true
		})
		if err := c.Write(t.Context(), lock, "prod", []byte(`{"n":2}`)); (err == nil) != test.done {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersionsGoOnFromWhatWasRead, and the line of a state stays.
func TestVersionsGoOnFromWhatWasRead(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	s.Put(ourDocument)
	c := client(t, s)
	if _, _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), "", "prod", []byte(`{"n":2}`)); err != nil || !strings.Contains(string(s.Document()), `"serial":4,"lineage":"l"`) {
		t.Errorf("%v, %s", err, s.Document())
	}
	if err := c.Write(t.Context(), "", "prod", []byte("no JSON")); err == nil || !strings.Contains(string(s.Document()), `"n":2`) {
		t.Errorf("what is no JSON: %v, %s", err, s.Document())
	}
	fresh := statetest.Start(t, false)
	if written(t, fresh); !strings.Contains(string(fresh.Document()), `"serial":1,"lineage":"`) || strings.Contains(string(fresh.Document()), `"lineage":""`) {
		t.Errorf("a new state: %s", fresh.Document())
	}
}

// TestHoldersOfLocks are read from our own IDs, and from what other programs say.
func TestHoldersOfLocks(t *testing.T) {
	t.Parallel()
	ann := Holder{"ann/x", "lap top", 42, time.Unix(1000, 0)}
	if got, ours := holderOf(ann.id()); !ours || got != ann {
		t.Errorf("%+v, %t", got, ours)
	}
	for _, id := range []string{"", "slipway/a/b/1/2", "slipway/a/b/1/2/3/4", "other/a/b/1/2/3", "slipway/%zz/b/1/2/3", "slipway/a/%zz/1/2/3", "slipway/a/b/x/2/3", "slipway/a/b/1/x/3"} {
		if h, ours := holderOf(id); ours {
			t.Errorf("%q is of %+v", id, h)
		}
	}
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		info lockInfo
		want Holder
	}{
		"Terraform's": {lockInfo{ID: "5a1d", Who: "bob b@desk", Created: "2026-01-02T03:04:05Z"}, Holder{"bob_b", "desk", 0, since}}, "of nobody": {lockInfo{ID: "5a1d"}, Holder{"somebody", "server", 0, time.Time{}}},
		"ours": {lockInfo{ID: ann.id(), Who: "root"}, ann}, "without a host": {lockInfo{Who: "root"}, Holder{"root", "server", 0, time.Time{}}},
	} {
		if got := test.info.holder("https://server:8443/state"); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	for body, want := range map[string]string{"": "", "{}": "", `{"ID": "x"}`: " by somebody on ", `{"Who": "bob@desk"}`: " by bob on desk"} {
		if got := holding([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	if h := ThisProcess(); h.User == "" || h.User == "somebody" || h.PID == 0 {
		t.Errorf("this process is %+v", h)
	}
}

// TestLooksAtALock leave it: of somebody else, of nobody, and where the server does not answer.
func TestLooksAtALock(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	if held, err := client(t, s).Held(t.Context(), ThisProcess()); held != nil || err != nil || s.Locked() {
		t.Errorf("nobody's: %+v, %v, locked %t", held, err, s.Locked())
	}
	_, lock := written(t, s)
	if held, err := client(t, s).Held(t.Context(), ThisProcess()); err != nil || held == nil || held.ID != lock || held.Holder.User != "ann" || !s.Locked() {
		t.Errorf("ann's: %+v, %v", held, err)
	}
	s.Break(statetest.Answer(http.StatusForbidden))
	if held, err := client(t, s).Held(t.Context(), ThisProcess()); err == nil || held != nil {
		t.Errorf("without an answer: %+v, %v", held, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client(t, s).Lock(ended, ThisProcess()); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended run: %v", err)
	}
}

// TestAServerThatGivesTheLockToAnother is believed, and its lock is left alone.
func TestAServerThatGivesTheLockToAnother(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		second string // what it says when it is asked a second time
		want   bool
	}{"our own": {"", true}, "it does not say whose": {"{}", true}, "another's": {`{"ID": "5a1d", "Who": "bob@desk"}`, false}} {
		s := statetest.Start(t, false)
		var locks atomic.Int32
		s.Break(func(w http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) bool {
			if r.Method != "LOCK" || locks.Add(1) != 2 || test.second == "" {
				return false
			}
			http.Error(w, test.second, http.StatusLocked)
			return true
		})
		id, err := client(t, s).Lock(t.Context(), ThisProcess())
		if (err == nil) != test.want || (id != "") != test.want {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
}

// TestAddressesOfGitLab have a lock of their own, also with names that are escaped.
func TestAddressesOfGitLab(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"https://gitlab/api/v4/projects/12/terraform/state/prod":     "https://gitlab/api/v4/projects/12/terraform/state/prod/lock",
		"https://gitlab/api/v4/projects/a%2Fb/terraform/state/prod":  "https://gitlab/api/v4/projects/a%2Fb/terraform/state/prod/lock",
		"https://gitlab/api/v4/projects/12/terraform/state/prod/x":   "https://gitlab/api/v4/projects/12/terraform/state/prod/x",
		"https://gitlab/api/v4/projects/12/terraform/state/pro%20d1": "https://gitlab/api/v4/projects/12/terraform/state/pro%20d1/lock",
	} {
		if at, err := parse(state); err != nil || at.lock != want || at.state != state {
			t.Errorf("%s: %+v, %v", state, at, err)
		}
	}
}
