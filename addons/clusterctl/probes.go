package clusterctl

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// probeTime is how long controllers may take to answer a probe, in seconds. The default is one
// second: on a busy or emulated machine, the kubelet then restarts controllers that work, all at
// once, and their webhooks do not answer.
const probeTime = 10

// startTime is how long controllers may take to start, in seconds: an emulated machine needs
// minutes. Without a startup probe, the kubelet ends them after one minute, and they begin again.
const startTime = 300

// setProbes gives the liveness and readiness probes of all Deployments more time, and a startup
// probe to each container that has a liveness probe. The startup probe asks every second, and once
// it succeeds, the readiness probe follows at once: without it, readiness is known up to ten
// seconds later. A manifest that gives as much time or more, or has a startup probe, is left as it
// is.
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

// seconds are those of a probe; decoders read numbers as one type or the other.
func seconds(probe map[string]any) int64 {
	switch given := probe["timeoutSeconds"].(type) {
	case int64:
		return given
	case float64:
		return int64(given)
	}
	return 0
}
