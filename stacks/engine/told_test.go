package engine

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate"
)

// TestQuestionsThatTheStateDoesNotAnswer say what was asked; a state that is not there is no failure of
// those who only look.
func TestQuestionsThatTheStateDoesNotAnswer(t *testing.T) {
	t.Parallel()
	any1 := func(v any, err error) (int, error) { return reflect.ValueOf(v).Len(), err }
	for name, test := range map[string]struct {
		command string
		ask     func(context.Context, scripted) (int, error)
		away    string // the error where the engine fails
		half    string // and where it says what is no state
		needs   bool   // a state
	}{
		"resources": {"stack export", func(ctx context.Context, s scripted) (int, error) { return any1(s.Resources(ctx)) }, "reading the state: away", "reading the state: it is not what", false},
		"secrets":   {"stack export", func(ctx context.Context, s scripted) (int, error) { return any1(s.Secrets(ctx)) }, "reading the state: away", "reading the state: it is not what", false},
		"order":     {"stack export", func(ctx context.Context, s scripted) (int, error) { return any1(s.Order(ctx)) }, "reading the state: away", "reading the state: it is not what", false},
		"outputs":   {"stack output", func(ctx context.Context, s scripted) (int, error) { return any1(s.Outputs(ctx)) }, "reading the outputs: away", "reading the outputs: ", false},
		"forgetting": {"stack export", func(ctx context.Context, s scripted) (int, error) { return 0, s.Forget(ctx, "net", false) },
			"exporting the state: away", "reading the state: ", true},
		"amending": {"stack export", func(ctx context.Context, s scripted) (int, error) {
			return s.Amend(ctx, []byte("{}"), []string{"net"}, []string{"cidr"})
		}, "exporting the state: away", "reading the state: ", true},
		"removing":   {"stack rm", func(ctx context.Context, s scripted) (int, error) { return 0, s.Remove(ctx) }, "removing the state: away", "", false},
		"discarding": {"stack rm", func(ctx context.Context, s scripted) (int, error) { return 0, s.Discard(ctx) }, "discarding the state: away", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, map[string]string{test.command: fails("error: away")})
			if n, err := test.ask(t.Context(), s); err == nil || err.Error() != test.away || n != 0 {
				t.Errorf("an engine that fails: %d, %v", n, err)
			}
			s.does(test.command, says("half a state"))
			if n, err := test.ask(t.Context(), s); (err == nil) != (test.half == "") || err != nil && !strings.HasPrefix(err.Error(), test.half) || n != 0 {
				t.Errorf("what is no state: %d, %v", n, err)
			}
			s.does(test.command, fails(noStack))
			if n, err := test.ask(t.Context(), s); n != 0 || test.needs != errors.Is(err, errNoStack) || !test.needs && err != nil {
				t.Errorf("without a state: %d, %v", n, err)
			}
			ended, cancel := context.WithCancelCause(t.Context())
			cancel(fault.ErrInterrupted)
			if _, err := test.ask(ended, s); !errors.Is(err, fault.ErrInterrupted) {
				t.Errorf("a command that was ended: %v", err)
			}
		})
	}
}

// TestForgettingAResource takes the one that is meant out of the state, with those that depend on it only
// if that is said.
func TestForgettingAResource(t *testing.T) {
	t.Parallel()
	const state = `{"deployment": {"resources": [{"urn": "` + urn + `net"}, {"urn": "` + urn + `seed"}]}}`
	for name, test := range map[string]struct {
		resource   string
		dependents bool
		deleting   string
		asked      string
		want, what string
	}{
		"by its name":      {"seed", false, "", "state delete " + urn + "seed --yes --stack prod", "", ""},
		"by its URN":       {urn + "net", false, "", "state delete " + urn + "net --yes --stack prod", "", ""},
		"with dependents":  {"net", true, "", "state delete " + urn + "net --yes --stack prod --target-dependents", "", ""},
		"one that is none": {"router", false, "", "", "router: there is no such resource in the state", "name one of net, seed"},
		"one with dependents": {"net", false, fails("error: net: other resources depend on it:\n - seed\n\nDelete those first"), "state delete " + urn + "net --yes --stack prod",
			"net: net: other resources depend on it:\n - seed", "forget those resources first, or use --dependents"},
		"one that stays": {"net", false, fails("error: disk full"), "state delete " + urn + "net --yes --stack prod", "forgetting net: disk full", ""},
	} {
		s := newScripted(t, map[string]string{"stack export": says(state), "state delete": test.deleting})
		err := s.Forget(t.Context(), test.resource, test.dependents)
		if (err == nil) != (test.want == "") || err != nil && (err.Error() != test.want || fault.Remedy(err) != test.what) {
			t.Errorf("%s: %v (%s)", name, err, fault.Remedy(err))
		}
		if last := strings.Split(strings.TrimSpace(s.read("asked")), "\n"); test.asked != "" && !slices.Equal(last[1:], []string{test.asked}) || test.asked == "" && len(last) != 1 {
			t.Errorf("%s: it asked %q", name, last)
		}
	}
}

