package controller

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// aTrouble is what the memory calls the present trouble of a cluster, whatever its words:
// they change while it lasts.
const aTrouble = "trouble"

// memory is when what is not well with clusters was first met. It is safe for concurrent
// use, and its zero value is empty. It does not outlast the process: after a restart
// patience begins anew.
type memory struct {
	mu    sync.Mutex
	known map[types.NamespacedName]map[string]time.Time
}

// met is when something of a cluster was first met: now, if it is new.
func (m *memory) met(key types.NamespacedName, what string, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.known[key][what]; ok {
		return at
	}
	if m.known == nil {
		m.known = map[types.NamespacedName]map[string]time.Time{}
	}
	if m.known[key] == nil {
		m.known[key] = map[string]time.Time{}
	}
	m.known[key][what] = now
	return now
}

// keep forgets what is no more of a cluster.
func (m *memory) keep(key types.NamespacedName, present func(what string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.known[key], func(what string, _ time.Time) bool { return !present(what) })
	if len(m.known[key]) == 0 {
		delete(m.known, key)
	}
}

// forget forgets a cluster.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}
