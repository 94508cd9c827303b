package engine

import (
	"slices"
	"sync"
	"time"
)

// fresh is how long a state that was read serves again. A reading is a process of the engine:
// a third of a second on a quick machine, ten seconds on a slow one, and a command wants to
// know the state up to nine times. What this process changes is read anew at once; this is
// about what another changes meanwhile, which an operation compares with itself.
const fresh = 2 * time.Minute

// sure is how old a reading may be when an attempt begins that turns out to change nothing. What
// somebody else changed between the two is not seen.
const sure = 15 * time.Second

// memory is the state as it was read last, until this process changes it.
type memory struct {
	mu   sync.Mutex
	list []Resource
	at   time.Time
	// changes counts their beginnings and ends: what was read before one is not kept after it.
	changes int
	// changing is how many have not ended.
	changing int
}

// recall returns what was read, if it is known, and the number of changes until now.
func (m *memory) recall() (list []Resource, known bool, changes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known = m.list != nil && time.Since(m.at) < fresh
	return slices.Clone(m.list), known, m.changes
}

// keep keeps what was read, unless the state changed since its reading began, or changes now.
func (m *memory) keep(list []Resource, changes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes == changes && m.changing == 0 {
		m.list, m.at = slices.Clone(list), time.Now()
	}
}

// change is called before each change, and what it returns after it.
func (m *memory) change() (ended func()) {
	m.forget(1)
	return func() { m.forget(-1) }
}

// attempt is called before what may change the state, and what it returns after it: if nothing was
// changed, what was read shortly before is still true.
func (m *memory) attempt() (ended func(changed bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, at := m.list, m.at
	if time.Since(at) > sure {
		list = nil
	}
	m.count(1)
	begun := m.changes
	return func(changed bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		alone := m.changes == begun
		m.count(-1)
		if !changed && alone {
			m.list, m.at = list, at
		}
	}
}

func (m *memory) forget(begun int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(begun)
}

// count needs the lock.
func (m *memory) count(begun int) {
	m.list = nil
	m.changes++
	m.changing += begun
}
