package template

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

const head = "apiVersion: slipway.sh/v1alpha1\nkind: ClusterTemplates\nmetadata: {name: standard}\nspec:\n"

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse(config.Source{Name: "templates.yaml", Text: []byte(head + text)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const two = `  defaults: {flavor: m1.medium, externalNetwork: public, masterLB: true, floatingIP: false, labels: {auto_healing_enabled: "true", monitoring_enabled: "false"}}
  templates:
    - {kubernetesVersion: v1.33.5, image: node-133}
    - {kubernetesVersion: 1.34.2, image: node-134, name: newest, settings: {flavor: m1.large, public: true, labels: {monitoring_enabled: "true"}}}
`

// sync plans and carries out, and returns the steps by name.
func (f *fixture) sync(t *testing.T, file *File) map[string]Step {
	t.Helper()
	plan, err := f.Plan(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	done, err := f.Sync(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]Step{}
	for _, c := range done {
		steps[c.Name] = c.Step
	}
	return steps
}

func TestTemplatesAreMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, newest := f.image(t, "node-133", "v1.33.5"), f.image(t, "node-134", "1.34.2")
	file := parse(t, two)
	if got := f.sync(t, file); !maps.Equal(got, map[string]Step{"kubernetes-1.33.5": Create, "newest": Create}) {
		t.Errorf("steps %v", got)
	}
	first, second := f.magnum.list[0], f.magnum.list[1]
	if first["image_id"] != old || second["image_id"] != newest || first["flavor_id"] != "m1.medium" || second["flavor_id"] != "m1.large" || second["public"] != true || first["floating_ip_enabled"] != false {
		t.Errorf("made %v and %v", first, second)
	}
	if labels := second["labels"].(map[string]any); labels["monitoring_enabled"] != "true" || labels["auto_healing_enabled"] != "true" {
		t.Errorf("labels %v", labels)
	}
	f.magnum.calls = nil
	if got := f.sync(t, file); !maps.Equal(got, map[string]Step{"kubernetes-1.33.5": Keep, "newest": Keep}) || !slices.Equal(f.magnum.calls, []string{"GET"}) {
		t.Errorf("the second time %v, calls %v", got, f.magnum.calls)
	}
}

func TestChangedTemplates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.image(t, "node-133", "v1.33.5")
	f.image(t, "node-134", "1.34.2")
	f.sync(t, parse(t, two))
	ids := []any{f.magnum.list[0]["uuid"], f.magnum.list[1]["uuid"]}
	f.magnum.used[ids[0].(string)] = true
	file := parse(t, strings.Replace(strings.Replace(two, "m1.medium", "m1.small", 1), "public: true, ", "", 1))
	file.Spec.Templates[1].Settings.Public = new(bool)
	if got := f.sync(t, file); !maps.Equal(got, map[string]Step{"kubernetes-1.33.5": Replace, "newest": Update}) {
		t.Errorf("steps %v", got)
	}
	byID := map[any]map[string]any{}
	for _, l := range f.magnum.list {
		byID[l["uuid"]] = l
	}
	if used := byID[ids[0]]; used == nil || used["hidden"] != true || used["name"] != "kubernetes-1.33.5-00000001" || used["flavor_id"] != "m1.medium" {
		t.Errorf("the used one: %v", used)
	}
	if other := byID[ids[1]]; other["public"] != false || len(f.magnum.list) != 3 {
		t.Errorf("the other: %v of %d", other, len(f.magnum.list))
	}
	if got := f.sync(t, file); got["kubernetes-1.33.5-00000001"] != Retire || len(f.magnum.list) != 3 {
		t.Errorf("while a cluster uses it: %v", got)
	}
	f.magnum.used = map[string]bool{}
	f.sync(t, file)
	if len(f.magnum.list) != 2 {
		t.Errorf("unused and still there: %v", f.magnum.list)
	}
}

func TestTemplatesThatLeftTheFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.image(t, "node-133", "v1.33.5")
	f.image(t, "node-134", "1.34.2")
	f.sync(t, parse(t, two))
	f.magnum.list = append(f.magnum.list, map[string]any{"uuid": "stranger", "name": "stranger", "project_id": f.Project(), "tags": nil},
		map[string]any{"uuid": "other-set", "name": "x", "project_id": f.Project(), "tags": "slipway:set=other"})
	file := parse(t, two)
	file.Spec.Templates = file.Spec.Templates[1:]
	if got := f.sync(t, file); got["kubernetes-1.33.5"] != Retire || len(f.magnum.list) != 3 {
		t.Errorf("steps %v, left %v", got, f.magnum.list)
	}
}

