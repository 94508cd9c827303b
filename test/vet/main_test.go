package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyWhatOthersAreKnownForIsLeftOut: the rest goes to go's vet, which is not there and so an error.
func TestOnlyWhatOthersAreKnownForIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		module string
		only   bool
		left   bool
	}{
		"a package that ours need":            {"github.com/spf13/cobra", true, true},
		"one of another module that is named": {"github.com/spf13/cobra", false, false},
		"one of ours that ours need":          {"github.com/slipway-sh/slipway", true, false},
		"one of the release's":                {"github.com/slipway-sh/slipway/release", false, false},
		"one of the standard library":         {"", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			facts, config := filepath.Join(dir, "vetx"), filepath.Join(dir, "vet.cfg")
			text, err := json.Marshal(map[string]any{"ModulePath": c.module, "VetxOnly": c.only, "VetxOutput": facts})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(config, text, 0o600); err != nil {
				t.Fatal(err)
			}
			err = run(filepath.Join(dir, "vet"), []string{config}, io.Discard, io.Discard)
			written, missing := os.ReadFile(facts)
			if c.left && (err != nil || missing != nil || len(written) > 0) {
				t.Errorf("error %v; facts %q, %v", err, written, missing)
			}
			if !c.left && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("error %v, want that go's vet is not there", err)
			}
		})
	}
	config := filepath.Join(t.TempDir(), "vet.cfg")
	if err := run("", []string{config}, io.Discard, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no description: error %v", err)
	}
	if err := os.WriteFile(config, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("", []string{config}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), config) {
		t.Errorf("half of one: error %v", err)
	}
}

// TestWhatIsWrongIsFound by the go command with this program, in a module of ours that has one function
// like Printf in another package.
func TestWhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module github.com/slipway-sh/wrong\n\ngo 1.26\n",
		"say/say.go": "package say\n\nimport \"fmt\"\n\nfunc Sayf(format string, a ...any) { fmt.Printf(format, a...) }\n",
		"main.go":    "package main\n\nimport \"github.com/slipway-sh/wrong/say\"\n\nfunc main() { say.Sayf(\"%d\", \"x\") }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	original, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "vet").Output()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(dir, "vet")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X main.original="+strings.TrimSpace(string(original)), "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+tool, "./...")
	vet.Dir = dir
	var out bytes.Buffer
	vet.Stdout, vet.Stderr = &out, &out
	var failed *exec.ExitError
	if err := vet.Run(); !errors.As(err, &failed) || !strings.Contains(out.String(), "say.Sayf format %d has arg") {
		t.Errorf("%v\n%s", err, &out)
	}
}
