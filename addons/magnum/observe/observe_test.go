package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096).Decode(&o.Object); err != nil {
		t.Fatal(err)
	}
	// As clients decode them: whole numbers are int64.
	data, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o
}

const readyCluster = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop}
spec: {controlPlaneEndpoint: {host: 203.0.113.20, port: 6443}}
status:
  conditions:
  - {type: Available, status: "True"}
  - {type: InfrastructureReady, status: "True"}
  - {type: ControlPlaneInitialized, status: "True"}
  - {type: ControlPlaneAvailable, status: "True"}
  - {type: RemoteConnectionProbe, status: "True"}
`

const readyPlane = `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: shop-control-plane, generation: 3}
spec: {replicas: 1, version: v1.34.2}
status:
  observedGeneration: 3
  version: v1.34.2
  replicas: 1
  readyReplicas: 1
  upToDateReplicas: 1
  conditions:
  - {type: Available, status: "True"}
  - {type: MachinesReady, status: "True"}
  - {type: EtcdClusterHealthy, status: "True"}
  - {type: ControlPlaneComponentsHealthy, status: "True"}
`

const readyWorkers = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: shop-default-worker, generation: 2, labels: {capi.stackhpc.com/node-group: default-worker}}
spec: {replicas: 1, template: {spec: {version: v1.34.2}}}
status: {observedGeneration: 2, phase: Running, replicas: 1, readyReplicas: 1, upToDateReplicas: 1}
`

const masterMachine = `
kind: Machine
metadata: {name: shop-m1, labels: {cluster.x-k8s.io/control-plane: "", capi.stackhpc.com/component: control-plane}}
status:
  nodeRef: {name: node-m1}
  nodeInfo: {containerRuntimeVersion: containerd://2.1.5}
  addresses: [{type: ExternalIP, address: 203.0.113.20}, {type: InternalIP, address: 10.0.0.11}]
  conditions: [{type: NodeReady, status: "True"}]
`

const workerMachine = `
kind: Machine
metadata: {name: shop-w1, labels: {cluster.x-k8s.io/deployment-name: shop-default-worker}}
status:
  nodeRef: {name: node-w1}
  addresses: [{type: InternalIP, address: 10.0.0.21}]
  conditions: [{type: NodeReady, status: "True"}]
`

const addon = `
kind: HelmRelease
metadata: {name: shop-cni-calico}
status: {phase: Deployed}
`

// ready are the objects of a cluster that is ready.
func ready(t *testing.T) Objects {
	return Objects{Cluster: object(t, readyCluster), ControlPlane: object(t, readyPlane),
		Deployments: []*unstructured.Unstructured{object(t, readyWorkers)},
		Machines:    []*unstructured.Unstructured{object(t, masterMachine), object(t, workerMachine)},
		Addons:      []*unstructured.Unstructured{object(t, addon)}}
}

