package scheduledbackup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/datastore"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// seedAttempts are how often the datastore is copied if machines come or go meanwhile.
const seedAttempts = 3

// fillSeed copies the datastore of the seed that this process runs on. A restore compares
// the servers of the backup with those that are there (`slipway recover`): so the list must
// be of the same moment, and a datastore without it is worth nothing.
func (m maker) fillSeed(ctx context.Context, w *backup.Writer, c *cloud.Cloud, away error) (*snapshot.Snapshot, error) {
	if away != nil {
		return nil, fmt.Errorf("listing the servers of the environment: %w", away)
	}
	s := &snapshot.Snapshot{Environment: m.settings.Environment, Slipway: component.SlipwayVersion()}
	var err error
	if s.Generation, err = restore.Current(ctx, m.client); err != nil {
		return nil, err
	}
	version, err := m.client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the seed for its version: %w", err)
	}
	s.Kubernetes = version.GitVersion
	list := func() (snapshot.Inventory, error) { return capture.Inventory(ctx, c) }
	take := func(to io.Writer) error {
		return datastore.Take(ctx, datastore.Local{Root: m.settings.Machine}, m.folder, to)
	}
	if s.Cloud, err = steadily(m.settings.Environment, w, list, take); err != nil {
		return nil, err
	}
	s.Taken = time.Now().UTC()
	return s, nil
}

// steadily adds the datastore to a backup and returns what the cloud had at that moment: the
// servers of the environment are the same before and after.
func steadily(environment string, w *backup.Writer, list func() (snapshot.Inventory, error), take func(io.Writer) error) (snapshot.Inventory, error) {
	before, err := known(list())
	for attempt := 1; err == nil; attempt++ {
		if err = addDatastore(w, take); err != nil {
			break
		}
		var after snapshot.Inventory
		if after, err = known(list()); err != nil {
			break
		}
		moved := difference(environment, before, after)
		if len(moved) == 0 {
			return after, nil
		}
		if attempt == seedAttempts {
			return after, fault.New("datastore of the seed", fmt.Errorf("servers come and go while it is copied: %s", strings.Join(moved, ", ")), "the next attempt follows by itself; see with slipway status what the management cluster does")
		}
		before = after
	}
	return snapshot.Inventory{}, err
}

// known is a list that has the servers.
func known(all snapshot.Inventory, err error) (snapshot.Inventory, error) {
	if err == nil && len(all.Missing) > 0 {
		err = errors.New(strings.Join(all.Missing, "; "))
	}
	if err != nil {
		return all, fmt.Errorf("listing the servers of the environment: %w", err)
	}
	return all, nil
}

// addDatastore lets the copy flow into the backup.
func addDatastore(w *backup.Writer, take func(io.Writer) error) error {
	from, to := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = to.CloseWithError(take(to)) // nil is the end of the file
	}()
	_, err := w.AddFile(backup.FileDatastore, from)
	_ = from.CloseWithError(errors.Join(errors.New("the backup takes no more"), err))
	<-ended
	return err
}

// difference names the servers of an environment that are in one list only. Those of tenants
// have other names, and are not in the seed's datastore.
func difference(environment string, before, after snapshot.Inventory) []string {
	names := map[string]string{}
	for _, s := range before.Servers {
		names[s.ID] = s.Name
	}
	for _, s := range after.Servers {
		if _, both := names[s.ID]; both {
			delete(names, s.ID)
		} else {
			names[s.ID] = s.Name
		}
	}
	maps.DeleteFunc(names, func(_, name string) bool { return !strings.HasPrefix(name, environment+"-") })
	return slices.Sorted(maps.Values(names))
}
