// Package lifecycle is what drivers of every kind do with machines in the same way:
// each machine has a folder with a record, one operation at a time, and steps that can
// be repeated after a crash. What a machine is made of is the driver's own.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Server is one machine. It is a pointer to the record, which is kept as JSON.
type Server interface {
	// ID is that of the server in Nova's words.
	ID() string
	// Make records a machine that does not exist yet. After a crash it is called again.
	Make(ctx context.Context, spec machine.Spec) error
	// Start runs the machine. Each step looks at what is there; one that runs stays as
	// it is.
	Start(ctx context.Context) error
	// Stop ends the machine; its disks, ports and volumes stay. A gentle stop lets it
	// switch itself off first.
	Stop(ctx context.Context, gentle bool) error
	// Release takes from the host what the machine has there; its folder stays.
	Release(ctx context.Context, gentle bool) error
	// State is Running or Stopped.
	State(ctx context.Context) (machine.State, error)
	// Instance is what the metadata service tells of it, with the ports at which it asks.
	Instance() metadata.Instance
	// LocalDisks are the volumes that end with it.
	LocalDisks() []string
	// ImageName is the image of its disk, by the name in the driver's store; empty is none.
	ImageName() string
	// Fit removes the ports and volumes that a spec does not have.
	Fit(spec machine.Spec)
}

// Servers are the machines of one driver.
type Servers[S Server] struct {
	Site *site.Site
	// Folder has a folder for each machine; Record is the file of the record in it.
	Folder, Record string
	// New returns the machine of an id, without a record.
	New func(id string) S
	// Discard removes the folder of a deleted machine.
	Discard func(folder string) error
	// DropImages removes the images that are not in use.
	DropImages func(used map[string]bool) error

	mu    sync.Mutex
	locks map[string]*sync.Mutex
	// imageUse keeps images from being dropped while a machine is made of one.
	imageUse sync.RWMutex
}

// Lock keeps operations on one machine apart and returns the unlock.
func (m *Servers[S]) Lock(id string) func() {
	m.mu.Lock()
	if m.locks == nil {
		m.locks = map[string]*sync.Mutex{}
	}
	l := m.locks[id]
	if l == nil {
		l = &sync.Mutex{}
		m.locks[id] = l
	}
	m.mu.Unlock()
	l.Lock()
	return l.Unlock
}

// With runs f on a machine that has a record and that nothing else works on. doing is
// for the error: "attaching a port to".
func (m *Servers[S]) With(ctx context.Context, doing, id string, f func(s S) error) error {
	return m.try(ctx, doing, id, func(s S, err error) error {
		if err != nil {
			return err
		}
		return f(s)
	})
}

// WithAny is With that does nothing for a machine without a record.
func (m *Servers[S]) WithAny(ctx context.Context, doing, id string, f func(s S) error) error {
	return m.try(ctx, doing, id, func(s S, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return f(s)
	})
}

// try runs f with the error of loading the record.
func (m *Servers[S]) try(ctx context.Context, doing, id string, f func(s S, err error) error) error {
	defer m.Lock(id)()
	s, err := m.Load(id)
	if err := f(s, err); err != nil {
		return fmt.Errorf("%s server %s: %w", doing, id, err)
	}
	return context.Cause(ctx)
}

// Create makes the machine and starts it. Called again it continues where it failed; a
// machine that runs is left as it is. What the image or the flavor is to blame for is a
// machine.Refusal.
func (m *Servers[S]) Create(ctx context.Context, spec machine.Spec) error {
	return m.try(ctx, "creating", spec.ID, func(s S, err error) error {
		m.imageUse.RLock()
		defer m.imageUse.RUnlock()
		if errors.Is(err, fs.ErrNotExist) {
			err = s.Make(ctx, spec)
		}
		if err != nil {
			return err
		}
		m.Announce(s)
		return s.Start(ctx)
	})
}

// Start runs a machine that does not run.
func (m *Servers[S]) Start(ctx context.Context, id string) error {
	return m.With(ctx, "starting", id, func(s S) error {
		m.Announce(s)
		return s.Start(ctx)
	})
}

// Stop lets the machine switch itself off, and ends it if it does not.
func (m *Servers[S]) Stop(ctx context.Context, id string) error {
	return m.With(ctx, "stopping", id, func(s S) error { return s.Stop(ctx, true) })
}

