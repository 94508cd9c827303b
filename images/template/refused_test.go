package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestTheTemplateOfAName: ours before others', shown before hidden, the first of equals, and never
// that of another project.
func TestTheTemplateOfAName(t *testing.T) {
	t.Parallel()
	file := &File{Metadata: Metadata{Name: "standard"}}
	live := func(uuid, project, tags string, hidden bool) Live {
		return Live{UUID: uuid, Name: "n", ProjectID: project, Hidden: hidden, Fields: map[string]any{"tags": tags}}
	}
	const ours = "a,slipway:set=standard"
	for name, test := range map[string]struct {
		list []Live
		want string
	}{
		"ours, though it is hidden":   {[]Live{live("1", "p", "", false), live("2", "p", ours, true)}, "2"},
		"ours, though it comes first": {[]Live{live("1", "p", ours, true), live("2", "p", "", false)}, "1"},
		"the one that is shown":       {[]Live{live("1", "p", ours, true), live("2", "p", ours, false)}, "2"},
		"the first of two":            {[]Live{live("1", "p", ours, false), live("2", "p", ours, false)}, "1"},
		"a hidden stranger":           {[]Live{live("1", "p", "", true)}, "1"},
		"of another project":          {[]Live{live("1", "q", ours, false)}, ""},
	} {
		got := ""
		if own := findOwn(file, test.list, "n", "p"); own != nil {
			got = own.UUID
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestValuesAreComparedAsJSON: numbers of any type, and nothing is as good as an empty map.
func TestValuesAreComparedAsJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{20, 20.0, true}, {map[string]string{"a": "1"}, map[string]any{"a": "1"}, true}, {nil, map[string]string{}, true}, {map[string]string{}, nil, true},
		{nil, "", false}, {nil, map[string]string{"a": "1"}, false}, {true, "true", false},
	} {
		if got := equal(test.a, test.b); got != test.want {
			t.Errorf("%#v and %#v: %t", test.a, test.b, got)
		}
	}
	if err := json.Unmarshal([]byte(`["no", "template"]`), &Live{}); err == nil {
		t.Error("a list is read as a template")
	}
}

// TestRefusalsOfMagnum: only the right that is missing is blamed, and what failed is not told as done.
func TestRefusalsOfMagnum(t *testing.T) {
	t.Parallel()
	private, hidden := strings.Replace(two, "public: true, ", "", 1), strings.Replace(two, "public: true", "public: true, hidden: true", 1)
	for name, test := range map[string]struct {
		before, file string
		refuses      map[string][]int
		done         string
		errs         []string
		publish      bool
	}{
		"creating, without the right":       {"", two, map[string][]int{"POST": {0, 403}}, "kubernetes-1.33.5", []string{"cluster template newest: creating"}, true},
		"creating one of ours alone":        {"", private, map[string][]int{"POST": {0, 403}}, "kubernetes-1.33.5", []string{"cluster template newest: creating"}, false},
		"creating, for another reason":      {"", two, map[string][]int{"POST": {0, 409}}, "kubernetes-1.33.5", []string{"cluster template newest: creating"}, false},
		"changing":                          {two, hidden, map[string][]int{"PATCH": {403}}, "kubernetes-1.33.5", []string{"changing hidden"}, false},
		"replacing, and the name stays off": {two, strings.Replace(two, "m1.large", "absent", 1), map[string][]int{"PATCH": {0, 503}}, "kubernetes-1.33.5", []string{"flavor absent", "restoring its name"}, false},
		"renaming":                          {two, strings.Replace(two, "m1.large", "absent", 1), map[string][]int{"PATCH": {409}}, "kubernetes-1.33.5", []string{"renaming"}, false},
		"deleting":                          {two, strings.Replace(two, "m1.large", "m1.huge", 1), map[string][]int{"DELETE": {403}}, "kubernetes-1.33.5", []string{"deleting"}, false},
		"hiding":                            {two, strings.Replace(two, "m1.large", "m1.huge", 1), map[string][]int{"DELETE": {409}, "PATCH": {0, 409}}, "kubernetes-1.33.5", []string{"hiding"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.image(t, "node-133", "v1.33.5")
			f.image(t, "node-134", "1.34.2")
			if test.before != "" {
				f.sync(t, parse(t, test.before))
			}
			f.magnum.refuses = test.refuses
			plan, err := f.Plan(t.Context(), parse(t, test.file))
			if err != nil {
				t.Fatal(err)
			}
			done, err := f.Sync(t.Context(), plan)
			if len(done) != 1 || done[0].Name != test.done {
				t.Errorf("done %+v", done)
			}
			for _, want := range test.errs {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("ended with %v, want %q", err, want)
				}
			}
			if got := strings.Contains(fault.Remedy(err), "clustertemplate:publish"); got != test.publish {
				t.Errorf("remedy %q", fault.Remedy(err))
			}
		})
	}
}

