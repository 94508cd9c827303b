package ownership

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestMarksAreReadBack(t *testing.T) {
	t.Parallel()
	want := New("prod", "seed-data")
	others := []string{"team-a", "slipway:extra"}
	for name, read := range map[string]func() (Owner, bool){
		"tags":               func() (Owner, bool) { return FromTags(want.Tags()) },
		"tags among others":  func() (Owner, bool) { return FromTags(slices.Concat(others, want.Tags(), others)) },
		"metadata":           func() (Owner, bool) { return FromMetadata(want.Metadata()) },
		"description":        func() (Owner, bool) { return FromDescription(want.Description()) },
		"description, words": func() (Owner, bool) { return FromDescription("The seed of prod. " + want.Description() + " (kept)") },
		"any, tags":          func() (Owner, bool) { return Find(want.Tags(), nil, "") },
		"any, metadata":      func() (Owner, bool) { return Find(others, want.Metadata(), "") },
		"any, description":   func() (Owner, bool) { return Find(nil, nil, want.Description()) },
	} {
		if got, ok := read(); !ok || got != want {
			t.Errorf("%s: read %v %v, want %v", name, got, ok, want)
		}
	}
}

func TestForeignResourcesHaveNoMark(t *testing.T) {
	t.Parallel()
	mark := New("prod", "seed")
	for name, tags := range map[string][]string{
		"none":           nil,
		"other":          {"prod", "seed"},
		"our tag only":   {Tag},
		"no step":        EnvironmentTags("prod"),
		"no environment": {Tag, "slipway:step=seed"},
		"empty values":   {Tag, "slipway:env=", "slipway:step="},
		"without ours":   mark.Tags()[1:],
		"look-alike":     {Tag, "x-slipway:env=prod", "x-slipway:step=seed"},
	} {
		if got, ok := FromTags(tags); ok || got != (Owner{}) {
			t.Errorf("%s: tags %v read as %v", name, tags, got)
		}
	}
	if got, ok := Find(nil, map[string]string{EnvironmentKey: "prod"}, "slipway:env=prod"); ok {
		t.Errorf("half a mark read as %v", got)
	}
}

func TestNameAndSelection(t *testing.T) {
	t.Parallel()
	mark := New("prod", "seed")
	if got := mark.Name(); got != "prod-seed" {
		t.Errorf("name %q", got)
	}
	for _, tag := range EnvironmentTags("prod") {
		if !slices.Contains(mark.Tags(), tag) {
			t.Errorf("tags %v do not carry %s, by which they are looked for", mark.Tags(), tag)
		}
	}
	for _, tag := range New(strings.Repeat("e", 30), strings.Repeat("s", 30)).Tags() {
		if len(tag) > 60 || strings.ContainsAny(tag, ",/") {
			t.Errorf("Nova would refuse the tag %q", tag)
		}
	}
}

// proves: F08
func TestEnvironmentsHaveDisjointMarks(t *testing.T) {
	t.Parallel()
	one, other := New("prod", "seed"), New("prod-2", "seed")
	if one.Name() == other.Name() || one.Description() == other.Description() || maps.Equal(one.Metadata(), other.Metadata()) {
		t.Errorf("%v and %v share a mark", one, other)
	}
	// A search by tags must find no other environment, also one whose name
	// begins with ours.
	for _, tag := range EnvironmentTags("prod")[1:] {
		if slices.Contains(other.Tags(), tag) {
			t.Errorf("tag %s of prod is on things of prod-2", tag)
		}
	}
}

func TestStepsThatCouldClash(t *testing.T) {
	t.Parallel()
	if err := CheckSteps("seed", "seed-data", "network", "subnet"); err != nil {
		t.Errorf("refused: %v", err)
	}
	err := CheckSteps("network", "seed", "data-seed")
	if err == nil || !strings.Contains(err.Error(), "step data-seed ends with step seed") {
		t.Errorf("error %v", err)
	}
}
