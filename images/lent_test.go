package images

import (
	"testing"
	"time"

	"github.com/slipway-sh/slipway/images/manifest"
)

// TestAnImageOnLoanStaysShared: nothing that looks after images makes it private or retires it
// while clusters in other projects use it.
func TestAnImageOnLoanStaysShared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has, wants string
		lent       bool
		want       []string
	}{
		"on loan":                  {"shared", "private", true, nil},
		"shared by somebody":       {"shared", "private", false, []string{"visibility"}},
		"public from now on":       {"shared", "public", true, []string{"visibility", PropertyLent}},
		"shared by the manifest":   {"shared", "shared", true, []string{"visibility", PropertyLent}},
		"private, as it should be": {"private", "private", false, nil},
	} {
		r := Record{ID: "i", Name: "node", Status: "active", Visibility: c.has, CreatedAt: time.Now(), Properties: map[string]string{PropertyMark: "node"}}
		if c.lent {
			r.Properties[PropertyLent] = "true"
		}
		var got []string
		for _, d := range Describe(manifest.Image{Name: "node", Visibility: c.wants}, r, 0) {
			if d.Property == "visibility" || d.Property == PropertyLent {
				got = append(got, d.Property)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v differ, want %v", name, got, c.want)
		}
		if plan := Retire([]Record{r}, nil, nil, manifest.Retire{}, time.Now()); (plan[0].Step == Keep) != c.lent {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}
