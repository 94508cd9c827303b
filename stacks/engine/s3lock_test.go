package engine_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/slipway-sh/slipway/internal/s3test"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestTheLockInS3: a second run is refused and told who holds the lock; when that has ended it
// runs.
//
// proves: F45
func TestTheLockInS3(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) string{
		"in memory": func(t *testing.T) string {
			server := httptest.NewServer(&store{objects: map[string][]byte{}})
			t.Cleanup(server.Close)
			return server.URL
		},
		"in a real server": func(t *testing.T) string { return "http://" + s3test.Start(t, "states").Address },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, c, folder := start(t), newCloud(), t.TempDir()
			first, second := inS3(t, options(c, folder, nil), address), inS3(t, options(c, folder, nil), address)
			up(t, first)
			ended := make(chan error, 1)
			go func() { _, err := first.Up(context.Background(), program("slow")); ended <- err }()
			<-c.began
			_, err := second.Up(t.Context(), program("a"))
			var locked *engine.Locked
			host, _ := os.Hostname()
			if !errors.As(err, &locked) || len(locked.Holders) != 1 || locked.Holders[0].Host != host || locked.Holders[0].PID == 0 {
				t.Errorf("second run: %v (%+v)", err, locked)
			}
			close(c.free)
			if err := <-ended; err != nil {
				t.Errorf("first run: %v", err)
			}
			up(t, second, "a")
		})
	}
}
