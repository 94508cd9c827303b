package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemedyFitsTheHost: who is in no container is not told to change one.
func TestRemedyFitsTheHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, text, engine, says string
	}{
		"no container": {"", "", "", "login shell"},
		"docker":       {".dockerenv", "", "docker", "--cap-add SYS_RESOURCE"},
		"podman":       {"run/.containerenv", "engine=podman", "podman", "--cap-add SYS_RESOURCE"},
		"lxc":          {"run/systemd/container", "lxc\n", "lxc", "lxc.cap.drop"},
		"nspawn":       {"run/systemd/container", "systemd-nspawn", "systemd-nspawn", "this container (systemd-nspawn)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if test.file != "" {
				path := filepath.Join(root, test.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := engine(root); got != test.engine {
				t.Fatalf("it is in %q, want %q", got, test.engine)
			}
			l := resources(engine(root))
			if l.Fatal || !strings.Contains(l.Remedy, test.says) || !strings.Contains(l.Without, "clusters work all the same") {
				t.Errorf("%+v", l)
			}
		})
	}
}
