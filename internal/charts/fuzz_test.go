package charts

import (
	"strings"
	"testing"
)

// FuzzIndex reads the index of a repository, which anybody may run.
func FuzzIndex(f *testing.F) {
	for _, text := range []string{"apiVersion: v1\nentries:\n  demo:\n  - version: 1.0.0\n    urls: [demo-1.0.0.tgz]\n    digest: ab\n", `{"entries": {"demo": [{"version": "1", "urls": ["x"]}]}}`,
		"entries:\n  demo:\n  - &a [*a]\n", "entries:\n  \"demo\":\n  - version: 1\n", "{", "entries:\n  demo:\n  - urls: {}\n", strings.Repeat("entries:\n", 9)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		versions, err := versionsOf(strings.NewReader(text), "demo")
		if err == nil && len(versions) > len(text) {
			t.Errorf("%d versions of %d bytes", len(versions), len(text))
		}
	})
}
