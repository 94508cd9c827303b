package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWhereAStateIs: the engine is told by an address that leaves no files beside a checkpoint.
func TestWhereAStateIs(t *testing.T) {
	t.Parallel()
	for backend, want := range map[string]struct{ address, local string }{
		"":                            {"file:///work/.slipway/state?metadata=skip", "/work/.slipway/state"},
		"file:///states/prod":         {"file:///states/prod?metadata=skip", "/states/prod"},
		"file:///states/prod?a=b":     {"file:///states/prod?a=b&metadata=skip", "/states/prod"},
		"s3://states/prod?region=one": {"s3://states/prod?region=one", ""},
		"https://example.org/state":   {"slipway-http://state?address=https%3A%2F%2Fexample.org%2Fstate", ""},
	} {
		e, err := New(Options{Folder: "/work/.slipway", Backend: backend})
		if err != nil || e.options.Backend != want.address || e.local != want.local || (e.server != nil) != strings.HasPrefix(backend, "https") || e.options.Executable != "/proc/self/exe" {
			t.Errorf("%q: %+v, %v", backend, e, err)
		}
	}
	if _, err := New(Options{Folder: "/work", Backend: "https://me:secret@example.org/state"}); err == nil || !strings.Contains(err.Error(), "address of the state: ") {
		t.Errorf("an address with a login: %v", err)
	}
}

// TestAStateThatCannotBeMadeSaysWhere, and one that can is its owner's alone.
func TestAStateThatCannotBeMadeSaysWhere(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "file"), "")
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"its folder":     {func(o *Options) { o.Backend = "file://" + filepath.Join(file, "state") }, "creating the state folder: "},
		"that of notes":  {func(o *Options) { o.Backend, o.Folder = "s3://x", filepath.Join(file, "below") }, "creating the engine's folder: "},
		"its passphrase": {func(o *Options) { o.Passphrase = PassphraseVariable("PHRASE", "") }, "environment variable PHRASE: it is empty"},
		"its work":       {func(o *Options) { write(t, filepath.Join(o.Folder, "engine"), "in the way") }, "creating the engine's folder: "},
	} {
		s := newScripted(t, nil, test.change)
		if err := s.Import(t.Context(), []byte("{}")); err == nil || !strings.HasPrefix(err.Error(), test.want) || s.read("asked") != "" {
			t.Errorf("%s: %v; it asked %q", name, err, s.read("asked"))
		}
	}
	s := newScripted(t, nil)
	if err := errors.Join(os.Chmod(s.options.Folder, 0o755), s.Import(t.Context(), []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.options.Folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder has the mode %v, %v", info.Mode(), err)
	}
	project := filepath.Join(s.options.Folder, "engine", "prod", "Pulumi.yaml")
	if text, err := os.ReadFile(project); err != nil || string(text) != "name: slipway\nruntime: go\n" {
		t.Errorf("the project is %q, %v", text, err)
	}
	write(t, project, "name: kept\n")
	if _, err := s.Export(t.Context()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(project); err != nil || string(text) != "name: kept\n" {
		t.Errorf("the project became %q, %v", text, err)
	}
	if err := writeProject(filepath.Join(file, "below")); err == nil {
		t.Error("a project is written below a file")
	}
}

// TestAPassphraseThatIsNotHere is told only of a state that is there.
func TestAPassphraseThatIsNotHere(t *testing.T) {
	t.Parallel()
	sealed := errors.New("the vault is sealed")
	for name, test := range map[string]struct {
		export     string
		passphrase func(*Options)
		want       string
	}{
		"of a state":           {says("{}"), func(o *Options) { o.Passphrase = PassphraseFile(filepath.Join(o.Folder, "none")) }, "the passphrase of the state is missing"},
		"of nothing":           {fails(noStack), func(o *Options) { o.Passphrase = PassphraseFile(filepath.Join(o.Folder, "none")) }, ""},
		"of one that is away":  {fails("error: away"), func(o *Options) { o.Passphrase = PassphraseFile(filepath.Join(o.Folder, "none")) }, "reading the state: away"},
		"because of its vault": {says("{}"), func(o *Options) { o.Passphrase = func(context.Context, bool) ([]byte, error) { return nil, sealed } }, "reading the state: the vault is sealed"},
	} {
		s := newScripted(t, map[string]string{"stack export": test.export}, test.passphrase)
		if _, err := s.Resources(t.Context()); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if test.want == "reading the state: the vault is sealed" && s.read("asked") != "" {
			t.Errorf("%s: it asked %q", name, s.asked())
		}
	}
}

// TestWithoutATemporaryFolder nothing begins, and the error says why. It changes the process' environment.
func TestWithoutATemporaryFolder(t *testing.T) {
	s := newScripted(t, nil)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := s.Resources(t.Context()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "creating a folder for the engine: ") {
		t.Errorf("reading: %v", err)
	}
	if _, err := s.scratch(); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "creating a folder for the plan: ") {
		t.Errorf("a plan: %v", err)
	}
	if _, err := s.Up(t.Context(), empty); err == nil || s.read("asked") != "" {
		t.Errorf("a run: %v", err)
	}
}

