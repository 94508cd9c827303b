package openstackcluster

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// secret is one key of a Secret, decoded.
func secret(t *testing.T, all objects, name, key string) string {
	t.Helper()
	encoded, _ := at(all.get(t, "Secret "+name), "data", key).(string)
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// put, get and run are files in a folder and a command of a node.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func run(t *testing.T, command string, environment ...string) {
	t.Helper()
	shell := exec.Command("sh", "-ec", command)
	shell.Env = append(os.Environ(), environment...)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}
