package driver

import "testing"

// Of what the image says, only digits and dots are the version.
func TestVersionIsDigitsAndDots(t *testing.T) {
	t.Parallel()
	for property, want := range map[string]string{"v1.34.2": "1.34.2", "1.35.0": "1.35.0", "v0.9": "0.9", " 1.34/:-rc ": "1.34", "": "", "none": ""} {
		if got := Version(property); got != want {
			t.Errorf("%q: %q, want %q", property, got, want)
		}
	}
}
