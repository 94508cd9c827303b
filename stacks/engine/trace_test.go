package engine_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestReadingLeavesNothingBehind asks everything of environments that have no state: beside
// another one that has, and in a folder and a bucket that are empty.
func TestReadingLeavesNothingBehind(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	objects := &store{objects: map[string][]byte{}}
	server := httptest.NewServer(objects)
	t.Cleanup(server.Close)
	c, shared := newCloud(), t.TempDir()
	up(t, newEngine(t, c, shared, nil), "a")
	beside := options(c, shared, nil)
	beside.Environment = "other"
	besideEngine, err := engine.New(beside)
	if err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), ".slipway")
	for name, e := range map[string]*engine.Engine{
		"beside another": besideEngine,
		"in a folder":    newEngine(t, c, fresh, nil),
		"in a bucket":    inS3(t, options(c, fresh, nil), server.URL),
	} {
		before := paths(t, shared)
		if plan, err := e.Preview(t.Context(), program("b", "c")); err != nil || plan.Counts[engine.Create] != 2 {
			t.Errorf("%s: plan %+v, %v", name, plan, err)
		}
		if list, err := e.Resources(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%s: resources %v, %v", name, list, err)
		}
		if plan, err := e.PreviewDestroy(t.Context()); err != nil || !plan.Empty() {
			t.Errorf("%s: plan of a destroy %+v, %v", name, plan, err)
		}
		if plan, err := e.Refresh(t.Context(), true); err != nil || !plan.Empty() {
			t.Errorf("%s: drift %+v, %v", name, plan, err)
		}
		if after := paths(t, shared); after != before {
			t.Errorf("%s: there is\n%s\nand there was\n%s", name, after, before)
		}
		if _, err := os.Stat(fresh); err == nil {
			t.Errorf("%s: there is %s", name, paths(t, fresh))
		}
		if left := paths(t, temporary); left != "" {
			t.Errorf("%s: temporary files: %s", name, left)
		}
	}
	if len(objects.objects) != 0 {
		t.Errorf("in the bucket: %v", objects.objects)
	}
}

// paths lists everything below a folder.
func paths(t *testing.T, folder string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if path != folder {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestAStateIsUsedFromAnywhere runs on a machine that has only the passphrase of a state in
// a bucket, as pipelines do.
func TestAStateIsUsedFromAnywhere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&store{objects: map[string][]byte{}})
	t.Cleanup(server.Close)
	c, first, other := newCloud(), t.TempDir(), t.TempDir()
	up(t, inS3(t, options(c, first, nil), server.URL), "a")
	passphrase, err := os.ReadFile(filepath.Join(first, "passphrase"))
	if err != nil || os.WriteFile(filepath.Join(other, "passphrase"), passphrase, 0o600) != nil {
		t.Fatal(err)
	}
	e := inS3(t, options(c, other, nil), server.URL)
	// with the stack itself and the provider
	if list, err := e.Resources(t.Context()); err != nil || len(list) != 3 || list[2].Text("secret") != theSecret {
		t.Errorf("read from elsewhere: %v, %v", list, err)
	}
	if report := up(t, e, "a", "b"); report.Changes["create"] != 1 || len(report.Changes) != 1 {
		t.Errorf("changed from elsewhere: %v", report.Changes)
	}
	if left := paths(t, other); left != filepath.Join(other, "passphrase") {
		t.Errorf("left: %s", left)
	}
}

// TestALostPassphraseIsNotReplaced keeps a new passphrase from being taken for that of a
// state that exists.
func TestALostPassphraseIsNotReplaced(t *testing.T) {
	t.Parallel()
	c, folder := newCloud(), t.TempDir()
	e := newEngine(t, c, folder, nil)
	up(t, e, "a")
	passphrase := filepath.Join(folder, "passphrase")
	kept, err := os.ReadFile(passphrase)
	if err != nil || os.Remove(passphrase) != nil {
		t.Fatal(err)
	}
	_, reading := e.Resources(t.Context())
	_, planning := e.Preview(t.Context(), program("a"))
	_, running := e.Up(t.Context(), program("a"))
	for what, err := range map[string]error{"reading": reading, "planning": planning, "running": running} {
		if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), passphrase+": the passphrase of the state is missing") || fault.Remedy(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(passphrase); err == nil {
		t.Error("there is another passphrase")
	}
	if err := os.WriteFile(passphrase, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if report := up(t, e, "a"); len(report.Changes) != 0 {
		t.Errorf("with the passphrase: %v", report.Changes)
	}
}
