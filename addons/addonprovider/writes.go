package addonprovider

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// writes knows the version in which each addon's status was last written, until the cache has that
// version. A status is patched with the difference to the one that was read: if a step worked on an
// older status, the result would be half of each.
type writes struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]string
}

func newWrites() *writes {
	return &writes{byKey: map[types.NamespacedName]string{}}
}

func (w *writes) wrote(key types.NamespacedName, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byKey[key] = version
}

func (w *writes) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byKey, key)
}

// awaited reports whether a version may be older than the last one written.
func (w *writes) awaited(key types.NamespacedName, version string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrote, ok := w.byKey[key]
	if wrote == version {
		delete(w.byKey, key)
	}
	return ok && wrote != version
}

// read returns an addon from the cache, or from the API server while the cache lacks what was
// written last.
func (r *reconciler) read(ctx context.Context, key types.NamespacedName) (addon, error) {
	cached := r.newAddon()
	if err := r.client.Get(ctx, key, cached); err != nil {
		return nil, err
	}
	if !r.writes.awaited(key, cached.GetResourceVersion()) {
		return cached, nil
	}
	object := r.newAddon()
	if err := r.live.Get(ctx, key, object); err != nil {
		return nil, err
	}
	if object.GetResourceVersion() == cached.GetResourceVersion() {
		r.writes.forget(key) // somebody else wrote after it
	}
	return object, nil
}
