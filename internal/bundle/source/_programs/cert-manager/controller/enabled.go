package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	defaults "github.com/cert-manager/cert-manager/internal/apis/config/controller/v1alpha1"
	"github.com/cert-manager/cert-manager/internal/controller/feature"
	gateways "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/gateways"
	listenersets "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/listenerset"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
)

// enabledControllers are the controllers to run: what --controllers says and
// what feature gates add, less what needs the whole cluster if the controller
// is confined to a namespace, less what --controllers takes out.
func enabledControllers(c *config.ControllerConfiguration) sets.Set[string] {
	enabled, disabled := sets.New[string](), sets.New[string]()
	for _, name := range c.Controllers {
		without, minus := strings.CutPrefix(name, "-")
		switch {
		case name == "*":
			enabled.Insert(defaults.DefaultEnabledControllers...)
		case minus:
			disabled.Insert(without)
		default:
			enabled.Insert(name)
		}
	}
	if enabled.Len() == 0 { // "-name" alone means all but that one
		enabled.Insert(defaults.DefaultEnabledControllers...)
	}
	if utilfeature.DefaultFeatureGate.Enabled(feature.ExperimentalCertificateSigningRequestControllers) {
		enabled.Insert(defaults.ExperimentalCertificateSigningRequestControllers...)
	}
	if gatewayAPI(c) {
		enabled.Insert(gateways.ControllerName)
	}
	if listenerSets(c) {
		enabled.Insert(listenersets.ControllerName)
	}
	if c.Namespace != "" {
		enabled.Delete(defaults.ClusterScopedControllers...)
	}
	return enabled.Difference(disabled)
}

func gatewayAPI(c *config.ControllerConfiguration) bool {
	return c.GatewayAPIConfig.Enabled && utilfeature.DefaultFeatureGate.Enabled(feature.ExperimentalGatewayAPISupport)
}

func listenerSets(c *config.ControllerConfiguration) bool {
	return gatewayAPI(c) && c.GatewayAPIConfig.EnableListenerSet && utilfeature.DefaultFeatureGate.Enabled(feature.ListenerSets)
}
