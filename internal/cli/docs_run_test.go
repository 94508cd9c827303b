package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/test/docs"
)

// machineless are the commands that a cloud without machines can answer.
var machineless = []string{"init", "config validate", "config show", "config schema", "preflight", "plan", "image manifest", "bundle list", "bundle inspect"}

// reader is a folder as a reader of the pages has it, with the cloud mycloud.
func reader(t *testing.T) {
	t.Helper()
	cloud := sandboxtest.Start(t)
	clouds, err := os.ReadFile(cloud.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	images, err := os.ReadFile(filepath.Join(pages, "examples/images.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if bundle := os.Getenv("SLIPWAY_BUNDLE"); bundle != "" {
		check(t, os.Symlink(bundle, "bundle"))
	} else {
		smallBundle(t, "bundle")
	}
	check(t, os.Symlink(pages, "docs"))
	check(t, os.Mkdir("environments", 0o755))
	layer := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\n"
	for name, text := range map[string]string{
		"clouds.yaml": strings.NewReplacer("sandbox-admin:", "mycloud-admin:", "sandbox:", "mycloud:").Replace(string(clouds)),
		"images.yaml": string(images), "production.yaml": layer, "environments/staging.yaml": layer,
	} {
		check(t, os.WriteFile(name, []byte(text), 0o600))
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", "clouds.yaml")
	t.Setenv("OS_CLOUD", "mycloud")
	if code, _, stderr := run(t.Context(), "init"); code != fault.ExitOK {
		t.Fatalf("init: exit code %d\n%s", code, stderr)
	}
}

// TestDocsCommandsRun runs, in the order of each page and as they are written,
// the commands that a cloud without machines can answer. Without a bundle
// (SLIPWAY_BUNDLE), what looks at one may find it incomplete.
func TestDocsCommandsRun(t *testing.T) {
	all, err := docs.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range all {
		if page.Reference() {
			continue
		}
		commands := slices.DeleteFunc(page.Commands("slipway"), func(c docs.Command) bool { return !c.Whole || !slices.Contains(machineless, name(c)) })
		if len(commands) == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(page.Path, "/", "_"), func(t *testing.T) {
			reader(t)
			for _, command := range commands {
				ran++
				if name(command) == "init" { // it does not replace a file
					check(t, os.Remove("slipway.yaml"))
				}
				code, stdout, stderr := run(t.Context(), command.Words[1:]...)
				line := strings.Join(command.Words, " ")
				t.Logf("line %d: %s: exit code %d, %d bytes", command.Line, line, code, len(stdout))
				if code != fault.ExitOK && !(os.Getenv("SLIPWAY_BUNDLE") == "" && incomplete(name(command), code, stderr)) {
					t.Errorf("line %d: %s: exit code %d\n%s", command.Line, line, code, stderr)
				}
			}
		})
	}
	if ran < 15 {
		t.Errorf("ran %d commands only", ran)
	}
}

// incomplete reports whether a command failed for want of what a small bundle
// does not have.
func incomplete(command string, code fault.Exit, stderr string) bool {
	switch command {
	case "preflight", "plan":
		return code == fault.ExitPreflight
	case "bundle inspect":
		return strings.Contains(stderr, "node")
	}
	return false
}

// name is a command's name without the program's, such as "config show".
func name(c docs.Command) string {
	cmd, _, err := newRoot(ui.Streams{}).Find(c.Words[1:])
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), "slipway ")
}
