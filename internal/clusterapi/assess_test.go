package clusterapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// namespace reads objects, each with its resource's name in front.
func namespace(t *testing.T, text string) objects {
	t.Helper()
	byName := map[string]schema.GroupVersionResource{}
	for _, kind := range resources() {
		byName[kind.Resource] = kind
	}
	o := objects{}
	for _, document := range strings.Split(text, "---\n") {
		head, body, _ := strings.Cut(document, "\n")
		kind, ok := byName[strings.TrimSpace(head)]
		if !ok {
			t.Fatalf("no kind %q", head)
		}
		object := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSON([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &object.Object); err != nil { // whole numbers as the API server's
			t.Fatal(err)
		}
		o[kind] = append(o[kind], object)
	}
	return o
}

const cluster = `clusters
metadata: {name: c}
spec: {infrastructureRef: {name: c}}
status: {phase: Provisioned, conditions: [{type: Available, status: "True"}]}
---
`

const network = `openstackclusters
metadata: {name: c}
status: {ready: true}
---
`

const plane = `kubeadmcontrolplanes
metadata: {name: c-control-plane, generation: 2, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {replicas: 1}
status: {observedGeneration: 2, replicas: 1, readyReplicas: 1, upToDateReplicas: 1}
---
machines
metadata: {name: c-1, labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/control-plane: ""}}
spec: {clusterName: c, infrastructureRef: {name: c-1}}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`

func TestAReadyCluster(t *testing.T) {
	t.Parallel()
	r := assess(namespace(t, cluster+network+plane), "c", nil, time.Now())
	if !r.Ready() || !r.Exists {
		t.Errorf("not ready: %+v", r)
	}
	if _, waiting := r.Waiting(); waiting {
		t.Error("a ready cluster waits")
	}
	if none := assess(namespace(t, cluster+network+plane), "d", nil, time.Now()); none.Exists || none.Ready() {
		t.Errorf("ready without being there: %+v", none)
	}
}

func TestUsableIsBeforeReady(t *testing.T) {
	t.Parallel()
	machine := func(kind, name, ready string) string {
		label := "cluster.x-k8s.io/deployment-name: " + name
		if kind == "plane" {
			label = "cluster.x-k8s.io/control-plane: ''"
		}
		return "---\nmachines\nmetadata: {name: " + name + "-" + ready + ", labels: {cluster.x-k8s.io/cluster-name: c, " + label +
			"}}\nspec: {clusterName: c}\nstatus: {conditions: [{type: Ready, status: \"" + ready + "\"}]}\n"
	}
	group := func(name string, replicas int) string {
		return fmt.Sprintf("---\nmachinedeployments\nmetadata: {name: %s, labels: {cluster.x-k8s.io/cluster-name: c}}\nspec: {clusterName: c, replicas: %d}\n", name, replicas)
	}
	bare := func(text string) string { return strings.TrimSuffix(text, "---\n") }
	joining := cluster + network + strings.Replace(plane, "replicas: 1", "replicas: 3", 1) + machine("plane", "joins", "False")
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"nothing":                   {bare(cluster), false},
		"a first control plane":     {joining, true},
		"its node group is to come": {joining + group("w", 1), false},
		"its node group boots":      {joining + group("w", 1) + machine("group", "w", "False"), false},
		"its node group is there":   {joining + group("w", 2) + machine("group", "w", "True"), true},
		"an empty node group":       {joining + group("w", 0), true},
		"one group of two":          {joining + group("v", 1) + group("w", 1) + machine("group", "w", "True"), true},
		"a control plane that is replaced": {cluster + network + strings.Replace(plane, "upToDateReplicas: 1", "upToDateReplicas: 0", 1) +
			machine("plane", "joins", "False"), false},
		"a change that is not seen yet": {cluster + network + strings.Replace(plane, "generation: 2", "generation: 3", 1) + machine("plane", "joins", "False"), false},
		"a worker alone":                {bare(cluster+network) + group("w", 1) + machine("group", "w", "True"), false},
	} {
		r := assess(namespace(t, test.text), "c", nil, time.Now())
		if r.Usable() != test.want || name != "nothing" && r.Ready() {
			t.Errorf("%s: usable is %v, ready is %v: %+v", name, r.Usable(), r.Ready(), r.Parts)
		}
	}
}

