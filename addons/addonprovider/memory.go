package addonprovider

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

const (
	// maxDelay bounds the delay between attempts.
	maxDelay = 10 * time.Minute
	// maxKindDelay bounds the delay if a kind is missing that another addon may install.
	maxKindDelay = time.Minute
)

// memory is what a reconciler knows about addons beyond their status. It is lost when the process
// ends; a new process relies on the status.
type memory struct {
	retryDelay time.Duration
	now        func() time.Time

	mu    sync.Mutex
	byKey map[types.NamespacedName]*note
}

type note struct {
	// verified is the digest that was last found deployed, and next the time of the next check.
	verified string
	next     time.Time
	// failures counts the failed attempts; failed and generation are what they were about, and
	// retry is when the next one is due.
	failures   int
	failed     string
	generation int64
	retry      time.Time
	// removing is whether the last attempt was an uninstallation of the release.
	removing bool
	// uninstalled is whether the release of the addon with this UID is gone: another addon may take
	// its name before the deletion is noticed.
	uninstalled bool
	uid         types.UID
	// kindMissing is whether the last attempt failed because of a missing kind.
	kindMissing bool
	cluster     types.NamespacedName
}

func newMemory(retryDelay time.Duration) *memory {
	return &memory{retryDelay: retryDelay, now: time.Now, byKey: map[types.NamespacedName]*note{}}
}

func (m *memory) note(key types.NamespacedName) *note {
	n, ok := m.byKey[key]
	if !ok {
		n = &note{}
		m.byKey[key] = n
	}
	return n
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}

// due is 0 where a job is due, or the time until then, below zero for never; and
// whether that is because the digest is known to be deployed.
// After a restart the status counts: an addon that was deployed with that digest
// is compared with its cluster within a resync period, not at once.
func (m *memory) due(key types.NamespacedName, object addon, digest string, resync time.Duration) (wait time.Duration, deployed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, status := m.note(key), object.AddonStatus()
	if n.verified == "" && status.Phase == v1alpha1.PhaseDeployed && status.Digest == digest && pinned(object, status) {
		n.verified = digest
		n.next = m.now().Add(time.Duration(rand.Float64() * float64(resync)))
	}
	switch {
	case n.failed == digest && n.generation == object.GetGeneration() && n.failures > 0:
		return max(n.retry.Sub(m.now()), 0), false
	case n.verified != digest || status.Digest != digest || !pinned(object, status): // or the status was not written
		return 0, false
	case resync < 0:
		return -1, true
	}
	return max(n.next.Sub(m.now()), 0), true
}

// pinned reports whether the chart that is deployed is the one that the spec pins.
func pinned(object addon, status *v1alpha1.AddonStatus) bool {
	release, ok := object.(*v1alpha1.HelmRelease)
	return !ok || release.Spec.Chart.Digest == "" || status.ChartDigest == "" || release.Spec.Chart.Digest == status.ChartDigest
}

// succeeded records that a digest is deployed.
func (m *memory) succeeded(key types.NamespacedName, digest string, resync time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Spread, so that what was deployed together is not compared together.
	period := time.Duration((0.9 + 0.2*rand.Float64()) * float64(resync))
	m.byKey[key] = &note{verified: digest, next: m.now().Add(period)}
}

// gone records that the release of an addon was uninstalled.
func (m *memory) gone(key types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byKey[key] = &note{uninstalled: true, uid: uid}
}

func (m *memory) uninstalled(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.byKey[key]
	return ok && n.uninstalled && n.uid == uid
}

// failure is a failed attempt.
type failure struct {
	digest      string
	generation  int64
	cluster     types.NamespacedName
	kindMissing bool
	// removing is of an attempt to uninstall.
	removing bool
	// permanent failures are retried only after the resync period.
	permanent time.Duration
	// notBefore is the earliest time of the next attempt, or zero.
	notBefore time.Time
}

// fail records a failure and returns how many there were in a row and the delay until the next
// attempt. The delay doubles with each failure.
func (m *memory) fail(key types.NamespacedName, f failure) (int, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.note(key)
	if n.failed != f.digest || n.generation != f.generation || n.removing != f.removing {
		n.failures = 0
	}
	n.failures++
	n.failed, n.generation, n.verified, n.kindMissing, n.cluster, n.removing = f.digest, f.generation, "", f.kindMissing, f.cluster, f.removing
	limit := maxDelay
	if f.kindMissing {
		limit = maxKindDelay
	}
	delay := m.retryDelay << min(n.failures-1, 10)
	if delay <= 0 || delay > limit {
		delay = limit
	}
	delay = time.Duration((0.8 + 0.4*rand.Float64()) * float64(delay))
	if f.permanent > 0 {
		delay = f.permanent
	}
	n.retry = m.now().Add(delay)
	if n.retry.Before(f.notBefore) {
		n.retry = f.notBefore
		delay = n.retry.Sub(m.now())
	}
	return n.failures, delay
}

// wait is the time until the next attempt to uninstall. Failures to deploy do not delay it.
func (m *memory) wait(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.byKey[key]; ok && n.removing && n.failures > 0 {
		return max(n.retry.Sub(m.now()), 0)
	}
	return 0
}

// waitingForKinds makes those addons of a cluster due that wait for a kind, and returns them:
// another addon may just have installed it.
func (m *memory) waitingForKinds(cluster types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []types.NamespacedName
	for key, n := range m.byKey {
		if n.kindMissing && n.cluster == cluster {
			n.retry = m.now()
			keys = append(keys, key)
		}
	}
	return keys
}
