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
