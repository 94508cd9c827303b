package openstackcluster

import (
	"bytes"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
)

var update = flag.Bool("update", false, "write the golden files anew")

// configurations are the files of testdata that are rendered whole.
var configurations = []string{"minimal", "full", "ovn", "magnum"}

// TestGolden shows every object of three clusters. Secrets are shown in plain
// text, so that they can be read.
//
// proves: F71
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, name := range configurations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := Render(Release{Name: name, Namespace: "clusters", Values: values(t, read(t, name+".yaml"))})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, name+".golden", strings.ReplaceAll(plain(text), "slipway:"+component.SlipwayVersion(), "slipway:devel"))
		})
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// compare compares with a golden file, or writes it.
func compare(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(golden, []byte(text)) {
		return
	}
	got, wanted := strings.Split(text, "\n"), strings.Split(string(golden), "\n")
	for i := range min(len(got), len(wanted)) {
		if got[i] != wanted[i] {
			t.Fatalf("%s:%d differs; go test -update writes it anew\ngot  %s\nwant %s", path, i+1, got[i], wanted[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d; go test -update writes it anew", path, len(got), len(wanted))
}

var encoded = regexp.MustCompile(`(?m)^  ([\w.-]+): ([A-Za-z0-9+/]{16,}={0,2})$`)

// plain decodes the data of Secrets in a rendered text.
func plain(text string) string {
	return encoded.ReplaceAllStringFunc(text, func(line string) string {
		parts := encoded.FindStringSubmatch(line)
		data, err := base64.StdEncoding.DecodeString(parts[2])
		if err != nil {
			return line
		}
		body := strings.ReplaceAll(strings.TrimRight(string(data), "\n"), "\n", "\n    ")
		return "  " + parts[1] + ": | # base64\n    " + body
	})
}
