package addonprovider

import (
	"errors"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// Options are the settings of the addon provider. The zero value of each field
// means what its comment says.
type Options struct {
	// Namespace restricts the provider to addons in one namespace. Empty: all.
	Namespace string
	// ChartsDir is a folder of charts with an index (package charts), such as
	// the bundle's. Empty: none.
	ChartsDir string
	// CacheDir keeps charts that were fetched from repositories. Required.
	CacheDir string
	// CacheSize bounds the cache, in bytes. 0: 512 MiB.
	CacheSize int64
	// Offline refuses repositories: only ChartsDir and the cache are used.
	Offline bool
	// Mirrors replaces the beginning of repository addresses: the longest key
	// that fits is replaced by its value. Nil: none.
	Mirrors map[string]string
	// TrustBundleFile has PEM certificates by which chart repositories are also trusted, besides
	// the system's. Empty: the system's only.
	TrustBundleFile string
	// DefaultTimeout is how long a change of a release may take if the addon does not set it.
	// 0: 1 h.
	DefaultTimeout time.Duration
	// ResyncPeriod is how often deployed releases are compared with what is on the target, and
	// permanent failures retried. 0: 1 h; negative: never.
	ResyncPeriod time.Duration
	// RetryDelay is the first delay after a failure; it doubles up to 10 min.
	// 0: 15 s.
	RetryDelay time.Duration
	// MaxConcurrent bounds how many releases are worked on at a time, not counting those that only
	// wait for readiness. 0: 4.
	MaxConcurrent int
	// MaxConcurrentPerCluster is the same for one cluster. 0: 2.
	MaxConcurrentPerCluster int
	// HistoryMax is how many revisions of a release are kept. 0: 10.
	HistoryMax int
	// RequestTimeout bounds a single request to a target cluster. 0: 30 s.
	RequestTimeout time.Duration
	// Clusters are the connections to target clusters, if others share them. Nil: they are made
	// from the options.
	Clusters *target.Clusters
}

// Connections returns connections to target clusters, made from the options. wrap is put around
// their transports; nil puts none.
func (o Options) Connections(wrap func(http.RoundTripper) http.RoundTripper) *target.Clusters {
	o.defaults()
	return target.NewClusters(o.RequestTimeout, o.MaxConcurrentPerCluster, o.MaxConcurrent).Wrapped(wrap)
}

// complete returns the options with defaults filled in.
func (o Options) complete() (Options, error) {
	if o.CacheDir == "" {
		return o, errors.New("the addon provider needs a cache folder for charts")
	}
	o.defaults()
	if o.Clusters == nil {
		o.Clusters = o.Connections(nil)
	}
	return o, nil
}

func (o *Options) defaults() {
	orDefault(&o.CacheSize, 512<<20)
	orDefault(&o.DefaultTimeout, time.Hour)
	orDefault(&o.ResyncPeriod, time.Hour)
	orDefault(&o.RetryDelay, 15*time.Second)
	orDefault(&o.MaxConcurrent, 4)
	orDefault(&o.MaxConcurrentPerCluster, 2)
	orDefault(&o.HistoryMax, 10)
	orDefault(&o.RequestTimeout, 30*time.Second)
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
