package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// Meter registers the metric of requests and returns what tells it of one, for
// Options.Observe.
func Meter(registry prometheus.Registerer) (openstackapi.Observer, error) {
	return openstackapi.Meter(registry, "magnum", "Magnum API")
}
