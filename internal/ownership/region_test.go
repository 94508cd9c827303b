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
