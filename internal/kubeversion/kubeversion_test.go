package kubeversion

import (
	"strings"
	"testing"
)

func TestSkew(t *testing.T) {
	t.Parallel()
	for jump, allowed := range map[string]bool{
		"v1.33.4 v1.33.4": true, "v1.33.4 1.33.9": true, "1.33.4 1.34.0": true, "1.33 1.34": true,
		"1.33.4 1.33.3": false, "1.33.4 1.35.0": false, "1.33.4 1.32.9": false, "1.33.4 2.34.0": false, "1.33.4 x": false,
	} {
		from, to, _ := strings.Cut(jump, " ")
		if err := CheckUpgrade(from, to); (err == nil) != allowed {
			t.Errorf("%s: %v", jump, err)
		}
	}
	for pair, fits := range map[string]bool{"1.34.0 1.34.3": true, "1.34.0 1.31.0": true, "1.34.0 1.30.0": false, "1.34.0 1.35.0": false, "1.34.0 x": false} {
		cluster, nodes, _ := strings.Cut(pair, " ")
		if err := CheckSkew(cluster, nodes); (err == nil) != fits {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

// proves: S-28
func TestNewest(t *testing.T) {
	t.Parallel()
	known := []string{"1.34.4", "v1.34.10", "1.34.9", "v1.34.11-rc.0", "1.35.0-beta.1", "v1.33.7", "nonsense"}
	for _, c := range []struct {
		minor    string
		previews bool
		want     string
	}{
		{"1.34", false, "v1.34.10"}, {"v1.34", false, "v1.34.10"}, {"v1.34", true, "v1.34.11-rc.0"}, {"v1.33", false, "v1.33.7"},
		{"v1.35", false, ""}, {"v1.35", true, "1.35.0-beta.1"}, {"v1.36", true, ""}, {"x", true, ""},
	} {
		if got := Newest(c.minor, known, c.previews); got != c.want {
			t.Errorf("%s, previews %t: %q, want %q", c.minor, c.previews, got, c.want)
		}
	}
	for text, want := range map[string][2]bool{"1.34": {true, false}, "v1.34": {true, false}, "1.34.4": {false, false}, "v1.35.0-rc.1": {false, true}, "1": {}, "v": {}, "1.x": {}, "": {}, "v1.34.4+k3s1": {}} {
		if IsMinor(text) != want[0] || IsPreview(text) != want[1] {
			t.Errorf("%q: minor %t, preview %t", text, IsMinor(text), IsPreview(text))
		}
	}
}
