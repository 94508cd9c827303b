package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// run runs a command line as main does.
func run(ctx context.Context, args ...string) (code fault.Exit, stdout, stderr string) {
	var out, err bytes.Buffer
	streams := ui.Streams{In: strings.NewReader(""), Out: &out, Err: &err}
	code = Report(streams, Run(ctx, streams, args))
	return code, out.String(), err.String()
}

func TestWrongUseIsToldWithTheWayOut(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	tests := map[string]struct {
		args []string
		want []string
	}{
		"unknown command":         {[]string{"bundel"}, []string{`unknown command "bundel"`, "did you mean bundle?"}},
		"unknown sub-command":     {[]string{"bundle", "biuld"}, []string{`unknown command "biuld"`, "did you mean build?"}},
		"unknown flag":            {[]string{"bundle", "verify", "--dirr", "x"}, []string{"--dirr", "slipway bundle verify --help"}},
		"unknown format":          {[]string{"version", "-o", "xml"}, []string{`"xml" is not one of table, json, yaml`}},
		"unknown progress":        {[]string{"bundle", "verify", "--progress", "x"}, []string{"auto, tty, plain, json"}},
		"stray argument":          {[]string{"version", "now"}, []string{"now"}},
		"no bundle":               {[]string{"bundle", "inspect", "--dir", empty}, []string{empty, "this folder contains no bundle", "slipway bundle build"}},
		"two unknown items":       {[]string{"bundle", "build", "--only", "kubelt,x", "--dir", empty}, []string{"item kubelt", "item x"}},
		"two wrong flags":         {[]string{"bundle", "build", "--from", "mars", "--jobs=-1"}, []string{"--from", "--jobs"}},
		"versions that do not go": {[]string{"bundle", "pull", "--set", "orc=v1.0.0,capi=v1", "--dir", empty}, []string{"part capi: unknown", "do not go together"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t.Context(), test.args...)
			if code != fault.ExitUsage {
				t.Errorf("exit code %d, want %d", code, fault.ExitUsage)
			}
			if stdout != "" {
				t.Errorf("printed to standard output: %q", stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("said %q, which has no %q", stderr, want)
				}
			}
			if strings.Count(stderr, "error: ") < len(test.want)-1 && strings.HasPrefix(name, "two") {
				t.Errorf("said %q: not every mistake", stderr)
			}
		})
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("wrong use left %v (%v)", entries, err)
	}
}

func TestDataIsPrintedAsAsked(t *testing.T) {
	t.Parallel()
	code, stdout, _ := run(t.Context(), "version", "-o", "json")
	var version map[string]string
	if err := json.Unmarshal([]byte(stdout), &version); err != nil || code != fault.ExitOK || version["kubernetes"] == "" {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
	code, stdout, _ = run(t.Context(), "bundle", "list", "-o", "json", "--dir", t.TempDir())
	var list []struct {
		Name      string
		State     string
		Buildable bool
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != fault.ExitOK || len(list) < 50 {
		t.Fatalf("exit code %d, %v: %d entries", code, err, len(list))
	}
	for _, entry := range list {
		if entry.State != "absent" {
			t.Errorf("%s is %s in an empty folder", entry.Name, entry.State)
		}
	}
}

func TestVerifyExitsWithFindings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := bundle.Create(dir, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	digest, err := folder.Put(t.Context(), strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	item := bundle.Item{Name: "thing", Kind: bundle.Manifest, Version: "v1", SHA256: digest.SHA256, Size: digest.Size, Path: "thing.yaml"}
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := run(t.Context(), "bundle", "verify", "--dir", dir); code != fault.ExitOK || !strings.Contains(stdout, "every digest matches") {
		t.Fatalf("sound: exit code %d\n%s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "thing.yaml"), []byte("TEXT"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t.Context(), "bundle", "verify", "--dir", dir)
	if code != fault.ExitFailure || stdout != "" || !strings.Contains(stderr, "error: thing: ") || !strings.Contains(stderr, "  fix: ") {
		t.Errorf("damaged: exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = run(t.Context(), "bundle", "verify", "--dir", dir, "-o", "json")
	var report struct{ Findings []bundle.Finding }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != fault.ExitFailure || len(report.Findings) != 1 {
		t.Errorf("as JSON: exit code %d, %v, %s", code, err, stdout)
	}
}

func TestInterruptIsAnExitCodeOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	dir := t.TempDir()
	folder, err := bundle.Create(dir, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Record(bundle.Item{Name: "a", Kind: bundle.Manifest, SHA256: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	folder.Close()
	code, _, stderr := run(ctx, "bundle", "verify", "--dir", dir)
	if code != fault.ExitInterrupted || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit code %d, said %q", code, stderr)
	}
	if !strings.Contains(stderr, "fix: run the same command again; completed work is kept") {
		t.Errorf("said %q", stderr)
	}
}

// The hint after an interrupt is the command's own where it has one, and not that of what
// only failed because of the interrupt.
func TestAnInterruptedCommandSaysWhatIsKept(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"its own":    {fmt.Errorf("trying: %w", &fault.Fault{Exit: fault.ExitInterrupted, Err: context.Canceled, Remedy: "begin anew"}), "begin anew"},
		"without":    {&fault.Fault{Exit: fault.ExitInterrupted, Err: context.Canceled}, "run the same command again; completed work is kept"},
		"a cloud's":  {fault.New("cloud", context.Canceled, "check the network"), "run the same command again; completed work is kept"},
		"just ended": {context.Canceled, "run the same command again; completed work is kept"},
	} {
		err := interrupted(ctx, c.err)
		if fault.ExitCode(err) != fault.ExitInterrupted || err.Error() != "interrupted" || fault.Remedy(err) != c.want {
			t.Errorf("%s: %v (fix: %s)", name, err, fault.Remedy(err))
		}
	}
}

func TestReferenceIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, _, stderr := run(t.Context(), "reference", dir); code != fault.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for name, want := range map[string]string{
		"slipway.md": "slipway bundle", "slipway_bundle_build.md": "--only", "exit-codes.md": "| 4 | partly done |", "slipway_completion_bash.md": "completion",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s (%v) has no %q", name, err, want)
		}
	}
}
