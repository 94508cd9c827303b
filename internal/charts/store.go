package charts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Errors that only a change by a user takes away.
var (
	// ErrDigest is an archive that is not what was asked for.
	ErrDigest = errors.New("the chart has a different digest")
	// ErrInvalid is an archive that is no chart.
	ErrInvalid = errors.New("the chart is invalid")
	// ErrOffline is a chart that is not at hand while repositories are not to
	// be used.
	ErrOffline = errors.New("the chart is neither in the bundle nor in the cache, and repositories are turned off")
)

// retryAfter is how long a failure to fetch a chart is answered from memory, so
// that many releases of one missing chart do not each ask the repository.
const retryAfter = 10 * time.Second

// Options are the settings of a store.
type Options struct {
	// Dir is a folder of charts with an index, or empty.
	Dir string
	// CacheDir and CacheSize (bytes) are of the cache of fetched charts.
	CacheDir  string
	CacheSize int64
	// Offline refuses repositories.
	Offline bool
	// Mirrors replaces the beginnings of addresses.
	Mirrors map[string]string
	// TrustBundleFile has PEM certificates to trust besides the system's.
	TrustBundleFile string
}

// Store finds charts. It is safe for concurrent use.
type Store struct {
	options Options
	index   *Index
	cache   cache
	flights singleflight.Group

	mu       sync.Mutex
	failures map[string]failure
}

type failure struct {
	at  time.Time
	err error
}

// NewStore returns a store, with the index of its folder read.
func NewStore(options Options) (*Store, error) {
	s := &Store{options: options, index: &Index{}, cache: cache{options.CacheDir, options.CacheSize}, failures: map[string]failure{}}
	if options.Dir != "" {
		var err error
		if s.index, err = ReadIndex(options.Dir); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(options.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("creating cache of charts: %w", err)
	}
	return s, nil
}

// Load returns a chart and the digest of its archive. Errors are ErrDigest,
// ErrInvalid, ErrOffline, or may go away by themselves.
func (s *Store) Load(ctx context.Context, reference Reference) (*chart.Chart, string, error) {
	archive, err := s.archive(ctx, reference)
	if err != nil {
		return nil, "", fmt.Errorf("chart %s: %w", reference, err)
	}
	digest := Digest(archive)
	if reference.Digest != "" && reference.Digest != digest {
		return nil, "", fmt.Errorf("chart %s: %w: %s instead of %s", reference, ErrDigest, digest, reference.Digest)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err == nil {
		err = action.CheckDependencies(loaded, loaded.Metadata.Dependencies)
	}
	if err == nil && loaded.Metadata.Name != reference.Name {
		err = fmt.Errorf("its name is %q", loaded.Metadata.Name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("chart %s: %w: %w", reference, ErrInvalid, err)
	}
	return loaded, digest, nil
}

func (s *Store) archive(ctx context.Context, reference Reference) ([]byte, error) {
	if entry, ok := s.index.Find(reference); ok {
		return readVerified(filepath.Join(s.options.Dir, entry.File), entry.Digest)
	}
	key := cacheKey(reference)
	if archive, ok := s.cache.get(key, reference.Digest); ok {
		return archive, nil
	}
	if s.options.Offline {
		return nil, ErrOffline
	}
	if err := s.recent(key); err != nil {
		return nil, err
	}
	// One download serves all who wait for it; it outlives who asked first.
	result := s.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
		defer cancel()
		archive, err := s.fetch(ctx, reference)
		if err == nil {
			err = s.cache.put(key, archive)
		}
		s.remember(key, err)
		return archive, err
	})
	select {
	case r := <-result:
		archive, _ := r.Val.([]byte)
		return archive, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) recent(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.failures[key]; ok && time.Since(f.at) < retryAfter {
		return f.err
	}
	delete(s.failures, key)
	return nil
}

func (s *Store) remember(key string, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[key] = failure{time.Now(), err}
}

func (s *Store) fetch(ctx context.Context, reference Reference) ([]byte, error) {
	client, err := newHTTPClient(s.options.TrustBundleFile)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	address := s.mirrored(reference.Repository)
	var archive []byte
	if rest, ok := strings.CutPrefix(address, "oci://"); ok {
		archive, err = fetchOCI(ctx, client, rest, reference)
	} else {
		archive, err = fetchHTTP(ctx, client, address, reference)
	}
	if err != nil {
		return nil, err
	}
	if digest := Digest(archive); reference.Digest != "" && digest != reference.Digest {
		return nil, fmt.Errorf("%w: %s instead of %s", ErrDigest, digest, reference.Digest)
	}
	return archive, nil
}

// mirrored is the address with its longest known beginning replaced.
func (s *Store) mirrored(address string) string {
	longest := ""
	for from := range s.options.Mirrors {
		if len(from) > len(longest) && strings.HasPrefix(address, from) {
			longest = from
		}
	}
	if longest == "" {
		return address
	}
	return s.options.Mirrors[longest] + strings.TrimPrefix(address, longest)
}

func readVerified(path, digest string) ([]byte, error) {
	archive, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading chart: %w", err)
	}
	if have := Digest(archive); have != digest {
		return nil, fmt.Errorf("%w: %s has %s instead of %s", ErrDigest, filepath.Base(path), have, digest)
	}
	return archive, nil
}

// Digest is the digest of an archive, sha256:<hex>.
func Digest(archive []byte) string {
	sum := sha256.Sum256(archive)
	return digestPrefix + hex.EncodeToString(sum[:])
}
