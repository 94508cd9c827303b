package adopt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// TestEachReleaseHasItsOwnValuesFile, also where clusters have the same name; and no file of
// somebody else is overwritten.
func TestEachReleaseHasItsOwnValuesFile(t *testing.T) {
	t.Parallel()
	o := &clusterOptions{values: filepath.Join(t.TempDir(), "values")}
	plan := &adopt.Plan{Clusters: []adopt.Cluster{{Namespace: "az-a", Name: "shop", Verdict: adopt.Adopt}, {Namespace: "az-b", Name: "shop", Verdict: adopt.Adopt},
		{Namespace: "az-a", Name: "lab", Verdict: adopt.Adopt}, {Namespace: "az-a", Name: "old", Verdict: adopt.Refuse}}}
	for range 2 { // the same again is the same
		if err := o.write(plan); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(o.values)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"az-a.shop.yaml", "az-b.shop.yaml", "lab.yaml"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("files %v (%v), want %v", names, err, want)
	}
	if err := os.WriteFile(filepath.Join(o.values, "lab.yaml"), []byte("of: another cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.write(plan); err == nil || !strings.Contains(err.Error(), "lab.yaml: it exists already and says something else") {
		t.Errorf("error %v", err)
	}
}
