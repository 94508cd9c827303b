// Package backuptest is a target in memory, whose faults tests choose, and snapshots
// to write.
package backuptest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/target"
)

// Memory is a target in memory.
type Memory struct {
	// Fault, if set, is asked before each call; its error is the call's.
	Fault func(ctx context.Context, verb, name string) error

	mu      sync.Mutex
	objects map[string]object
	now     time.Time
}

type object struct {
	content  []byte
	modified time.Time
}

// NewMemory returns an empty target whose clock shows now.
func NewMemory(now time.Time) *Memory { return &Memory{objects: map[string]object{}, now: now} }

// Set moves the clock.
func (m *Memory) Set(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = now
}

// Objects returns a copy of all that is stored.
func (m *Memory) Objects() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string][]byte{}
	for name, o := range m.objects {
		all[name] = bytes.Clone(o.content)
	}
	return all
}

// Forge replaces an object, which no method of a target can; nil removes it.
func (m *Memory) Forge(name string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if content == nil {
		delete(m.objects, name)
		return
	}
	m.objects[name] = object{bytes.Clone(content), m.objects[name].modified}
}

func (m *Memory) call(ctx context.Context, verb, name string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if m.Fault != nil {
		return m.Fault(ctx, verb, name)
	}
	return nil
}

// String is the name of the target.
func (m *Memory) String() string { return "memory://" }

// Put stores an object.
func (m *Memory) Put(ctx context.Context, name string, content []byte) error {
	if err := m.call(ctx, "put", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.objects[name]; ok {
		return fmt.Errorf("%s: %w", name, target.ErrExists)
	}
	m.objects[name] = object{bytes.Clone(content), m.now}
	return nil
}

// Get streams an object.
func (m *Memory) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := m.call(ctx, "get", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, target.ErrAbsent)
	}
	return io.NopCloser(bytes.NewReader(o.content)), nil
}

// List lists objects.
func (m *Memory) List(ctx context.Context, prefix string) (all []target.Entry, err error) {
	if err := m.call(ctx, "list", prefix); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(name, prefix) {
			all = append(all, target.Entry{Name: name, Size: int64(len(m.objects[name].content)), Modified: m.objects[name].modified})
		}
	}
	return all, nil
}

// Delete removes an object.
func (m *Memory) Delete(ctx context.Context, name string) error {
	if err := m.call(ctx, "delete", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}