// TestTheEndsOfOldTemplates: each says what became of it, and none is an error.
func TestTheEndsOfOldTemplates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuses map[string][]int
		hidden  bool
		want    string
	}{
		"deleted":                             {nil, false, "; the old one is deleted"},
		"gone already":                        {map[string][]int{"DELETE": {404}}, false, "; the old one is deleted"},
		"in use":                              {map[string][]int{"DELETE": {400}}, false, "; the old one is hidden until no cluster uses it"},
		"in use, of another Magnum":           {map[string][]int{"DELETE": {409}}, false, "; the old one is hidden until no cluster uses it"},
		"in use, and hidden":                  {map[string][]int{"DELETE": {400}}, true, "; the old one is hidden because clusters use it"},
		"in use, and we must not hide it":     {map[string][]int{"DELETE": {400}, "PATCH": {403}}, false, "hiding it needs the policy right clustertemplate:publish"},
		"in use, hidden, and we must not too": {map[string][]int{"DELETE": {409}, "PATCH": {403}}, true, "; the old one is hidden because clusters use it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.magnum.list = []map[string]any{{"uuid": "u", "name": "n", "project_id": f.Project(), "hidden": test.hidden, "tags": "slipway:set=standard"}}
			f.magnum.refuses = test.refuses
			file := &File{Metadata: Metadata{Name: "standard"}}
			plan, err := f.Plan(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			done, err := f.Sync(t.Context(), plan)
			if err != nil || len(done) != 1 || !strings.HasSuffix(done[0].Reason, test.want) {
				t.Errorf("%+v, %v, want %q", done, err, test.want)
			}
		})
	}
}

// TestTemplatesThatStayAreSkipped: progress tells them from those that were made.
func TestTemplatesThatStayAreSkipped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.image(t, "node-133", "v1.33.5")
	file := parse(t, "  templates: [{kubernetesVersion: v1.33.5, image: node-133}]\n")
	for _, want := range []event.State{event.Done, event.Skipped} {
		told := &event.Recorder{}
		f.Events = told
		f.sync(t, file)
		ends := map[event.State]int{}
		for _, e := range told.Events() {
			ends[e.State]++
		}
		delete(ends, event.Started)
		if !maps.Equal(ends, map[event.State]int{want: 1}) {
			t.Errorf("told %v, want one %s", ends, want)
		}
	}
}

// TestCloudsWithoutMagnum are told of at once, and broken files and answers are errors.
func TestCloudsWithoutMagnum(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(sandboxtest.Start(t).CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := New(c, &event.Recorder{}); err == nil {
		t.Errorf("a syncer without a Magnum: %+v", s)
	}
	if _, err := Parse(config.Source{Name: "templates.yaml", Text: []byte("a: [")}); err == nil {
		t.Error("what is no YAML is read")
	}
	f := newFixture(t)
	f.magnum.refuses = map[string][]int{"GET": {403}}
	if plan, err := f.Plan(t.Context(), &File{}); err == nil {
		t.Errorf("a plan without a list: %v", fmt.Sprint(plan))
	}
}
