package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/ui"
)

// scripts are the command lines of a pipeline's jobs, GitLab's or GitHub's, by
// job.
func scripts(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := yaml.Unmarshal(text, &top); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	jobs, isGitHub := top["jobs"].(map[string]any)
	if !isGitHub {
		jobs = top
	}
	lines := map[string][]string{}
	for name, job := range jobs {
		fields, _ := job.(map[string]any)
		list, _ := fields["script"].([]any)
		for _, step := range list {
			lines[name] = append(lines[name], step.(string))
		}
		steps, _ := fields["steps"].([]any)
		for _, step := range steps {
			if run, ok := step.(map[string]any)["run"].(string); ok {
				lines[name] = append(lines[name], run)
			}
		}
	}
	return lines
}

// TestSamplePipelinesAreWhatTheCommandsTake holds every command of the samples
// against the real command line: a flag that is renamed has to be renamed there.
// Staging goes on by itself; nothing that changes production does without a
// person, and whatever changes something asks nobody and tells as data.
//
// proves: F47
func TestSamplePipelinesAreWhatTheCommandsTake(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/examples/pipelines/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var ups []string
			for job, lines := range scripts(t, file) {
				for _, line := range lines {
					command, _, _ := strings.Cut(line, " > ")
					words := strings.Fields(command)
					if len(words) < 2 || words[0] != "slipway" {
						t.Errorf("%s runs %q", job, line)
						continue
					}
					flags := parsed(t, words[1:])
					if words[1] != "up" {
						continue
					}
					ups = append(ups, job)
					for flag, want := range map[string]string{"yes": "true", "progress": "json", "output": "json", "env": job} {
						if got := flags.Lookup(flag).Value.String(); got != want {
							t.Errorf("%s: %q has --%s %s, want %s", job, line, flag, got, want)
						}
					}
				}
			}
			if slices.Sort(ups); !slices.Equal(ups, []string{"production", "staging"}) {
				t.Errorf("up runs in %v", ups)
			}
			text, _ := os.ReadFile(file)
			indent, waits := "\n", "when: manual"
			if strings.Contains(file, "github") { // the environment has reviewers
				indent, waits = "\n  ", "environment: production"
			}
			if _, production, _ := strings.Cut(string(text), indent+"production:\n"); !strings.Contains(production, waits) {
				t.Error("production waits for nobody")
			}
		})
	}
}

// TestAPlanHasTheLoginOfItsEnvironment: logins are given to each environment, and the plan of
// production is made with that of production. A nightly schedule proposes, and changes nothing.
func TestAPlanHasTheLoginOfItsEnvironment(t *testing.T) {
	t.Parallel()
	type job struct {
		Environment any `json:"environment"`
		Needs       any `json:"needs"`
	}
	var gitlab map[string]any
	var github struct {
		Jobs map[string]job `json:"jobs"`
	}
	for name, into := range map[string]any{"gitlab": &gitlab, "github": &github} {
		text, err := os.ReadFile("../../docs/examples/pipelines/" + name + ".yml")
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if plan := github.Jobs["plan-production"]; plan.Environment != "production-plan" || github.Jobs["production"].Needs != "plan-production" {
		t.Errorf("GitHub plans production in the environment %v", plan.Environment)
	}
	for _, name := range []string{"staging", "plan production", "production"} {
		fields, _ := gitlab[name].(map[string]any)
		rules, _ := fields["rules"].([]any)
		for _, rule := range rules {
			of, _ := rule.(map[string]any)
			if when, _ := of["if"].(string); !strings.Contains(when, `$CI_PIPELINE_SOURCE != "schedule"`) {
				t.Errorf("GitLab's %s runs in a schedule: %q", name, when)
			}
		}
		if len(rules) == 0 {
			t.Errorf("GitLab's %s has no rules", name)
		}
	}
	plan, _ := gitlab["plan production"].(map[string]any)
	if environment, _ := plan["environment"].(map[string]any); environment["name"] != "production" || environment["action"] != "access" {
		t.Errorf("GitLab plans production in the environment %v", plan["environment"])
	}
}

// parsed finds the command of a line and reads its flags, without running it.
func parsed(t *testing.T, words []string) *pflag.FlagSet {
	t.Helper()
	cmd, rest, err := newRoot(ui.Streams{}).Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.Runnable() {
		t.Fatalf("slipway %s: %v", strings.Join(words, " "), err)
	}
	return cmd.Flags()
}