// TestEndpoint: an address of IPv6 is in brackets, or no client could use it.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{"203.0.113.20": "https://203.0.113.20:6443", "api.example.org": "https://api.example.org:6443",
		"2001:db8::20": "https://[2001:db8::20]:6443", "": ""} {
		cluster := object(t, readyCluster)
		if err := unstructured.SetNestedField(cluster.Object, host, "spec", "controlPlaneEndpoint", "host"); err != nil {
			t.Fatal(err)
		}
		if s := Of(Objects{Cluster: cluster}); s.Endpoint != want {
			t.Errorf("host %q: endpoint %q, want %q", host, s.Endpoint, want)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	s := Of(ready(t))
	if !s.Ready() || !s.Master.Settled || !s.Workers["default-worker"].Settled || len(s.Causes) > 0 {
		t.Errorf("not ready: %+v", s)
	}
	if s.Endpoint != "https://203.0.113.20:6443" || s.Version != "v1.34.2" || s.Runtime != "2.1.5" {
		t.Errorf("endpoint %q, version %q, runtime %q", s.Endpoint, s.Version, s.Runtime)
	}
	if diff := cmp.Diff([]string{"10.0.0.11"}, s.Master.Addresses); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.21"}, s.Workers["default-worker"].Addresses); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"api": "ok", "node-m1.Ready": "True", "node-w1.Ready": "True"}, s.Health); diff != "" || !s.Healthy {
		t.Errorf("healthy %t: %s", s.Healthy, diff)
	}
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// fail turns one condition of an object.
func fail(t *testing.T, o *unstructured.Unstructured, kind, message string) {
	t.Helper()
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range list {
		if c := entry.(map[string]any); c["type"] == kind {
			c["status"], c["message"] = "False", message
		}
	}
	set(t, o, list, "status", "conditions")
}

// TestGates: each gate alone keeps a cluster or group from being ready.
func TestGates(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, *Objects){
		"infrastructure":              func(t *testing.T, o *Objects) { fail(t, o.Cluster, "InfrastructureReady", "") },
		"control plane":               func(t *testing.T, o *Objects) { fail(t, o.Cluster, "ControlPlaneAvailable", "") },
		"cluster":                     func(t *testing.T, o *Objects) { fail(t, o.Cluster, "Available", "") },
		"machines of control planes":  func(t *testing.T, o *Objects) { fail(t, o.ControlPlane, "MachinesReady", "") },
		"etcd":                        func(t *testing.T, o *Objects) { fail(t, o.ControlPlane, "EtcdClusterHealthy", "") },
		"components":                  func(t *testing.T, o *Objects) { fail(t, o.ControlPlane, "ControlPlaneComponentsHealthy", "") },
		"a control plane too many":    func(t *testing.T, o *Objects) { set(t, o.ControlPlane, int64(2), "status", "replicas") },
		"an old control plane":        func(t *testing.T, o *Objects) { set(t, o.ControlPlane, int64(0), "status", "upToDateReplicas") },
		"machines that are no nodes":  func(t *testing.T, o *Objects) { set(t, o.Deployments[0], int64(0), "status", "readyReplicas") },
		"a control plane not ready":   func(t *testing.T, o *Objects) { set(t, o.ControlPlane, int64(0), "status", "readyReplicas") },
		"control plane not looked at": func(t *testing.T, o *Objects) { o.ControlPlane.SetGeneration(4) },
		"the old version":             func(t *testing.T, o *Objects) { set(t, o.ControlPlane, "v1.33.0", "status", "version") },
		"no control plane":            func(t *testing.T, o *Objects) { o.ControlPlane = nil },
		"workers scaling":             func(t *testing.T, o *Objects) { set(t, o.Deployments[0], "ScalingUp", "status", "phase") },
		"workers not looked at":       func(t *testing.T, o *Objects) { o.Deployments[0].SetGeneration(3) },
		"an old worker":               func(t *testing.T, o *Objects) { set(t, o.Deployments[0], int64(0), "status", "upToDateReplicas") },
		"an addon without phase":      func(t *testing.T, o *Objects) { set(t, o.Addons[0], "", "status", "phase") },
		"an addon being installed":    func(t *testing.T, o *Objects) { set(t, o.Addons[0], "Installing", "status", "phase") },
		"no cluster":                  func(t *testing.T, o *Objects) { o.Cluster = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := ready(t)
			change(t, &o)
			s := Of(o)
			if s.Ready() && s.Master.Settled && s.Workers["default-worker"].Settled {
				t.Error("ready all the same")
			}
			if len(s.Causes) > 0 {
				t.Errorf("what is waited for is taken for trouble: %v", s.Causes)
			}
		})
	}
}

