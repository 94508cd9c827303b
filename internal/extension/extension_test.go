package extension

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestExtensionsRunInTheOrderOfTheirNames, programs and manifests among each other, until one
// fails.
//
// proves: S-82
func TestExtensionsRunInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	files := map[string]string{"20-b.yaml": "b", "10-a.sh": "#!/bin/sh\necho a at $CLUSTER in $(basename $PWD)\n", "30-c": "#!/bin/sh\necho c\n", "25-d.json": "{}", ".hidden": "x", "3-e.yml": "e"}
	for name, c := range map[string]struct {
		more  map[string]string
		order string
		told  []string
	}{
		"all":              {nil, "a at c1, manifest b, manifest {}, manifest e, c", nil},
		"a program fails":  {map[string]string{"20-a": "#!/bin/sh\necho broken\nexit 3\n"}, "a at c1, broken", []string{"extension 20-a: exit status 3; 4 after it were not run"}},
		"a manifest fails": {map[string]string{"27-x.yaml": "refuse"}, "a at c1, manifest b, manifest {}, manifest refuse", []string{"extension 27-x.yaml: refused; 2 after it"}},
		"the last fails":   {map[string]string{"40-x.yaml": "refuse"}, "a at c1, manifest b, manifest {}, manifest e, c, manifest refuse", []string{"extension 40-x.yaml: refused"}},
		"no program":       {map[string]string{"40-x.sh": "echo"}, "", []string{"40-x.sh: it is neither a manifest nor a program"}},
	} {
		all := map[string]string{}
		for _, from := range []map[string]string{files, c.more} {
			for name, text := range from {
				all[name] = text
			}
		}
		dir := folder(t, all)
		if err := os.Mkdir(filepath.Join(dir, "15-folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		list, err := Read(dir)
		if err == nil {
			err = Runner{Environment: []string{"CLUSTER=c1", "PATH=/usr/bin:/bin"}, Output: &out, Apply: func(_ context.Context, text []byte) error {
				out.WriteString("manifest " + string(text) + "\n")
				if string(text) == "refuse" {
					return errors.New("refused")
				}
				return nil
			}}.Run(t.Context(), list, func(string) {})
		}
		order := strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", ", ")
		order = strings.ReplaceAll(order, " in "+filepath.Base(dir), "")
		if order != c.order || (err == nil) != (len(c.told) == 0) {
			t.Errorf("%s: ran %q, %v", name, order, err)
		}
		for _, words := range c.told {
			if err == nil || !strings.Contains(err.Error(), words) || fault.Remedy(err) == "" {
				t.Errorf("%s: told %v", name, err)
			}
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("no folder: %v", err)
	}
}

// TestAProgramEndsWithItsTime.
func TestAProgramEndsWithItsTime(t *testing.T) {
	t.Parallel()
	list, err := Read(folder(t, map[string]string{"a": "#!/bin/sh\nexec sleep 60\n"}))
	if err != nil || !slices.Equal(list, []Extension{{Name: "a", Path: list[0].Path, Program: true}}) {
		t.Fatalf("%+v, %v", list, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = Runner{Environment: []string{"PATH=/usr/bin:/bin"}, Output: &bytes.Buffer{}}.Run(ctx, list, func(string) { cancel(errors.New("not in time")) })
	if err == nil || !strings.Contains(err.Error(), "extension a: not in time") {
		t.Errorf("told %v", err)
	}
}
