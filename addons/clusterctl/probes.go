package clusterctl

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// probeTime is how long controllers may take to answer a probe, in seconds. Without a value it is
// one second: on a busy or emulated machine the kubelet then restarts controllers that work, all
// at once, and their webhooks are away.
const probeTime = 10

// startTime is how long controllers may take to start, in seconds: an emulated machine needs
// minutes. Without a startup probe the kubelet ends them after one, and they begin again.
const startTime = 300

// setProbes gives the liveness and readiness probes of all Deployments more time, and a startup
// probe to each container that has a liveness probe. It asks every second, and what has started is
// asked at once whether it is ready: without it, that is known up to ten seconds later. A manifest
// that gives as much time, or more, or a startup probe, is left as it is.
func setProbes(objects []*unstructured.Unstructured) error {
	return eachContainer(objects, func(_ *unstructured.Unstructured, container map[string]any) error {
		for _, name := range []string{"livenessProbe", "readinessProbe"} {
			probe, _ := container[name].(map[string]any)
			if probe != nil && seconds(probe) < probeTime {
				probe["timeoutSeconds"] = int64(probeTime)
			}
		}
		alive, _ := container["livenessProbe"].(map[string]any)
		if alive == nil || container["startupProbe"] != nil {
			return nil
		}
		started := runtime.DeepCopyJSON(alive)
		delete(started, "initialDelaySeconds")
		started["periodSeconds"], started["failureThreshold"] = int64(1), int64(startTime)
		container["startupProbe"] = started
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
