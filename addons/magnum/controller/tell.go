package controller

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
)

// causes remembers what is wrong with each cluster, for metrics and events. It is a
// collector of Prometheus.
type causes struct {
	mu sync.Mutex
	of map[types.NamespacedName][]observe.Cause
	// clusters is the metric.
	clusters *prometheus.Desc
}

func newCauses() *causes {
	return &causes{of: map[types.NamespacedName][]observe.Cause{},
		clusters: prometheus.NewDesc("slipway_clusters_with_cause", "Clusters of the Magnum API with a cause of this reason; docs/reference/reasons.md lists the reasons.", []string{"reason"}, nil)}
}

// learn replaces what is wrong with a cluster, and returns what is new.
func (c *causes) learn(key types.NamespacedName, now []observe.Cause) []observe.Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.of[key]
	if len(now) == 0 {
		delete(c.of, key)
		return nil
	}
	c.of[key] = slices.Clone(now)
	var fresh []observe.Cause
	for _, one := range now {
		if !slices.ContainsFunc(before, func(b observe.Cause) bool { return b.Reason == one.Reason && b.Object == one.Object }) {
			fresh = append(fresh, one)
		}
	}
	return fresh
}

// Describe is for Prometheus.
func (c *causes) Describe(to chan<- *prometheus.Desc) { to <- c.clusters }

// Collect counts clusters by reason: one with two machines of the same reason once.
func (c *causes) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[string]int{}
	for _, list := range c.of {
		reasons := map[string]bool{}
		for _, one := range list {
			reasons[one.Reason] = true
		}
		for reason := range reasons {
			count[reason]++
		}
	}
	for reason, clusters := range count {
		to <- prometheus.MustNewConstMetric(c.clusters, prometheus.GaugeValue, float64(clusters), reason)
	}
}

// register adds the metric to a registry, which in tests may have it already.
func (c *causes) register(registry prometheus.Registerer) error {
	err := registry.Register(c)
	var already prometheus.AlreadyRegisteredError
	if err == nil || errors.As(err, &already) {
		return nil
	}
	return fmt.Errorf("registering metrics: %w", err)
}

// tell writes an event on the cluster for each cause that is new and that waiting alone
// does not end, and the same on the Cluster of Cluster API, for the operator. The reason of
// the event is the cause's stable id.
func (p *pass) tell() {
	for _, c := range p.known.learn(p.key, p.state.Causes) {
		if c.Hopeless || c.Final {
			p.events.Event(p.cluster, corev1.EventTypeWarning, c.Reason, c.String())
			if p.objects.Cluster != nil {
				p.events.Event(p.objects.Cluster, corev1.EventTypeWarning, c.Reason, c.String())
			}
		}
	}
}