// TestOldContract reads conditions where v1beta1 has them.
func TestOldContract(t *testing.T) {
	t.Parallel()
	s := Of(Objects{Cluster: object(t, `
kind: Cluster
status:
  conditions: [{type: Ready, status: "True"}, {type: InfrastructureReady, status: "True"}, {type: ControlPlaneReady, status: "True"}]
`), ControlPlane: object(t, `
kind: KubeadmControlPlane
spec: {replicas: 1}
status:
  replicas: 1
  readyReplicas: 1
  updatedReplicas: 1
  deprecated: {v1beta1: {conditions: [{type: Ready, status: "True"}, {type: MachinesReady, status: "True"},
    {type: EtcdClusterHealthy, status: "True"}, {type: ControlPlaneComponentsHealthy, status: "True"}]}}
`)})
	if !s.Ready() || !s.Master.Settled {
		t.Errorf("%+v", s)
	}
}

const server = `
kind: OpenStackServer
metadata: {name: shop-w1}
status:
  conditions:
  - {type: Ready, status: "False", severity: Error, reason: InstanceCreateFailed, message: "x", lastTransitionTime: "2026-01-01T10:00:00Z"}
  - {type: InstanceReady, status: "False", severity: Error, reason: InstanceCreateFailed, lastTransitionTime: "2026-01-01T10:00:00Z",
     message: "Error creating Openstack instance: Quota exceeded for cores: Requested 4, but already used 20 of 20 cores"}
`

// TestCauses: the words of OpenStack come before what only follows from them.
func TestCauses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change          func(*testing.T, *Objects)
		want            string
		final, hopeless bool
		group           string
	}{
		"server group": {func(t *testing.T, o *Objects) {
			o.ServerGroups = append(o.ServerGroups, object(t, `{kind: ServerGroup, metadata: {name: c-md-0}, status: {conditions: [
  {type: Available, status: "False", reason: InvalidConfiguration, message: sum}, {type: Progressing, status: "False", reason: InvalidConfiguration, message: "policy is not one of x"}]}}`))
		}, "policy is not one of x", false, true, ""},
		"quota": {func(t *testing.T, o *Objects) { o.Servers = append(o.Servers, object(t, server)) },
			"Quota exceeded for cores", false, true, "default-worker"},
		"a server in ERROR": {func(t *testing.T, o *Objects) {
			o.Servers = append(o.Servers, object(t, `
kind: OpenStackMachine
metadata: {name: shop-m1}
status:
  failureMessage: instance state "ERROR" is unexpected
  conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceStateError, message: "No valid host was found. There are not enough hosts available."}]
`))
		}, "No valid host", true, true, "master"},
		"the network": {func(t *testing.T, o *Objects) {
			o.Infrastructure = object(t, `
kind: OpenStackCluster
metadata: {name: shop}
status: {conditions: [{type: NetworkReady, status: "False", severity: Error, reason: NetworkReconcileFailed, message: "Failed to reconcile network: got 503"}]}
`)
		}, "Failed to reconcile network", false, false, ""},
		"an addon": {func(t *testing.T, o *Objects) {
			set(t, o.Addons[0], "Failed", "status", "phase")
			set(t, o.Addons[0], "chart is broken", "status", "failureMessage")
		}, "HelmRelease shop-cni-calico: chart is broken", true, false, ""},
		"a machine of another provider": {func(t *testing.T, o *Objects) {
			set(t, o.Machines[1], "kubelet did not start", "status", "deprecated", "v1beta1", "failureMessage")
		}, "Machine shop-w1: kubelet did not start", true, false, "default-worker"},
		"the worst first": {func(t *testing.T, o *Objects) {
			o.Servers = append(o.Servers, object(t, strings.ReplaceAll(server, "shop-w1", "a")), object(t, `
kind: OpenStackMachine
metadata: {name: b}
status: {failureMessage: it is gone}
`))
		}, "OpenStackMachine b: it is gone", true, false, ""},
		"a group that failed": {func(t *testing.T, o *Objects) { set(t, o.Deployments[0], "Failed", "status", "phase") },
			"MachineDeployment shop-default-worker", true, false, "default-worker"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := ready(t)
			test.change(t, &o)
			s := Of(o)
			if len(s.Causes) == 0 || !strings.Contains(s.Causes[0].String(), test.want) {
				t.Fatalf("causes %v, want %q", s.Causes, test.want)
			}
			if c := s.Causes[0]; c.Final != test.final || c.Hopeless != test.hopeless {
				t.Errorf("final %t, hopeless %t", c.Final, c.Hopeless)
			}
			got := ""
			if s.Master.Cause != nil {
				got = "master"
			}
			for name, group := range s.Workers {
				if group.Cause != nil {
					got = name
				}
			}
			if got != test.group {
				t.Errorf("it is of group %q, want %q", got, test.group)
			}
		})
	}
}

