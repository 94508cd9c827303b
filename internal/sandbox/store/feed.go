package store

import (
	"context"
	"sync"
)

// Feed tells which records of a table changed. It says that an id is to be
// looked at, not what happened to it: changes of one record that were not yet
// read are one, and writers never wait for readers. A feed has one reader.
type Feed struct {
	mu      sync.Mutex
	pending []string
	dirty   map[string]struct{}
	wake    chan struct{}
	close   func()
}

// Next returns the id of a record that changed, waiting for one. Its error is
// that of the context.
func (f *Feed) Next(ctx context.Context) (string, error) {
	for {
		if id, ok := f.pop(); ok {
			return id, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-f.wake:
		}
	}
}

// Close ends the subscription.
func (f *Feed) Close() { f.close() }

func (f *Feed) pop() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == 0 {
		return "", false
	}
	id := f.pending[0]
	f.pending = f.pending[1:]
	delete(f.dirty, id)
	return id, true
}

func (f *Feed) add(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.dirty[id]; ok {
		return
	}
	f.dirty[id] = struct{}{}
	f.pending = append(f.pending, id)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
