package ownership

import "testing"

func TestRegionsAreReadBack(t *testing.T) {
	t.Parallel()
	want := New("prod", "credential")
	for _, region := range []string{"", "RegionOne", "eu-de-1", "US West", "a+b%2"} {
		text := "Made by prod. " + want.DescriptionIn(region)
		if got := RegionIn(text); got != region {
			t.Errorf("%q: region %q, want %q", text, got, region)
		}
		if owner, ok := FromDescription(text); !ok || owner != want {
			t.Errorf("%q: owner %v %v, want %v", text, owner, ok, want)
		}
	}
	if got := want.DescriptionIn(""); got != want.Description() {
		t.Errorf("without a region it is %q, want %q", got, want.Description())
	}
}

func TestProjectsAreReadBack(t *testing.T) {
	t.Parallel()
	want := New("prod", "magnum-user")
	for _, project := range []string{"", "3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11"} {
		text := want.DescriptionOf("US West", project)
		if got := ProjectIn(text); got != project || RegionIn(text) != "US West" {
			t.Errorf("%q: project %q, want %q", text, got, project)
		}
		if owner, ok := FromDescription(text); !ok || owner != want {
			t.Errorf("%q: owner %v %v, want %v", text, owner, ok, want)
		}
	}
}
