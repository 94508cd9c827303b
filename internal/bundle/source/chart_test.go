package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChartsAreWithoutWhatHelmIgnores packs what Helm would: a file beside the definitions that is
// none has every installation fail.
func TestChartsAreWithoutWhatHelmIgnores(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ignore string
		want   []string
	}{
		"a file and a folder": {"# sources\ntests/\ncrds/kustomization.yaml\n", []string{".helmignore", "Chart.yaml", "crds/a.yaml"}},
		"a pattern":           {"tests/more/*.yaml\n", []string{".helmignore", "Chart.yaml", "crds/a.yaml", "crds/kustomization.yaml", "tests/a.yaml"}},
		"none":                {"", []string{"Chart.yaml", "crds/a.yaml", "crds/kustomization.yaml", "tests/a.yaml", "tests/more/b.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"Chart.yaml": "", "crds/a.yaml": "", "crds/kustomization.yaml": "", "tests/a.yaml": "", "tests/more/b.yaml": ""}
			if test.ignore != "" {
				files[".helmignore"] = test.ignore
			}
			for file, text := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := dropIgnored(dir); err != nil {
				t.Fatal(err)
			}
			var left []string
			for file := range files {
				if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
					left = append(left, file)
				}
			}
			slices.Sort(left)
			if !slices.Equal(left, test.want) {
				t.Errorf("left are %s, want %s", strings.Join(left, " "), strings.Join(test.want, " "))
			}
		})
	}
}