// Reboot stops and starts the machine.
func (m *Servers[S]) Reboot(ctx context.Context, id string, hard bool) error {
	return m.With(ctx, "rebooting", id, func(s S) error {
		if err := s.Stop(ctx, !hard); err != nil {
			return err
		}
		return s.Start(ctx)
	})
}

// Delete removes the machine, its ports and its disks. Volumes stay.
func (m *Servers[S]) Delete(ctx context.Context, id string) error {
	err := m.try(ctx, "deleting", id, func(s S, err error) error {
		if err := m.remove(ctx, s, err); err != nil {
			return err
		}
		return m.removeAside(ctx, id)
	})
	if err != nil {
		return err
	}
	m.Site.Forget(id)
	return m.dropImages()
}

// remove takes from the host what a machine has there, and removes its disks. The error
// is that of loading its record.
func (m *Servers[S]) remove(ctx context.Context, s S, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		// Nothing was recorded, so nothing was made but the folder.
		return os.RemoveAll(m.Path(s.ID(), ""))
	}
	if err == nil {
		err = s.Release(ctx, false)
	}
	if err == nil {
		err = m.removeLocal(ctx, s)
	}
	if err != nil {
		return err
	}
	return m.Discard(m.Path(s.ID(), ""))
}

// removeLocal removes the volumes that end with a machine.
func (m *Servers[S]) removeLocal(ctx context.Context, s S) error {
	for _, disk := range s.LocalDisks() {
		if err := m.Site.Disks.DeleteVolume(ctx, disk); err != nil {
			return err
		}
	}
	return nil
}

// dropImages removes the images that no machine needs.
func (m *Servers[S]) dropImages() error {
	m.imageUse.Lock()
	defer m.imageUse.Unlock()
	ids, err := m.IDs()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, id := range ids {
		s, err := m.Load(id)
		if err != nil {
			return nil // it may need any of them: the next deletion looks again
		}
		used[s.ImageName()] = true
	}
	if known, err := m.usedAside(used); err != nil || !known {
		return err
	}
	return m.DropImages(used)
}

// State is that of a machine; one without a record is gone. It is asked for again and again while a
// machine runs, so that its console is shortened here.
func (m *Servers[S]) State(ctx context.Context, id string) (machine.State, error) {
	s, err := m.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return machine.Gone, nil
	}
	if err != nil {
		return "", err
	}
	m.ShortenConsole(id)
	return s.State(ctx)
}

// ShortenConsole keeps only the end of what the machine wrote to its console, as Nova does. What cannot
// be shortened now is the next time.
func (m *Servers[S]) ShortenConsole(id string) { _ = process.KeepEnd(m.Path(id, "console.log")) }

// List returns the machines that have a folder, or are set aside.
func (m *Servers[S]) List(context.Context) ([]string, error) {
	ids, err := m.IDs()
	if err != nil {
		return nil, err
	}
	waiting, err := m.idsAside()
	if err != nil {
		return nil, err
	}
	ids = append(ids, waiting...)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Console returns the last lines of what the machine wrote to its console.
func (m *Servers[S]) Console(_ context.Context, id string, lines int) (string, error) {
	if _, err := m.Load(id); err != nil {
		return "", fmt.Errorf("reading the console of server %s: %w", id, err)
	}
	return process.Tail(m.Path(id, "console.log"), lines)
}

// Announce tells the site, for its metadata service, where a machine is.
func (m *Servers[S]) Announce(s S) {
	id := s.ID()
	m.Site.Note(id, s.Instance().Ports, func() (metadata.Instance, bool) {
		s, err := m.Load(id)
		if err != nil {
			return metadata.Instance{}, false
		}
		return s.Instance(), true
	})
}

// Adopt announces the machines of an earlier process.
func (m *Servers[S]) Adopt() error {
	ids, err := m.IDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := m.Load(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it died before there was a record; Delete or Create will find it
		}
		if err != nil {
			return fmt.Errorf("adopting machine %s: %w", id, err)
		}
		m.Announce(s)
	}
	return nil
}

// End ends all machines on the host, also those that an earlier process left, side by
// side. It tries all; their disks stay.
func (m *Servers[S]) End(ctx context.Context) error {
	ids, err := m.IDs()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			e := m.WithAny(ctx, "ending", id, func(s S) error { return s.Release(ctx, true) })
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, e)
		})
	}
	all.Wait()
	return err
}
