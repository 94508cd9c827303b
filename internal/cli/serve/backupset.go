package serve

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/fault"
)

// backupSet makes backups of the management cluster.
func backupSet() set {
	file := ""
	var settings scheduledbackup.Settings
	return set{
		name: "backup", what: "makes backups of this cluster at an interval, if --backup-settings is given",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&file, "backup-settings", "", "file with the target, the interval, the recipients and the writer's key (default: no backups)")
		},
		validate: func() error {
			if file == "" {
				return nil
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return fault.Usage("--backup-settings", err, "give a readable file")
			}
			if settings, err = scheduledbackup.ParseSettings(text); err != nil {
				return fault.Usage("--backup-settings "+file, err, "give the file that slipway up writes")
			}
			return nil
		},
		scheme: func(*runtime.Scheme) error { return nil },
		setup: func(m manager.Manager, g *barrier) error {
			if file == "" {
				return nil
			}
			return scheduledbackup.Setup(m, scheduledbackup.Options{Settings: settings, UserAgent: environment.UserAgent(), Wrap: g.wrap(), Allowed: g.allowed})
		},
	}
}

// allowed is why this process may not write now.
func (b *barrier) allowed(ctx context.Context) error {
	if b == nil {
		return nil
	}
	if err := b.watch.Allowed(ctx); err != nil {
		return fmt.Errorf("the fence is closed: %w", err)
	}
	return nil
}
