package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/ui"
)

// stateFolder is where the environment keeps its state.
const stateFolder = ".slipway"

// ownerFile is where package localseed keeps the mark of the seed while there is one.
const ownerFile = stateFolder + "/local-seed-owner"

// removeSeed deletes the seed on this machine that an interrupted up left. The mark in the
// folder tells whose it is: one of another environment of the name stays.
func (o options) removeSeed(ctx context.Context, streams ui.Streams) error {
	text, err := os.ReadFile(filepath.Join(o.dir, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the mark of the local seed: %w", err)
	}
	owner := strings.TrimSpace(string(text))
	environment, _, _ := strings.Cut(owner, "@")
	name := localseed.Name(environment)
	provider, err := o.seeds(ctx)
	if err != nil {
		return err
	}
	found, err := provider.Find(ctx, name)
	if err != nil || found == nil {
		return err
	}
	if found.Owner != owner && (found.Owner != "" || found.Finished) {
		return nil
	}
	fmt.Fprintf(streams.Err, "\n$ kind delete cluster --name %s\n", name)
	return provider.Delete(ctx, name)
}
