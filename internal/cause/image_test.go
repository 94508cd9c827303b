package cause

import (
	"strings"
	"testing"
)

// TestImagesThatListsLeaveOut: a hidden image, or one of the community, is found by its ID alone.
func TestImagesThatListsLeaveOut(t *testing.T) {
	t.Parallel()
	const machine = "kind: Machine\nmetadata: {name: m}\nspec: {infrastructureRef: {name: m}}\n---\nkind: OpenStackMachine\nmetadata: {name: m}\nspec: {image: IMAGE}\n"
	hidden, listed := Image{ID: "h", Name: "node", Status: "active", Unlisted: true}, Image{ID: "l", Name: "node", Status: "active"}
	for name, c := range map[string]struct {
		image string
		all   []Image
		lacks bool
	}{
		"hidden, by its ID":      {"{id: h}", []Image{hidden}, false},
		"hidden, by its name":    {"{filter: {name: node}}", []Image{hidden}, true},
		"listed, by its name":    {"{filter: {name: node}}", []Image{hidden, listed}, false},
		"another's, by its ID":   {"{id: x}", []Image{hidden, listed}, true},
		"another's, by its name": {"{filter: {name: x}}", []Image{hidden, listed}, true},
	} {
		found := Explain(Snapshot{Objects: read(t, strings.Replace(machine, "IMAGE", c.image, 1)), Cloud: &Cloud{Images: c.all}, Now: now})
		if got := strings.Contains(reasons(found), "image-missing"); got != c.lacks {
			t.Errorf("%s: %q", name, reasons(found))
		}
	}
}
