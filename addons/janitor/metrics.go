package janitor

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// meters are the janitor's metrics. The first has upstream's name and labels.
type meters struct {
	cleanups *prometheus.CounterVec
	removed  *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
}

func newMeters(registry prometheus.Registerer) (meters, error) {
	m := meters{
		cleanups: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "capi_janitor_cleanups_total",
			Help: "Completed clean-ups of clusters and failed attempts, by result: success, failure or released."}, []string{"result"}),
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "capi_janitor_removed_total",
			Help: "Resources in OpenStack whose deletion was accepted, by kind."}, []string{"kind"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "capi_janitor_waiting_clusters",
			Help: "Deleted clusters that are not cleaned up yet, by the reason of their condition."}, []string{"reason"}),
	}
	for _, result := range []string{"success", "failure", "released"} {
		m.cleanups.WithLabelValues(result) // a counter that is not there cannot be alerted on
	}
	var err error
	if m.cleanups, err = register(registry, m.cleanups); err != nil {
		return m, err
	}
	if m.removed, err = register(registry, m.removed); err != nil {
		return m, err
	}
	m.waiting, err = register(registry, m.waiting)
	return m, err
}

// register registers a metric, or returns the one that is already registered: a process may have
// several managers.
func register[C prometheus.Collector](registry prometheus.Registerer, collector C) (C, error) {
	err := registry.Register(collector)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return collector, fmt.Errorf("registering metrics: %w", err)
	}
	return collector, nil
}