// TestWhatIsPutIntoAState must fit it, and is told when it does not get there.
func TestWhatIsPutIntoAState(t *testing.T) {
	t.Parallel()
	sealed := []byte(`{"deployment": {"secrets_providers": {"type": "passphrase"}}}`)
	for name, test := range map[string]struct {
		state []byte
		does  map[string]string
		lost  bool // the passphrase
		want  string
	}{
		"sealed, with the passphrase":    {sealed, nil, false, ""},
		"sealed, without":                {sealed, nil, true, "state: it is encrypted, and its passphrase is not here"},
		"open, without a passphrase":     {[]byte(`{"deployment": {}}`), nil, true, ""},
		"of an unknown kind":             {[]byte("no state"), nil, true, ""}, // the engine refuses it, in its own words
		"refused":                        {sealed, map[string]string{"stack import": fails("error: bad magic")}, false, "importing the state: bad magic"},
		"without a place for a new one":  {sealed, map[string]string{"stack init": fails("error: no room")}, false, "creating the state: no room"},
		"into a state that is there now": {sealed, map[string]string{"stack init": fails("error: stack prod already exists")}, false, ""},
	} {
		s := newScripted(t, test.does, func(o *Options) {
			if test.lost {
				o.Passphrase = PassphraseFile(filepath.Join(o.Folder, "passphrase"))
			}
		})
		err := s.Import(t.Context(), test.state)
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if imported := s.read("imported"); err == nil && imported != string(test.state) || test.lost && err != nil && len(s.read("asked")) > 0 {
			t.Errorf("%s: it has %q", name, imported)
		}
	}
}

// TestAmendingWritesTheStateOnce, only if something differs, and tells if it cannot.
func TestAmendingWritesTheStateOnce(t *testing.T) {
	t.Parallel()
	state := func(cidr string) string {
		return `{"version": 3, "deployment": {"secrets_providers": {"type": "passphrase"}, "resources": [{"urn": "` + urn + `net", "inputs": {"cidr": "` + cidr + `"}}, {"urn": "` + urn + `seed", "inputs": {"cidr": "9"}}]}}`
	}
	s := newScripted(t, map[string]string{"stack export": says(state("new"))})
	amend := func(former string, names ...string) (int, error) {
		return s.Amend(t.Context(), []byte(former), names, []string{"cidr"})
	}
	if n, err := amend(state("new"), "net"); n != 0 || err != nil || s.times("stack import") != 0 {
		t.Errorf("the same: %d, %v; it asked %q", n, err, s.asked())
	}
	if n, err := amend(state("old"), "seed", "router"); n != 0 || err != nil || s.times("stack import") != 0 {
		t.Errorf("others: %d, %v; it asked %q", n, err, s.asked())
	}
	if n, err := amend("half a state", "net"); n != 0 || err == nil || err.Error() != "reading the former state: it is not what the engine writes" {
		t.Errorf("no former state: %d, %v", n, err)
	}
	if n, err := amend(state("old"), "net"); n != 1 || err != nil || !strings.Contains(s.read("imported"), `"cidr":"old"`) || !strings.Contains(s.read("imported"), `"cidr":"9"`) {
		t.Errorf("another: %d, %v; %s", n, err, s.read("imported"))
	}
	s.does("stack import", fails("error: full"))
	if _, err := amend(state("old"), "net"); err == nil || err.Error() != "importing the state: full" {
		t.Errorf("what cannot be written: %v", err)
	}
}

