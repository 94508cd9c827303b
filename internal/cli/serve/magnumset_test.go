package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-sh/slipway/internal/fault"
)

func TestMagnumValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want map[string]any
		told bool
	}{
		"values":  {"registryMirrors: {docker.io: [https://mirror]}", map[string]any{"registryMirrors": map[string]any{"docker.io": []any{"https://mirror"}}}, false},
		"nothing": {"", map[string]any{}, false},
		"no YAML": {"a: [", nil, true},
		"a list":  {"[a]", nil, true},
		"a word":  {"a", nil, true},
		"twice":   {"a: 1\na: 2", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if values, _ := readValues(file); !cmp.Equal(test.want, values) {
				t.Errorf("values %v", values)
			}
			// The kubeconfig is what is looked at after all flags of sets.
			_, err := run(t, "controllers", "--only", "magnum", "--kubeconfig", "/nonexistent", "--magnum-values", file)
			want := map[bool]string{true: "--magnum-values " + file, false: "--kubeconfig /nonexistent"}[test.told]
			if all := fault.All(err); len(all) != 1 || fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(all[0]) == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, exit code %d; want %q", err, fault.ExitCode(err), want)
			}
		})
	}
}

// TestMagnumCloudCA: what clusters could not be given ends the controllers before they start.
func TestMagnumCloudCA(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none.pem")
	if err := os.WriteFile(none, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{none: "not contain any valid", filepath.Join(dir, "missing"): "no such file"} {
		_, err := run(t, "controllers", "--only", "magnum", "--kubeconfig", "/nonexistent", "--magnum-cloud-ca", file)
		if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "--magnum-cloud-ca") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if text, err := readCloudCA(""); text != nil || err != nil {
		t.Errorf("without a file: %q, %v", text, err)
	}
}