func TestWithoutTheRightToPublish(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.image(t, "node-133", "v1.33.5")
	f.image(t, "node-134", "1.34.2")
	f.magnum.publisher = false
	plan, err := f.Plan(t.Context(), parse(t, two))
	if err != nil {
		t.Fatal(err)
	}
	done, err := f.Sync(t.Context(), plan)
	if len(done) != 1 || !strings.Contains(fault.Remedy(err), "clustertemplate:publish") {
		t.Errorf("done %v, error %v, remedy %q", done, err, fault.Remedy(err))
	}
}

// A template that cannot be made anew leaves the old one as it was.
func TestReplacementThatFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.image(t, "node-133", "v1.33.5")
	f.image(t, "node-134", "1.34.2")
	f.sync(t, parse(t, two))
	plan, err := f.Plan(t.Context(), parse(t, strings.Replace(two, "m1.medium", "absent", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Sync(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "flavor absent") {
		t.Errorf("ended with %v", err)
	}
	if l := f.magnum.list[0]; l["name"] != "kubernetes-1.33.5" || l["hidden"] != false || len(f.magnum.list) != 2 {
		t.Errorf("the old one: %v", l)
	}
}

func TestImagesThatDoNotFit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.image(t, "node-133", "v1.33.4")
	plan, err := f.Plan(t.Context(), parse(t, two))
	all := fault.All(err)
	if len(plan) != 0 || len(all) != 2 || !strings.Contains(all[0].Error(), "kube_version: it is v1.33.4, expected v1.33.5") || !strings.Contains(all[1].Error(), "there is no image") {
		t.Errorf("plan %v, faults %v", plan, all)
	}
	for _, err := range all {
		if fault.Remedy(err) == "" {
			t.Errorf("no remedy: %v", err)
		}
	}
}

// TestACloudThatDoesNotAnswer: without Glance nothing is planned.
func TestACloudThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := &File{}
	if _, err := f.Plan(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if _, err := f.sandbox.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "image", Method: "GET", Path: "/v2/images", Status: 403}); err != nil {
		t.Fatal(err)
	}
	if changes, err := f.Plan(t.Context(), file); err == nil {
		t.Errorf("without Glance: %v", changes)
	}
}

func TestNameOfAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.image(t, "node-133", "v1.33.5")
	f.magnum.list = []map[string]any{{"uuid": "stranger", "name": "kubernetes-1.33.5", "project_id": f.Project(), "tags": nil, "coe": "kubernetes", "image_id": "node-133", "labels": map[string]any{}}}
	file := parse(t, "  templates: [{kubernetesVersion: v1.33.5, image: "+id+"}]\n")
	if got := f.sync(t, file); got["kubernetes-1.33.5"] != Keep || len(f.magnum.list) != 1 {
		t.Errorf("a template that is as it shall be: %v", got)
	}
	file.Spec.Defaults.Flavor = "m1.large"
	if _, err := f.Plan(t.Context(), file); err == nil || !strings.Contains(err.Error(), "not created from this file") || fault.Remedy(err) == "" {
		t.Errorf("ended with %v", err)
	}
}

func TestMistakesInTheFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"  templates: [{kubernetesVersion: '1.34', image: a}]\n":                                         "is not a Kubernetes version",
		"  templates: [{kubernetesVersion: v1.34.2, image: a}, {kubernetesVersion: 1.34.2, image: b}]\n": "already used by",
		"  templates: [{kubernetesVersion: v1.34.2, image: a, settings: {labels: {a: true}}}]\n":         "expected text",
		"  templates: [{kubernetesVersion: v1.34.2, image: a, settings: {networkDriver: weave}}]\n":      "is not a valid value",
		"  templates: [{kubernetesVersion: v1.34.2}]\n":                                                  "required",
		"  templates: [{kubernetesVersion: v1.34.2, image: a, flavour: m1}]\n":                           "unknown key",
		"  templates: []\n": "required",
	} {
		_, err := Parse(config.Source{Name: "templates.yaml", Text: []byte(head + text)})
		if err == nil || !strings.Contains(err.Error(), want) || fault.ExitCode(err) != fault.ExitUsage {
			t.Errorf("%s: %v", text, err)
		}
	}
	f := parse(t, "  namePattern: '{set}-k8s-{minor}'\n  templates: [{kubernetesVersion: v1.34.2, image: a}]\n")
	if got := f.NameOf(f.Spec.Templates[0]); got != "standard-k8s-1.34" {
		t.Errorf("name %q", got)
	}
}

func TestExampleIsRight(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "examples", "templates.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(config.Source{Name: path, Text: text})
	if err != nil || len(f.Spec.Templates) == 0 || f.NameOf(f.Spec.Templates[0]) != "kubernetes-1.34.4" {
		t.Errorf("file %+v (%v)", f, err)
	}
}
