package recover

import (
	"context"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/config"
)

// Vault reads from the backups of the environment.
func Vault(ctx context.Context, loaded *config.Loaded, w Wanted) (string, *snapshot.Snapshot, error) {
	repository, err := vault.Open(ctx, loaded, w.From)
	if err != nil {
		return "", nil, err
	}
	latest, err := repository.Latest(ctx, w.At)
	if err != nil {
		return "", nil, err
	}
	s, err := repository.Read(ctx, latest.ID, w.Identities...)
	if err != nil {
		return latest.ID, nil, err
	}
	return latest.ID, s, nil
}
