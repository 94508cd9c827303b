package openstackapi

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Observer receives every answer. Route is the pattern, so that it has few values.
type Observer func(method, route string, status int, took time.Duration)

// Meter registers the metric slipway_<api>_request_duration_seconds and returns what
// tells it of a request.
func Meter(registry prometheus.Registerer, api, title string) (Observer, error) {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "slipway_" + api + "_request_duration_seconds",
		Help:    "Time that requests of the " + title + " took, by method, route and status.",
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}, []string{"method", "route", "status"})
	err := registry.Register(seconds)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		seconds, _ = already.ExistingCollector.(*prometheus.HistogramVec)
		err = nil
	}
	if err != nil || seconds == nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return func(method, route string, status int, took time.Duration) {
		seconds.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	}, nil
}