func TestWhatIsWaitedForIsTheFirstCause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, want string
		hopeless   bool
	}{
		"no network yet": {strings.TrimSuffix(cluster, "---\n"), "OpenStackCluster c: missing: ", false},
		"network refused": {cluster + `openstackclusters
metadata: {name: c}
status: {ready: false, conditions: [{type: NetworkReady, status: "False", message: "Quota exceeded for resources: ['network']"}]}
`, "OpenStackCluster c: Provisioning: quota networks: Quota exceeded for resources: ['network']", true},
		"server group refused": {cluster + network + plane + `---
servergroups
metadata: {name: c-md-0, labels: {cluster.x-k8s.io/cluster-name: c}}
status: {conditions: [{type: Available, status: "False", reason: InvalidConfiguration, message: sum}, {type: Progressing, status: "False", reason: InvalidConfiguration, message: "policy is not one of x"}]}
`, "ServerGroup c-md-0: InvalidConfiguration: policy is not one of x", true},
		"server group to come": {cluster + network + plane + `---
servergroups
metadata: {name: c-md-0, labels: {cluster.x-k8s.io/cluster-name: c}}
status: {conditions: [{type: Available, status: "False", reason: Progressing, message: waiting}, {type: Progressing, status: "True", reason: Progressing, message: waiting}]}
`, "ServerGroup c-md-0: Pending: ", false},
		"server group of another cluster": {cluster + network + plane + `---
servergroups
metadata: {name: d-md-0, labels: {cluster.x-k8s.io/cluster-name: d}}
`, "", false},
		"machine without a host": {cluster + network + strings.Replace(plane, "readyReplicas: 1", "readyReplicas: 0", 1) + `---
machines
metadata: {name: c-2, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c, infrastructureRef: {name: c-2}}
status: {phase: Provisioning, conditions: [{type: Ready, status: "False", message: "* Infrastructure: waiting"}]}
---
openstackmachines
metadata: {name: c-2}
status: {conditions: [{type: Ready, status: "False", message: "sum"}, {type: InstanceReady, status: "False", message: "No valid host was found."}]}
`, "Machine c-2: Provisioning: No valid host was found.", true},
		"machine that boots": {cluster + network + plane + `---
machines
metadata: {name: c-2, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c, infrastructureRef: {name: c-2}}
status: {phase: Provisioned, conditions: [{type: Ready, status: "False", message: "* NodeHealthy:\n  * waiting\n* Other: x"}]}
`, "Machine c-2: Provisioned: NodeHealthy: waiting; Other: x", false},
		"old generation": {cluster + network + strings.Replace(plane, "observedGeneration: 2", "observedGeneration: 1", 1), "KubeadmControlPlane c-control-plane: 1 of 1 ready: ", false},
		"old machine": {cluster + network + strings.Replace(plane, "upToDateReplicas: 1", "upToDateReplicas: 0", 1),
			"KubeadmControlPlane c-control-plane: 1 of 1 ready, 0 up to date: ", false},
		"addon failed": {cluster + network + plane + `---
helmreleases
metadata: {name: c-ccm}
spec: {clusterName: c}
status: {phase: Failed, failureMessage: "chart not there"}
`, "HelmRelease c-ccm: Failed: chart not there", false},
		"addon of another cluster": {cluster + network + plane + `---
helmreleases
metadata: {name: d-ccm}
spec: {clusterName: d}
status: {phase: Failed}
`, "", false},
		"deleted": {strings.Replace(cluster, "name: c}", "name: c, deletionTimestamp: \"2026-01-02T03:04:05Z\"}", 1) + network + plane, "Cluster c: Deleting: ", false},
	} {
		part, waiting := assess(namespace(t, test.text), "c", nil, time.Now()).Waiting()
		got := ""
		if waiting {
			got = part.Kind + " " + part.Name + ": " + part.State + ": " + part.Cause
		}
		if got != test.want || part.Hopeless != test.hopeless {
			t.Errorf("%s:\n got %q, hopeless %t\nwant %q, hopeless %t", name, got, part.Hopeless, test.want, test.hopeless)
		}
	}
}

// TestAddonsWithoutWorkers: what needs a worker is named where there is to be
// none, and waited for where there is to be one.
//
// proves: F36
func TestAddonsWithoutWorkers(t *testing.T) {
	t.Parallel()
	const metrics = `---
helmreleases
metadata: {name: c-metrics-server, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c}
status: {phase: %s, conditions: [{type: Ready, status: "%s", reason: %s, message: "no worker to run on: Deployment kube-system/metrics-server"}]}
`
	group := "---\nmachinedeployments\nmetadata: {name: w, generation: 1, labels: {cluster.x-k8s.io/cluster-name: c}}\nspec: {clusterName: c, replicas: %d}\n" +
		"status: {observedGeneration: 1, replicas: %[1]d, readyReplicas: %[1]d, upToDateReplicas: %[1]d}\n"
	for name, test := range map[string]struct {
		text, state string
		ready       bool
	}{
		"no node groups":         {fmt.Sprintf(metrics, "Deployed", "False", "WaitingForWorkers"), "waits for workers", true},
		"node groups of nothing": {fmt.Sprintf(group, 0) + fmt.Sprintf(metrics, "Deployed", "False", "WaitingForWorkers"), "waits for workers", true},
		"cannot be installed":    {fmt.Sprintf(metrics, "Pending", "False", "WaitingForWorkers"), "waits for workers", true},
		"a worker is to come":    {fmt.Sprintf(group, 1) + fmt.Sprintf(metrics, "Deployed", "False", "WaitingForWorkers"), "waits for workers", false},
		"another trouble":        {fmt.Sprintf(metrics, "Installing", "False", "ReleaseFailed"), "Installing", false},
		"runs":                   {fmt.Sprintf(group, 1) + fmt.Sprintf(metrics, "Deployed", "True", "Deployed"), "Deployed", true},
	} {
		r := assess(namespace(t, cluster+network+plane+test.text), "c", nil, time.Now())
		part := r.Parts[len(r.Parts)-1]
		if r.Ready() != test.ready || part.State != test.state || part.Ready && part.Cause != "" || !part.Ready && part.Cause == "" {
			t.Errorf("%s: ready is %v: %+v", name, r.Ready(), part)
		}
	}
}