// TestWaitingIsNoTrouble: CAPO's conditions of severity Info are what it waits for.
func TestWaitingIsNoTrouble(t *testing.T) {
	t.Parallel()
	o := ready(t)
	o.Servers = append(o.Servers, object(t, `
kind: OpenStackMachine
metadata: {name: shop-w1}
status: {conditions: [{type: InstanceReady, status: "False", severity: Info, reason: WaitingForBootstrapData}]}
`))
	fail(t, o.Cluster, "Available", "* WorkersAvailable:\n  * MachineDeployment shop-default-worker: 0 available")
	s := Of(o)
	if len(s.Causes) > 0 {
		t.Errorf("causes %v", s.Causes)
	}
	if want := "WorkersAvailable: MachineDeployment shop-default-worker: 0 available"; s.Waiting != want {
		t.Errorf("waiting for %q", s.Waiting)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	o := ready(t)
	fail(t, o.Cluster, "RemoteConnectionProbe", "Remote connection probe failed")
	s := Of(o)
	if s.Healthy || s.Health["api"] != "Remote connection probe failed" {
		t.Errorf("unreachable: %t %v", s.Healthy, s.Health)
	}
	o = ready(t)
	fail(t, o.Machines[1], "NodeReady", "")
	if s = Of(o); s.Healthy || s.Health["node-w1.Ready"] != "False" || s.Health["api"] != "ok" {
		t.Errorf("a node is not ready: %t %v", s.Healthy, s.Health)
	}
	o = ready(t)
	fail(t, o.Cluster, "ControlPlaneInitialized", "")
	if s = Of(o); s.Health != nil {
		t.Errorf("not there yet, but health is %v", s.Health)
	}
}

const metricsServer = `
kind: HelmRelease
metadata: {name: shop-metrics-server}
spec: {releaseName: metrics-server}
status:
  phase: Deployed
  conditions: [{type: Ready, status: "False", reason: WaitingForWorkers, message: "no worker to run on: Deployment kube-system/metrics-server"}]
`

// TestAddonsWithoutWorkers: an addon that needs a worker is waited for only where
// one is to come, whatever its phase.
func TestAddonsWithoutWorkers(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"Deployed", "Pending"} {
		o := ready(t)
		o.Addons = append(o.Addons, object(t, metricsServer))
		set(t, o.Addons[1], phase, "status", "phase")
		if s := Of(o); s.Addons || len(s.WithoutWorkers) > 0 || !strings.Contains(s.Waiting, "shop-metrics-server: no worker to run on") {
			t.Errorf("%s: a worker comes, and it is not waited for: %v, %q", phase, s.WithoutWorkers, s.Waiting)
		}
		set(t, o.Deployments[0], int64(0), "spec", "replicas")
		s := Of(o)
		if diff := cmp.Diff([]string{"metrics-server"}, s.WithoutWorkers); diff != "" || !s.Addons || len(s.Causes) > 0 {
			t.Errorf("%s: no worker comes, and it is waited for: %s, %v", phase, diff, s.Causes)
		}
		set(t, o.Addons[0], "Installing", "status", "phase")
		if Of(o).Addons {
			t.Errorf("%s: what can run is not waited for any more", phase)
		}
	}
}
