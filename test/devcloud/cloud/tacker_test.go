package cloud

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTackersFolderIsChecked before anything starts, and only its own files are taken over.
func TestTackersFolderIsChecked(t *testing.T) {
	t.Parallel()
	given, folder := t.TempDir(), t.TempDir()
	c := &Cloud{Tacker: given}
	files := []string{"tacker/cmd/eventlet/tacker_server.py", "etc/tacker/api-paste.ini", "tacker-13.0.0.dist-info/entry_points.txt", "translator/hot/tosca_translator.py",
		"toscaparser/elements/TOSCA_definition.yaml", "toscaparser/extensions/nfv/TOSCA_nfv_definition_1_0_0.yaml"}
	for n, file := range files {
		err := c.writeTacker(folder)
		if err == nil || strings.Count(err.Error(), "there is no") != len(files)-n {
			t.Errorf("with %q: %v", files[:n], err)
		}
		if err := writeFile(filepath.Join(given, file), file); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.writeTacker(folder); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "etc/tacker/api-paste.ini")); err != nil || string(text) != "etc/tacker/api-paste.ini" {
		t.Errorf("pipelines %q: %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(folder, "usr/local/bin/tacker-db-manage")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("program for the database: %v, %v", info, err)
	}
}

// TestOnlyACloudWithTackerHasIt: other clouds are as small as before.
func TestOnlyACloudWithTackerHasIt(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"", "/b/tacker"} {
		c := &Cloud{dir: "/a/devcloud", Tacker: folder}
		has := map[string]bool{
			"database": slices.Contains(c.databases(), "tacker"), "packages": strings.Contains(c.lists(), "tacker.txt"), "service": strings.Contains(c.supervisor(), "tacker-conductor"),
			"catalog": slices.Contains(seed{tacker: folder != ""}.catalog(), nfv), "mount": c.layers("/u").Tacker != "",
		}
		for what, there := range has {
			if there != (folder != "") {
				t.Errorf("cloud with Tacker %q: %s is there: %v", folder, what, there)
			}
		}
	}
}
