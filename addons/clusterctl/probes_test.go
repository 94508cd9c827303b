package clusterctl

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
)

const (
	probed = `apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ns}
spec:
  template:
    spec:
      containers:
      - name: quick
        livenessProbe: {initialDelaySeconds: 15, periodSeconds: 20, httpGet: {path: /healthz, port: healthz}}
        readinessProbe: {timeoutSeconds: 5, httpGet: {path: /readyz, port: healthz}}
      - name: patient
        livenessProbe: {timeoutSeconds: 15, httpGet: {path: /livez, port: 9403}}
        startupProbe: {httpGet: {path: /startedz, port: 9403}}
      - {name: none}
`
	// patient is what it becomes.
	patient = `apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ns}
spec:
  template:
    spec:
      containers:
      - name: quick
        livenessProbe: {initialDelaySeconds: 15, timeoutSeconds: 10, periodSeconds: 20, httpGet: {path: /healthz, port: healthz}}
        startupProbe: {failureThreshold: 300, timeoutSeconds: 10, periodSeconds: 1, httpGet: {path: /healthz, port: healthz}}
        readinessProbe: {timeoutSeconds: 10, httpGet: {path: /readyz, port: healthz}}
      - name: patient
        livenessProbe: {timeoutSeconds: 15, httpGet: {path: /livez, port: 9403}}
        startupProbe: {httpGet: {path: /startedz, port: 9403}}
      - {name: none}
`
)

// TestControllersMayBeSlow: each probe has ten seconds or more, each controller five minutes to
// start, and nothing else changes.
func TestControllersMayBeSlow(t *testing.T) {
	t.Parallel()
	objects, err := kube.Decode(strings.NewReader(probed))
	if err != nil {
		t.Fatal(err)
	}
	if err := setProbes(objects); err != nil {
		t.Fatal(err)
	}
	want, err := kube.Decode(strings.NewReader(patient))
	if err != nil {
		t.Fatal(err)
	}
	got, err := objects[0].MarshalJSON()
	if wanted, failed := want[0].MarshalJSON(); err != nil || failed != nil || string(got) != string(wanted) {
		t.Errorf("the Deployment is %s", got)
	}
}

// ofTheBundle is what is installed from a real bundle.
func ofTheBundle(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Objects(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestCAPOSaysWhatAMachineHas: cluster-autoscaler scales no empty group otherwise.
func TestCAPOSaysWhatAMachineHas(t *testing.T) {
	t.Parallel()
	for _, object := range ofTheBundle(t) {
		if object.GetKind() == "Deployment" && object.GetName() == "capo-controller-manager" {
			if text, err := object.MarshalJSON(); err != nil || !strings.Contains(string(text), "AutoScaleFromZero=true") {
				t.Errorf("%v: %s", err, text)
			}
			return
		}
	}
	t.Error("there is no CAPO")
}

// TestProbesOfTheBundle: no probe of what is installed has less.
func TestProbesOfTheBundle(t *testing.T) {
	t.Parallel()
	probes := 0
	for _, object := range ofTheBundle(t) {
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		for _, container := range containers {
			_, live := container.(map[string]any)["livenessProbe"]
			if _, starts := container.(map[string]any)["startupProbe"]; live && !starts {
				t.Errorf("%s has no startup probe", object.GetName())
			}
			for _, name := range []string{"livenessProbe", "readinessProbe"} {
				probe, there, _ := unstructured.NestedMap(container.(map[string]any), name)
				if given := seconds(probe); there && given < probeTime {
					t.Errorf("%s of %s has %d seconds", name, object.GetName(), given)
				} else if there {
					probes++
				}
			}
		}
	}
	if probes < 10 {
		t.Errorf("%d probes", probes)
	}
}