// TestWhatOnlyReadsKeepsWhatWasRead, and what may change the state has it read again.
func TestWhatOnlyReadsKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do    func(context.Context, scripted) error
		again bool
	}{
		"outputs":        {func(ctx context.Context, s scripted) error { _, err := s.Outputs(ctx); return err }, false},
		"drift":          {func(ctx context.Context, s scripted) error { _, err := s.Refresh(ctx, false); return err }, false},
		"a refresh":      {func(ctx context.Context, s scripted) error { _, err := s.Refresh(ctx, true); return err }, true},
		"plan of an end": {func(ctx context.Context, s scripted) error { _, err := s.PreviewDestroy(ctx); return err }, false},
		"an end":         {func(ctx context.Context, s scripted) error { _, err := s.Destroy(ctx); return err }, true},
		"an import":      {func(ctx context.Context, s scripted) error { return s.Import(ctx, []byte("{}")) }, true},
		"removing":       {func(ctx context.Context, s scripted) error { return s.Remove(ctx) }, true},
		"a lock's end":   {func(ctx context.Context, s scripted) error { return s.CheckLock(ctx) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, map[string]string{"stack export": says(`{"deployment": {"resources": [{"urn": "` + urn + `net", "id": "n"}, {"urn": "odd"}]}}`), "stack output": says("{}"),
				"refresh": "exit 1", "destroy": "exit 1"}) // one that succeeds sends events, for which the Automation API waits
			read := func() int {
				list, err := s.Resources(t.Context())
				if err != nil || len(list) != 1 || list[0].Name != "net" || list[0].Type != "slipway:test:Thing" || list[0].ID != "n" {
					t.Errorf("%+v, %v", list, err)
				}
				return s.times("stack export")
			}
			if read() != 1 || read() != 1 {
				t.Errorf("it asked %q", s.asked())
			}
			_ = test.do(t.Context(), s)
			if again := read() != 1; again != test.again {
				t.Errorf("it asked %q", s.asked())
			}
		})
	}
}

// TestWordsOfTheEnginesProcess become errors with a remedy, where they are known.
func TestWordsOfTheEnginesProcess(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 255")
	server := (&httpstate.Error{Address: "https://states/prod", Err: errors.New("teapot"), Remedy: "brew"}).Error()
	if err := known(nil, "error: no stack named"); err != nil {
		t.Errorf("a process that succeeds: %v", err)
	}
	if err := known(failed, noStack); !errors.Is(err, errNoStack) {
		t.Errorf("no state: %v", err)
	}
	for said, want := range map[string][2]string{
		"":                                     {"exit status 255", ""},
		" error: disk on fire \n":              {"disk on fire", ""},
		"error: " + lockedBy(t, 7, time.Now()): {"state: locked by bob", "wait until that process has ended; if it is certainly gone, run slipway state unlock"},
		"error: incorrect passphrase":          {"state: the passphrase does not decrypt it", "use the passphrase that the state was encrypted with; see docs/operations/state.md"},
		"error: could not list: " + server:     {"state at https://states/prod: teapot", "brew"},
		"<{%reset%}>error: red<{%reset%}>":     {"red", ""},
	} {
		if err := known(failed, said); err == nil || !strings.HasPrefix(err.Error(), want[0]) || fault.Remedy(err) != want[1] {
			t.Errorf("%q: %v (%s)", said, err, fault.Remedy(err))
		}
	}
	held := &httpstate.Locked{Address: "https://states/prod", Holder: httpstate.Holder{User: "bob", Host: "desk"}}
	var locked *Locked
	if err := ofServer(held); !errors.As(err, &locked) || !strings.HasPrefix(locked.Error(), "locked by bob on desk since ") {
		t.Errorf("another program's lock: %v", err)
	}
	if err := ofServer(failed); !errors.Is(err, failed) {
		t.Errorf("anything else: %v", err)
	}
	two := (&Locked{Holders: []Holder{{User: "a", Host: "h", PID: 3}, {User: "b", Host: "h"}}}).Error()
	if !strings.HasPrefix(two, "locked by a on h (process 3) since ") || !strings.Contains(two, " and b on h since ") {
		t.Errorf("two holders: %s", two)
	}
}
