package clusterctl

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// probeTime is how long controllers may take to answer a probe, in seconds. Without a value it is
// one second: on a busy or emulated machine the kubelet then restarts controllers that work, all
// at once, and their webhooks are away.
const probeTime = 10

// setProbes gives the liveness and readiness probes of all Deployments more time. A manifest that
// gives as much, or more, is left as it is.
func setProbes(objects []*unstructured.Unstructured) error {
	return eachContainer(objects, func(_ *unstructured.Unstructured, container map[string]any) error {
		for _, name := range []string{"livenessProbe", "readinessProbe"} {
			probe, _ := container[name].(map[string]any)
			if probe != nil && seconds(probe) < probeTime {
				probe["timeoutSeconds"] = int64(probeTime)
			}
		}
		return nil
	})
}

// seconds are those of a probe; decoders read numbers as one or the other.
func seconds(probe map[string]any) int64 {
	switch given := probe["timeoutSeconds"].(type) {
	case int64:
		return given
	case float64:
		return int64(given)
	}
	return 0
}
