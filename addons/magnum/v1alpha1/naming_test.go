package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestLabelValues: whatever ids a cloud has, a label can hold what is made of them. UUIDs stay.
func TestLabelValues(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"3f1c2d4e5a6b4c7d8e9f0a1b2c3d4e5f": "3f1c2d4e5a6b4c7d8e9f0a1b2c3d4e5f",
		"Jane Doe":                         "Jane-Doe",
		"jane@example.org":                 "jane-example.org",
		"Jürgen":                           "J-rgen",
		"-x-":                              "x",
		"":                                 "",
		"@":                                "",
		strings.Repeat("a", 62) + " b":     strings.Repeat("a", 62),
	} {
		got := LabelValue(id)
		if wrong := validation.IsValidLabelValue(got); got != want || len(wrong) > 0 {
			t.Errorf("%q: %q %v", id, got, wrong)
		}
	}
}
