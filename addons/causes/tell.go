package causes

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/vain"
)

// id is a cause of a cluster.
type id struct{ reason, object string }

// seen is since when a cause was seen, and whether it was reported.
type seen struct {
	at   time.Time
	told bool
}

// memory has the causes of each cluster that were seen at the last check.
type memory map[types.NamespacedName]map[id]seen

// learn records the causes of a cluster, and returns those to be reported: once each, if waiting
// alone does not end them, and if they last, because controllers that start report some that go
// away.
func (m memory) learn(key types.NamespacedName, all []cause.Finding, now time.Time) (fresh []cause.Finding) {
	next := map[id]seen{}
	for _, f := range all {
		one := id{f.Reason, f.Object.String()}
		s, known := m[key][one]
		if !known {
			s.at = now
			if !f.Since.IsZero() && f.Since.Before(now) {
				s.at = f.Since
			}
		}
		if !s.told && (f.NeedsHelp() || f.Ending == cause.Final) && now.Sub(s.at) >= vain.Patience {
			s.told = true
			fresh = append(fresh, f)
		}
		next[one] = s
	}
	m[key] = next
	return fresh
}

// keep forgets all clusters but those.
func (m memory) keep(those map[types.NamespacedName][]cause.Finding) {
	for key := range m {
		if _, there := those[key]; !there {
			delete(m, key)
		}
	}
}

// longest is how much of a cause fits into an event.
const longest = 1000

// tell writes an event on a Cluster for each cause. The reason of the event is the cause's
// stable id.
func (w *watch) tell(cluster *unstructured.Unstructured, fresh []cause.Finding) {
	for _, f := range fresh {
		text := []rune(f.Object.String() + ": " + f.Cause)
		w.events.Event(cluster, corev1.EventTypeWarning, f.Reason, string(text[:min(len(text), longest)]))
	}
}

// tally counts clusters by cause. It is a Prometheus collector: there are as many series as reasons
// that were seen, whatever the number of clusters.
type tally struct {
	mu       sync.Mutex
	count    map[string]int
	at       time.Time
	clusters *prometheus.Desc
	looked   *prometheus.Desc
}

func newTally() *tally {
	return &tally{count: map[string]int{},
		clusters: prometheus.NewDesc("slipway_cluster_cause", "Clusters of Cluster API that are not available with a cause of this reason, without those of the Magnum API; docs/reference/reasons.md lists the reasons.", []string{"reason"}, nil),
		looked:   prometheus.NewDesc("slipway_cluster_cause_looked_timestamp_seconds", "When the clusters were last looked at.", nil, nil)}
}

// set replaces the counts. A cluster with two machines of the same reason counts once. A reason
// that no longer occurs stays with 0, so that alerts end.
func (t *tally) set(all map[types.NamespacedName][]cause.Finding, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for reason := range t.count {
		t.count[reason] = 0
	}
	for _, findings := range all {
		reasons := map[string]bool{}
		for _, f := range findings {
			reasons[f.Reason] = true
		}
		for reason := range reasons {
			t.count[reason]++
		}
	}
	t.at = at
}

// Describe implements prometheus.Collector.
func (t *tally) Describe(to chan<- *prometheus.Desc) {
	to <- t.clusters
	to <- t.looked
}

// Collect implements prometheus.Collector. A process that is not the leader reports nothing.
func (t *tally) Collect(to chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.IsZero() {
		return
	}
	to <- prometheus.MustNewConstMetric(t.looked, prometheus.GaugeValue, float64(t.at.UnixNano())/1e9)
	for reason, clusters := range t.count {
		to <- prometheus.MustNewConstMetric(t.clusters, prometheus.GaugeValue, float64(clusters), reason)
	}
}

// register adds the metrics to a registry. In tests, the registry may have them already.
func (t *tally) register(registry prometheus.Registerer) error {
	err := registry.Register(t)
	var already prometheus.AlreadyRegisteredError
	if err == nil || errors.As(err, &already) {
		return nil
	}
	return fmt.Errorf("registering metrics: %w", err)
}
