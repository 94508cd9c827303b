package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/support"
)

// TestSupportWhileHalfIsDown: of an environment whose seed does not answer there is an
// archive with what the cloud and the state say, without their secrets, that names what
// is missing; why answers from it without a cloud.
func TestSupportWhileHalfIsDown(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	out := filepath.Join(t.TempDir(), "s.tar.zst")
	written := data[support.Written](t, "support", "-f", file, "--out", out, "--cluster", "shop", "--part-timeout", "40s", "-o", "json")
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 || written.Path != out || written.Bytes != info.Size() {
		t.Errorf("%+v: %v, %v", written, info, err)
	}
	files, err := support.Files(out, "")
	check(t, err)
	for name, want := range map[string]string{
		"why/why.txt": "", "why/snapshot.json": `"environment": "prod"`, "state/state.json": "seed", "plan/preflight.json": "bundle", "runs/runs.json": "slipway up --file=", "environment/slipway.yaml": "cloud: " + cloudName(t),
		"cloud/project.json": "prod-seed", "versions/versions.json": "slipway/", "versions/bundle.json": "k3s", "manifest.json": `"format": 1`,
	} {
		if text, there := files[name]; !there || !strings.Contains(text, want) {
			t.Errorf("%s has no %q: %s", name, want, text)
		}
	}
	events := ""
	for name, text := range files {
		if strings.HasSuffix(name, ".events.jsonl") {
			events += text
		}
	}
	if !strings.Contains(events, `"step":"seed"`) {
		t.Errorf("the events of the run: %s", events)
	}
	missing := ""
	for _, m := range written.Missing {
		missing += m.Part + " " + m.What + ": " + m.Cause + "\n"
	}
	for _, part := range []string{"seed/machine", "seed/objects", "management/logs", "clusters/shop/objects"} {
		if !strings.Contains(missing, part+" : ") {
			t.Errorf("%s is neither there nor missing:\n%s", part, missing)
		}
	}
	loaded, err := (&environment.Flags{Files: []string{file}}).Load()
	check(t, err)
	e, err := target.Engine(loaded, event.Discard{}, nil)
	check(t, err)
	secrets, err := e.Secrets(t.Context())
	check(t, err)
	phrase, err := os.ReadFile(filepath.Join(filepath.Dir(file), ".slipway", "passphrase"))
	check(t, err)
	secrets = append(secrets, strings.TrimSpace(string(phrase)), "PRIVATE KEY-----")
	if len(secrets) < 4 {
		t.Errorf("the state has %d secrets", len(secrets))
	}
	for name, text := range files {
		for _, secret := range secrets {
			if len(secret) >= 6 && strings.Contains(text, secret) {
				t.Errorf("%s has a secret of %d bytes", name, len(secret))
			}
		}
		if strings.Contains(text, "ciphertext") {
			t.Errorf("%s has encrypted secrets", name)
		}
	}

	why := exec.CommandContext(t.Context(), os.Args[0], "why", "--from", out)
	why.Env = append(why.Environ(), "XDG_CONFIG_HOME=/nowhere")
	said, err := why.Output()
	if err != nil || !strings.Contains(string(said), "1 of 1 servers are ACTIVE\n") || string(said) != files["why/why.txt"] {
		t.Errorf("why from the archive: %v\n%s\nwant\n%s", err, said, files["why/why.txt"])
	}
	for _, wrong := range [][]string{{"support", "-f", file, "--out", out}, {"support", "-f", file, "--max-size", "1", "--log-lines", "0", "--recipient", "x"}, {"why", "--identity", "x"}} {
		if code, _, stderr := run(t.Context(), wrong...); code != fault.ExitUsage || strings.Contains(strings.Join(wrong, " "), "--max-size") && strings.Count(stderr, "error: ") != 3 {
			t.Errorf("%v: exit code %d\n%s", wrong, code, stderr)
		}
	}
}
