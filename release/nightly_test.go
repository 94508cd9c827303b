package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestQuickBeforeConformance: a pull request runs what is quick, and the night runs Kubernetes'
// conformance tests, on a cloud too.
//
// proves: S-89
func TestQuickBeforeConformance(t *testing.T) {
	t.Parallel()
	ci, nightly := read(t, "ci"), read(t, "nightly")
	runs := func(w workflow) (all string) {
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				all += step.Run + "\n"
			}
		}
		return all
	}
	if _, is := ci.On["pull_request"]; !is || strings.Contains(runs(ci), "conformance") || !strings.Contains(runs(ci), "make test") {
		t.Errorf("a pull request: %v runs\n%s", ci.On, runs(ci))
	}
	_, requested := nightly.On["pull_request"]
	if _, is := nightly.On["schedule"]; !is || requested {
		t.Errorf("the night: %v", nightly.On)
	}
	for _, want := range []string{"make e2e", "make conformance-test", "make reproduced", "make platforms", "slipway check quick", "slipway check conformance"} {
		if !strings.Contains(runs(nightly), want) {
			t.Errorf("the night does not run %s", want)
		}
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`make ([a-z0-9-]+)`).FindAllStringSubmatch(runs(nightly), -1) {
		if !strings.Contains(string(makefile), "\n"+found[1]+":") {
			t.Errorf("the Makefile has no target %s", found[1])
		}
	}
}

// TestTheCloudIsCleanedUp has each step of the night's job on a cloud fail, and none: what it
// made there is deleted in any case, by the steps that GitHub runs always.
//
// proves: S-89
func TestTheCloudIsCleanedUp(t *testing.T) {
	t.Parallel()
	steps := read(t, "nightly").Jobs["cloud"].Steps
	for _, failing := range []string{"", "slipway init", "slipway up", "slipway cluster create", "slipway check quick", "slipway check conformance", "slipway cluster delete", "slipway down"} {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log, ran := filepath.Join(dir, "ran"), 0
			const program = "#!/bin/sh\necho \"$(basename \"$0\") $*\" >> \"$RAN\"\n[ -z \"$FAILING\" ] || case \"$(basename \"$0\") $*\" in \"$FAILING\"*) exit 4;; esac\n"
			command(t, dir, "sh", "-c", `mkdir bin && for p in slipway sudo; do printf %s "$0" > bin/$p && chmod +x bin/$p; done`, program)
			failed := false
			for _, step := range steps {
				if step.Run == "" || failed && step.If != "always()" {
					continue
				}
				ran++
				cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "RAN="+log, "FAILING="+failing, "CLOUDS_YAML=secret")
				if out, err := cmd.CombinedOutput(); err != nil {
					failed = true
				} else if strings.Contains(string(out), "secret") {
					t.Errorf("%s shows the secret", step.Run)
				}
			}
			said, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(said)), "\n")
			if failed != (failing != "") || !slices.Contains(lines, "slipway down --yes") || !slices.Contains(lines, "slipway cluster delete conformance --yes") {
				t.Errorf("failed %t, ran %q", failed, lines)
			}
			if at := slices.IndexFunc(lines, func(line string) bool { return failing != "" && strings.HasPrefix(line, failing) }); failing != "" && at < 0 {
				t.Errorf("%s did not run: %q", failing, lines)
			}
			if info, err := os.Stat(filepath.Join(dir, "clouds.yaml")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("clouds.yaml: %v, %v", info, err)
			}
		})
	}
}
