package preflight

import (
	"fmt"
	"testing"
)

// The fix of a wrong name lists what there is, as far as a line holds it.
func TestChoicesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	many := make([]string, 14)
	for i := range many {
		many[i] = fmt.Sprintf("n%d", i)
	}
	for want, names := range map[string][]string{
		"another one: the project sees none":                                 nil,
		"one of public":                                                      {"public"},
		"one of internet, public":                                            {"internet", "public"},
		"one of n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11":            many[:12],
		"one of n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11 and 2 more": many,
	} {
		if got := choices(names); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}
