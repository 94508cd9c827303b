package console

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/config"
)

// TestAFileOfEventsHasNoEnvironment: the page says so in the language of who reads it, so that
// the name is empty.
func TestAFileOfEventsHasNoEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(file, []byte(`{"time": "2026-01-02T03:04:05Z", "step": "seed", "state": "started"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, name, err := serveOptions{from: environment.Flags{Files: []string{config.DefaultFile}}, events: file}.sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if name != "" || s.loaded != nil || s.missing == nil {
		t.Errorf("%q, %+v, %v", name, s.loaded, s.missing)
	}
}
