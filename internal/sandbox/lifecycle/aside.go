package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// asideFolder has the folders of the machines that are set aside; no id begins with a dot.
const asideFolder = ".aside"

func (m *Servers[S]) aside(id string) string { return filepath.Join(m.Folder, asideFolder, id) }

// isAside tells whether a machine is set aside.
func (m *Servers[S]) isAside(id string) (bool, error) {
	_, err := os.Stat(m.aside(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// idsAside are the machines that are set aside.
func (m *Servers[S]) idsAside() ([]string, error) {
	ids, err := folders(filepath.Join(m.Folder, asideFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ids, err
}

func (m *Servers[S]) loadAside(id string) (S, error) {
	return m.read(id, filepath.Join(m.aside(id), m.Record))
}

// SetAside ends a machine and keeps it with its disk until BringBack: meanwhile another
// one can be made under its id. Called again it does nothing.
func (m *Servers[S]) SetAside(ctx context.Context, id string) error {
	return m.try(ctx, "setting aside", id, func(s S, err error) error {
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !gone {
			return err
		}
		if done, err := m.isAside(id); done || err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(m.aside(id)), 0o700); err != nil {
			return fmt.Errorf("making folder: %w", err)
		}
		if gone { // it has no disk: an empty folder says so
			return os.Mkdir(m.aside(id), 0o700)
		}
		if err := s.Stop(ctx, true); err != nil {
			return err
		}
		if err := s.Release(ctx, false); err != nil {
			return err
		}
		return os.Rename(m.Path(id, ""), m.aside(id))
	})
}

// BringBack removes the machine that was made meanwhile, and brings the one back that
// was set aside, without the ports and volumes that the spec does not have any more.
// Start runs it, or Create if it never had a disk. Called again it does nothing.
func (m *Servers[S]) BringBack(ctx context.Context, spec machine.Spec) error {
	return m.try(ctx, "bringing back", spec.ID, func(s S, err error) error {
		waits, e := m.isAside(spec.ID)
		if e != nil {
			return e
		}
		if waits {
			if err := m.replace(ctx, s, err); err != nil {
				return err
			}
			s, err = m.Load(spec.ID)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		s.Fit(spec)
		return m.Save(s)
	})
}

// replace puts a machine that was set aside in the place of the one that was made
// meanwhile. Disks of the machine's own belong to the first one.
func (m *Servers[S]) replace(ctx context.Context, s S, err error) error {
	id := s.ID()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.RemoveAll(m.Path(id, ""))
	case err == nil:
		if err = s.Release(ctx, false); err == nil {
			err = m.Discard(m.Path(id, ""))
		}
	}
	if err != nil {
		return err
	}
	m.imageUse.RLock() // who looks for images in use finds it in one of the two places
	defer m.imageUse.RUnlock()
	return os.Rename(m.aside(id), m.Path(id, ""))
}

// removeAside removes a machine that is set aside.
func (m *Servers[S]) removeAside(ctx context.Context, id string) error {
	if waits, err := m.isAside(id); !waits || err != nil {
		return err
	}
	s, err := m.loadAside(id)
	if err == nil {
		err = m.removeLocal(ctx, s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.Discard(m.aside(id))
}

// usedAside adds the images that machines need which are set aside; it reports whether
// it knows them all.
func (m *Servers[S]) usedAside(used map[string]bool) (bool, error) {
	ids, err := m.idsAside()
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		s, err := m.loadAside(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it never had a disk
		}
		if err != nil {
			return false, nil
		}
		used[s.ImageName()] = true
	}
	return true, nil
}
