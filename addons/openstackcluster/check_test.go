package openstackcluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestMistakes tells every mistake with its path and what was meant.
//
// proves: F106
func TestMistakes(t *testing.T) {
	t.Parallel()
	err := Check(values(t, minimal, `
kubernetesVersions: 1.34.4
machineFlavor: m1.small
controlPlane: {machineFlavour: m1.small, machineCount: three, healthCheck: {enable: true}}
nodeGroups: [{name: md-0, machineCount: 1}, {name: md-1, machineCounts: 2}]
registryMirrors: {docker.io: {mirror: [https://example.com]}}
addons: {certmanager: {enabled: true}, openstack: {csiCinder: {defaultStorageClass: {volumetype: ssd}}}}
etcd: {encryption: {provider: none}}
apiServer: {loadBalancer: {monitor: {delays: 5, maxRetries: 11}}}
clusterAnnotations: {example.com/ticket: 42, example.com/live: true, example.com/text: "42"}
autoscaler: {nodeSelector: {gpu: true}}
`))
	want := map[string][2]string{
		"kubernetesVersions":                                        {"unknown key", "did you mean kubernetesVersion?"},
		"machineFlavor":                                             {"unknown key", "machineFlavor belongs at controlPlane.machineFlavor"},
		"controlPlane.machineFlavour":                               {"unknown key", "did you mean machineFlavor?"},
		"controlPlane.machineCount":                                 {"got string, want integer", "docs/"},
		"controlPlane.healthCheck.enable":                           {"unknown key", "did you mean enabled?"},
		"nodeGroups[1].machineCounts":                               {"unknown key", "did you mean machineCount?"},
		"registryMirrors.docker.io.mirror":                          {"unknown key", "did you mean mirrors?"},
		"addons.certmanager":                                        {"unknown key", "did you mean certManager?"},
		"addons.openstack.csiCinder.defaultStorageClass.volumetype": {"unknown key", "did you mean volumeType?"},
		"etcd.encryption.provider":                                  {"value must be one of", "docs/"},
		"apiServer.loadBalancer.monitor.delays":                     {"unknown key", "did you mean delay?"},
		"apiServer.loadBalancer.monitor.maxRetries":                 {"maximum", "docs/"},
		"clusterAnnotations.example.com/ticket":                     {"got number, want null or string", "quotation marks"},
		"clusterAnnotations.example.com/live":                       {"got boolean, want null or string", "quotation marks"},
		"autoscaler.nodeSelector.gpu":                               {"got boolean, want null or string", "quotation marks"},
	}
	got := map[string]bool{}
	for _, one := range faults(t, err) {
		told, expected := want[one.Object]
		if !expected {
			t.Errorf("unexpected: %v (%s)", one, one.Remedy)
		} else if !strings.Contains(one.Err.Error(), told[0]) || !strings.Contains(one.Remedy, told[1]) {
			t.Errorf("%s: %v (%s), want %v", one.Object, one.Err, one.Remedy, told)
		}
		got[one.Object] = true
	}
	for path := range want {
		if !got[path] {
			t.Errorf("%s is not told", path)
		}
	}
}

// faults takes joined faults apart.
func faults(t *testing.T, err error) []*fault.Fault {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not several errors: %v", err)
	}
	var all []*fault.Fault
	for _, one := range joined.Unwrap() {
		var f *fault.Fault
		if !errors.As(one, &f) {
			t.Fatalf("no fault: %v", one)
		}
		all = append(all, f)
	}
	return all
}

// TestNoMistake takes what works: all configurations, what the Magnum driver
// sends, anything below free maps, and nulls over defaults.
//
// proves: F106
func TestNoMistake(t *testing.T) {
	t.Parallel()
	for _, name := range configurations {
		if err := Check(values(t, read(t, name+".yaml"))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Check(values(t, minimal, `
controlPlane: {kubeadmConfigSpec: {anything: {goes: here}}, healthCheck: {spec: {maxUnhealthy: null}}}
apiServer: {admissionConfiguration: {Plugin: {x: 1}}}
addons: {metricsServer: {release: {values: {a: [1]}}}, openstack: {cloudConfig: {Route: {router-id: x}}}}
clusterNetworking: {internalNetwork: {nodeCidr: null}}
`)); err != nil {
		t.Error(err)
	}
}

// The schema is the chart's own, so Helm's command tells the same mistakes.
//
// proves: F106
func TestHelmRefusesToo(t *testing.T) {
	t.Parallel()
	refuse(t, `controlPlane: {machineFlavour: m1.small}`, "machineFlavour", "/controlPlane")
}

// A node group with the control plane's name would take its health check.
func TestReservedGroup(t *testing.T) {
	t.Parallel()
	err := Check(values(t, minimal, `nodeGroups: [{name: control-planes, machineCount: 1}, {name: control-plane, machineCount: 2}]`))
	told := faults(t, err)
	if len(told) != 1 || told[0].Object != "nodeGroups[1].name" || !strings.Contains(told[0].Err.Error(), "reserved for the control plane") {
		t.Errorf("%v", err)
	}
	refuse(t, `nodeGroups: [{name: control-plane, machineCount: 1}]`, "/nodeGroups/0/name")
}