// TestClustersWithoutAddons: nothing waits for nodes to be ready that no addon
// brings a network to.
//
// proves: F36
func TestClustersWithoutAddons(t *testing.T) {
	t.Parallel()
	const waits = `{type: Ready, status: "False", message: "* NodeHealthy: Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"}`
	bare := strings.Replace(strings.Replace(cluster, `{type: Available, status: "True"}`,
		`{type: Available, status: "False", message: "* WorkersAvailable: 0 of 1"}, {type: InfrastructureReady, status: "True"}, {type: ControlPlaneAvailable, status: "True"}`, 1)+
		network+plane, `{type: Ready, status: "True"}`, waits, 1)
	bare = strings.Replace(bare, "readyReplicas: 1", "readyReplicas: 0", 1)
	worker := "---\nmachinedeployments\nmetadata: {name: w, generation: 1, labels: {cluster.x-k8s.io/cluster-name: c}}\nspec: {clusterName: c, replicas: 1}\n" +
		"status: {observedGeneration: 1, replicas: 1, readyReplicas: 0, upToDateReplicas: 1}\n---\nmachines\n" +
		`metadata: {name: w-1, labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: w}}
spec: {clusterName: c}
status: {phase: Running, conditions: [` + waits + "]}\n"
	addon := "---\nhelmreleases\nmetadata: {name: c-cni, labels: {cluster.x-k8s.io/cluster-name: c}}\nstatus: {phase: Deployed}\n"
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"control plane alone":                   {bare, true},
		"with a worker":                         {bare + worker, true},
		"a worker that boots":                   {bare + strings.Replace(worker, "phase: Running", "phase: Provisioning", 1), false},
		"a kubelet that is ill":                 {bare + strings.Replace(strings.Replace(worker, "NetworkPluginNotReady", "x", 1), "cni plugin not initialized", "PLEG is not healthy", 1), false},
		"a worker too few":                      {bare + strings.Replace(worker, "replicas: 1}", "replicas: 2}", 1), false},
		"a control plane that is not available": {strings.Replace(bare, `ControlPlaneAvailable, status: "True"`, `ControlPlaneAvailable, status: "False"`, 1), false},
		"an addon brings a network":             {bare + addon, false},
	} {
		if r := assess(namespace(t, test.text), "c", nil, time.Now()); r.Ready() != test.want {
			t.Errorf("%s: ready is %v: %+v", name, r.Ready(), r.Parts)
		}
	}
}

// TestACompleteClusterHasItsMachines: two of three control planes were lost and deleted, and
// the control plane's controller has not looked since. A repair of the quorum once ended then.
func TestACompleteClusterHasItsMachines(t *testing.T) {
	t.Parallel()
	plane, worker := Machine{Role: RoleControlPlane, Ready: true}, Machine{Role: RoleWorker, Ready: true}
	joins := Machine{Role: RoleControlPlane}
	parts := []Part{{Kind: "Cluster", Ready: true}}
	for name, test := range map[string]struct {
		parts    []Part
		machines []Machine
		want     bool
	}{
		"all there":        {parts, []Machine{plane, plane, plane, worker}, true},
		"stale counts":     {parts, []Machine{plane, worker}, false},
		"one joins":        {parts, []Machine{plane, plane, joins, worker}, false},
		"no worker":        {parts, []Machine{plane, plane, plane}, false},
		"one more":         {parts, []Machine{plane, plane, plane, plane, worker}, true},
		"a part is not":    {[]Part{{Kind: "Cluster"}}, []Machine{plane, plane, plane, worker}, false},
		"nothing is there": {nil, nil, false},
	} {
		r := Report{Exists: true, ControlPlane: Count{Ready: 3, Wanted: 3}, Workers: Count{Ready: 1, Wanted: 1}, Parts: test.parts, Machines: test.machines}
		if got := r.Complete(); got != test.want {
			t.Errorf("%s: complete is %v", name, got)
		}
	}
}
