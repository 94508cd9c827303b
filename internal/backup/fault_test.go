package backup_test

import (
	"context"
	"errors"
	"testing"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/target"
)

// TestATargetThatFails: whatever the target does at whatever call, the cause is its
// own, and nothing half is listed.
func TestATargetThatFails(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"full": target.ErrFull, "denied": target.ErrDenied, "slow": target.ErrSlow, "unreachable": errors.New("connection refused")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call := 1; ; call++ {
				w, s := newWorld(t), backuptest.Snapshot(1, begin)
				calls := 0
				w.memory.Fault = func(context.Context, string, string) error {
					if calls++; calls >= call {
						return cause
					}
					return nil
				}
				r, err := backup.Open(t.Context(), w.memory, w.options)
				if err == nil {
					_, err = r.Write(t.Context(), s)
				}
				w.memory.Fault = nil
				all, listing := w.open(t).List(t.Context())
				if err == nil {
					if len(all) != 1 || call < 8 {
						t.Errorf("%d backups after %d calls", len(all), call)
					}
					return
				}
				if !errors.Is(err, cause) || listing != nil || len(all) != 0 {
					t.Fatalf("call %d: %v; %d are listed (%v)", call, err, len(all), listing)
				}
			}
		})
	}
}
