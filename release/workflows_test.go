package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what matters here of a workflow of GitHub.
type workflow struct {
	On   map[string]any
	Jobs map[string]struct {
		Steps []struct {
			If   string
			Run  string
			Uses string
			Env  map[string]string
		}
	}
}

// read reads a workflow by its name.
func read(t *testing.T, name string) (w workflow) {
	t.Helper()
	text, err := os.ReadFile("../.github/workflows/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// notes are what a program that stands for another writes down.
const notes = "#!/bin/sh\necho \"$(basename \"$0\") $*\" >> \"$RAN\"\n"

// TestWorkflowsRunHere runs the shell of each job as GitHub does, with programs in
// the place of make, gh, apt-get and sudo that note what they are called with; git
// is the real one, on a repository with a remote. Targets of make must exist.
func TestWorkflowsRunHere(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change string
		want   []string
	}{
		"ci":      {"", []string{"make deps", "make test", "make verify"}},
		"release": {"", []string{"make release VERSION=v0.1.0", "gh release create v0.1.0 --verify-tag --notes-file dist/slipway_0.1.0_notes.md dist/SHA256SUMS dist/slipway_0.1.0_notes.md"}},
		"pins":    {"LICENSE", []string{"make pins", "gh pr create --fill --head pins-7"}},
	} {
		for _, changed := range []string{"", c.change} {
			t.Run(name+" "+changed, func(t *testing.T) {
				t.Parallel()
				ran, remote := runWorkflow(t, name, changed)
				for _, want := range c.want {
					if strings.HasPrefix(want, "gh pr") && changed == "" {
						continue // there is nothing to propose
					}
					if !slices.Contains(ran, want) {
						t.Errorf("no %q in %q", want, ran)
					}
				}
				for _, line := range ran {
					if target := strings.Fields(line + " -")[1]; strings.HasPrefix(line, "make ") && !strings.Contains(string(makefile), "\n"+target+":") {
						t.Errorf("the Makefile has no target %s", target)
					}
				}
				if branches := command(t, remote, "git", "branch", "--list", "pins-7"); (branches != "") != (changed != "") {
					t.Errorf("branches of the remote: %q", branches)
				}
			})
		}
	}
}

// runWorkflow runs all jobs of a file in a clone of a repository, of which a file
// was changed, and returns what was run.
func runWorkflow(t *testing.T, name, changed string) (ran []string, remote string) {
	t.Helper()
	w := read(t, name)
	dir := t.TempDir()
	remote, work, bin, log := repository(t), filepath.Join(dir, "work"), filepath.Join(dir, "bin"), filepath.Join(dir, "ran")
	command(t, dir, "git", "clone", "-q", remote, work)
	for path, content := range map[string]string{"dist/slipway_0.1.0_notes.md": "", "dist/SHA256SUMS": ""} {
		write(t, filepath.Join(work, path), content)
	}
	if changed != "" {
		write(t, filepath.Join(work, changed), "changed")
	}
	for _, program := range []string{"make", "gh", "apt-get", "sudo"} {
		// Written by another process: golang.org/issue/22315.
		command(t, dir, "sh", "-c", `mkdir -p "$1" && printf %s "$2" > "$1/$0" && chmod +x "$1/$0"`, program, bin, notes)
	}
	steps := 0
	for _, job := range w.Jobs {
		for _, step := range job.Steps {
			if step.Run == "" {
				continue
			}
			steps++
			script := "export PATH=" + bin + ":$PATH HOME=" + dir + " RAN=" + log + " GITHUB_REF_NAME=v0.1.0 GITHUB_RUN_ID=7\n" + step.Run
			command(t, work, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		}
	}
	said, err := os.ReadFile(log)
	if err != nil || steps == 0 {
		t.Fatalf("%d steps, %v", steps, err)
	}
	return strings.Split(strings.TrimSpace(string(said)), "\n"), remote
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
