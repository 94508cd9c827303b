package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
)

const root = "../.."

func TestThePageFits(t *testing.T) {
	t.Parallel()
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

// TestThePageFollowsTheTests changes a file that a test reads.
func TestThePageFollowsTheTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{"go.mod", acceptanceFile, debian12File, devcloudFolder + "/versions.txt", devcloudFolder + "/clusters-versions.txt", "docs/reference/versions.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, devcloudFolder, "versions.txt"), []byte("# OpenStack 2026.1.\npython3-nova 33.0.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err == nil || !strings.Contains(err.Error(), "make versions-page") {
		t.Errorf("error %v, want the command", err)
	}
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "docs/reference/versions.md"))
	if err != nil || !strings.Contains(string(text), "OpenStack 2026.1 as") || !strings.Contains(string(text), "| Nova | 33.0.0 |") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestDebiansVersionsAreThoseOfTheTests, where Debian 12's packages are installed.
func TestDebiansVersionsAreThoseOfTheTests(t *testing.T) {
	t.Parallel()
	packages, err := os.ReadFile(filepath.Join(root, "test/e2e/packages.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, all, err := readVersions(filepath.Join(root, debian12File))
	if err != nil {
		t.Fatal(err)
	}
	system, _ := os.ReadFile("/etc/os-release")
	for _, v := range all {
		if !strings.Contains(string(packages), "\n"+v.name+"\n") {
			t.Errorf("tests do not install %s", v.name)
		}
		out, err := exec.CommandContext(t.Context(), "dpkg-query", "-W", "-f", "${db:Status-Abbrev}${source:Upstream-Version}", v.name).Output()
		if have, ok := strings.CutPrefix(string(out), "ii "); ok && err == nil && strings.Contains(string(system), "VERSION_ID=\"12\"") && have != v.version {
			t.Errorf("%s is installed in version %s, the page has %s", v.name, have, v.version)
		}
	}
}

func TestReachInWords(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]component.Pair{
		"in any version": {}, "v1.2": {From: "v1.2", To: "v1.2"}, "v1.2 and later": {From: "v1.2"}, "up to v1.4": {To: "v1.4"}, "v1.2 to v1.4": {From: "v1.2", To: "v1.4"},
	} {
		if got := reach(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

func TestFilesThatAreNoVersionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "# nothing\n", "three words": "a 1 2\n"} {
		file := filepath.Join(t.TempDir(), "versions.txt")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readVersions(file); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := find("x", "y(z)"); err == nil {
		t.Error("what is not there is found")
	}
}
