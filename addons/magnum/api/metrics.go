package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// Meter registers the metric of requests and returns the function that records one, for
// Options.Observe.
func Meter(registry prometheus.Registerer) (openstackapi.Observer, error) {
	return openstackapi.Meter(registry, "magnum", "Magnum API")
}