// TestTheEnginesProcessIsHeard: what it printed, its exit code, and what the Automation API asks for nothing.
func TestTheEnginesProcessIsHeard(t *testing.T) {
	t.Parallel()
	s := newScripted(t, map[string]string{"up": "echo out; echo err >&2; exit 7", "stack": "echo plain"})
	p, err := s.at([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
	run := func(args ...string) string {
		out, said, code, err := p.Run(t.Context(), p.workdir, nil, nil, nil, nil, args...)
		return fmt.Sprintf("%s|%s|%d|%t", strings.TrimSpace(out), strings.TrimSpace(said), code, err != nil)
	}
	for command, want := range map[string]string{"up": "out|err|7|true", "stack": "plain||0|false", "stack select": "||0|false", "stack output": "{}||0|false", "stack history": "[]||0|false", "config output": "||0|false"} {
		if got := run(strings.Fields(command)...); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	if asked := s.read("asked"); strings.Contains(asked, "stack select") || strings.Contains(asked, "history") || !strings.Contains(asked, "config output") {
		t.Errorf("it asked %q", asked)
	}
	p.executable = filepath.Join(t.TempDir(), "none")
	if _, _, code, err := p.run(t.Context(), p.workdir, nil, nil, nil, nil, "up"); code != -1 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: %d, %v", code, err)
	}
}

// TestNotesOfProcesses: one that may have left its lock keeps its note, one that had the lock ends those of
// the dead, and who only looks makes no folder.
func TestNotesOfProcesses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command, does string
		dead          bool // the note of a dead process stays
		own           bool // and its own
	}{
		"changed":                {"up", "", false, false},
		"gone":                   {"destroy", "", false, false},
		"failed":                 {"up", "exit 255", true, false},
		"only looked":            {"preview", "", true, false},
		"could not give it back": {"up", "echo '" + lockStays + "' >&2; exit 0", true, true},
		"said so elsewhere":      {"up", "echo '" + lockStays + "'; exit 0", true, true},
		"killed":                 {"up", "kill -9 $$", true, true},
	} {
		s := newScripted(t, map[string]string{test.command: test.does}, func(o *Options) { o.Backend = "s3://states" })
		n := s.notes()
		write(t, n.path(noProcess), "")
		write(t, n.path(os.Getpid()), "") // of one that runs
		write(t, filepath.Join(string(n), "running-x"), "")
		p, err := s.at([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, _ = p.run(t.Context(), p.workdir, nil, nil, nil, nil, test.command)
		p.leave()
		entries, err := filepath.Glob(filepath.Join(string(n), "running-*"))
		want := 2
		for _, one := range []bool{test.dead, test.own} {
			if one {
				want++
			}
		}
		if err != nil || n.has(noProcess) != test.dead || !n.has(os.Getpid()) || len(entries) != want {
			t.Errorf("%s: there are %q, %v", name, entries, err)
		}
	}
	folder := filepath.Join(t.TempDir(), "engine", "prod")
	notes(folder).begin(1, false)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("who only looks makes a folder: %v", err)
	}
	notes(folder).begin(1, true)
	notes(folder).end(1, false)
	if _, err := os.Stat(filepath.Dir(folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder stays: %v", err)
	}
	if n := newScripted(t, nil).notes(); n != "" {
		t.Errorf("a state in a folder has notes in %s", n)
	}
}
