package upkeep

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// Whose a login is, or who uses an image.
const (
	ofEnvironment = "environment"
	ofCluster     = "cluster"
	ofTemplate    = "template"
)

// most is how many series there are at most of what grows with the number of clusters: those
// that end first.
const most = 50

// user is a login, or what uses an image.
type user struct{ of, name string }

// bad is an image that machines can no longer be made of, or soon not, with who uses it.
type bad struct{ image, state, of string }

// tally is what was seen last, as a collector of Prometheus.
type tally struct {
	mu      sync.Mutex
	ends    map[user]time.Time
	quotas  map[cloud.Service][]cloud.Quota
	images  map[bad]int
	orphans int
	// judged says that orphans were looked for.
	judged bool
	looked map[string]time.Time

	expiry, limit, used, retired, orphaned, at *prometheus.Desc
}

func newTally() *tally {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("slipway_"+name, help, labels, nil)
	}
	return &tally{ends: map[user]time.Time{}, quotas: map[cloud.Service][]cloud.Quota{}, images: map[bad]int{}, looked: map[string]time.Time{},
		expiry:   desc("credential_expiry_timestamp_seconds", "When a login to OpenStack ends, or when it was first refused: of the environment by its step, or of a cluster. Those without an end are left out, and of clusters all but the 50 that end first.", "of", "name"),
		limit:    desc("quota_limit", "Quota of the environment's project, unless there is no limit; ram is in MiB, gigabytes in GiB.", "resource"),
		used:     desc("quota_used", "What the environment's project has of a quota.", "resource"),
		retired:  desc("retired_image_users", "Clusters, or cluster templates of the Magnum API, with an image that was deactivated, deleted or hidden.", "image", "state", "of"),
		orphaned: desc("orphaned_clusters", "Clusters that do not exist and that have left at least a credential, which slipway sweep finds."),
		at:       desc("upkeep_looked_timestamp_seconds", "When this was last seen completely, or when the process began to look; a service that the cloud does not have is left out.", "what")}
}

// begin notes when the process began to look: what never answers is late from then on.
func (t *tally) begin(now time.Time, project bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.looked) > 0 {
		return
	}
	t.looked[lookedClusters] = now
	if project {
		t.looked[lookedTemplates] = now
		for service := range services() {
			t.looked[string(service)] = now
		}
	}
}

func (t *tally) lookedAt(what string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked[what] = now
}

// forget is of a service that the cloud does not have.
func (t *tally) forget(service string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.looked, service)
}

// setEnds replaces when logins end, by their names.
func (t *tally) setEnds(of string, ends map[string]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.ends, func(u user, _ time.Time) bool { return u.of == of })
	for name, at := range ends {
		if !at.IsZero() {
			t.ends[user{of, name}] = at
		}
	}
}

// refuse notes that a login is refused: it has ended now, unless its end was known.
func (t *tally) refuse(of, name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends[user{of, name}] = ended(t.ends[user{of, name}], now)
}

// ended is the end of a login that is refused.
func ended(known, now time.Time) time.Time {
	if known.IsZero() || known.After(now) {
		return now
	}
	return known
}

func (t *tally) setQuotas(service cloud.Service, all []cloud.Quota) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Key pairs are the user's, and are not counted.
	t.quotas[service] = slices.DeleteFunc(slices.Clone(all), func(q cloud.Quota) bool { return q.Service != service || q.Resource == "key_pairs" })
}

// setImages replaces the images of clusters, or of templates.
func (t *tally) setImages(of string, found map[bad]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.images, func(b bad, _ int) bool { return b.of == of })
	maps.Copy(t.images, found)
}

func (t *tally) setOrphans(count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.orphans, t.judged = count, true
}

// Describe is for Prometheus.
func (t *tally) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{t.expiry, t.limit, t.used, t.retired, t.orphaned, t.at} {
		to <- d
	}
}

// Collect is for Prometheus. A process that is not the leader has nothing to say.
func (t *tally) Collect(to chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for what, at := range t.looked {
		gauge(t.at, seconds(at), what)
	}
	users := slices.SortedFunc(maps.Keys(t.ends), func(a, b user) int {
		return cmp.Or(-cmp.Compare(a.of, b.of), t.ends[a].Compare(t.ends[b]), cmp.Compare(a.name, b.name)) // the environment first
	})
	for _, u := range users[:min(len(users), most)] {
		gauge(t.expiry, seconds(t.ends[u]), u.of, u.name)
	}
	for _, all := range t.quotas {
		for _, q := range all {
			gauge(t.used, float64(q.Used), q.Resource)
			if q.Limit >= 0 {
				gauge(t.limit, float64(q.Limit), q.Resource)
			}
		}
	}
	images := slices.SortedFunc(maps.Keys(t.images), func(a, b bad) int {
		return cmp.Or(t.images[b]-t.images[a], cmp.Compare(a.image, b.image), cmp.Compare(a.state, b.state), cmp.Compare(a.of, b.of))
	})
	for _, b := range images[:min(len(images), most)] {
		gauge(t.retired, float64(t.images[b]), b.image, b.state, b.of)
	}
	if t.judged {
		gauge(t.orphaned, float64(t.orphans))
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }

// register adds the metrics to a registry. It belongs to the process, so that a second watch,
// as in a test, replaces the first.
func (t *tally) register(registry prometheus.Registerer) error {
	err := registry.Register(t)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		registry.Unregister(already.ExistingCollector)
		err = registry.Register(t)
	}
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}
