package causes

import (
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// three are a cluster whose worker has no server yet, one that is well, and one of the Magnum
// API that is not well.
const three = `
clusters cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop, namespace: prod}
spec: {infrastructureRef: {name: shop}}
status: {phase: Provisioned, conditions: [{type: Available, status: "False", message: "* WorkersAvailable: 0 of 1"}]}
---
openstackclusters infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: shop, namespace: prod}
spec: {identityRef: {name: login, cloudName: sandbox}}
status: {ready: true, conditions: [{type: Ready, status: "True"}]}
---
machines cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: shop-w1, namespace: prod, labels: {cluster.x-k8s.io/cluster-name: shop}}
spec: {clusterName: shop, infrastructureRef: {name: shop-w1}, bootstrap: {dataSecretName: x}}
---
openstackmachines infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: shop-w1, namespace: prod}
spec: {flavor: m9.huge}
---
clusters cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: well, namespace: prod}
spec: {paused: true}
status: {phase: Provisioned, conditions: [{type: Available, status: "True"}]}
---
clusters cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: tenant-x1, namespace: magnum-a}
spec: {paused: true}
status: {phase: Provisioned, conditions: [{type: Available, status: "False"}]}
---
clusters ` + v1alpha1.Group + `/v1alpha1
kind: Cluster
metadata: {name: tenant, namespace: magnum-a}
spec: {stackID: tenant-x1}
`

// world is a watch of those clusters, with a clock.
type world struct {
	*testing.T
	watch  *watch
	client *fake.FakeDynamicClient
	events *record.FakeRecorder
	clock  time.Time
	box    *sandboxtest.Cloud
}

func newWorld(t *testing.T) *world {
	lists := map[schema.GroupVersionResource]string{}
	for group, names := range map[string]string{"v1": "events secrets pods", "apps/v1": "deployments", "cluster.x-k8s.io/v1beta2": "clusters machines machinedeployments machinehealthchecks",
		"controlplane.cluster.x-k8s.io/v1beta2": "kubeadmcontrolplanes", "infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters openstackmachines",
		"infrastructure.cluster.x-k8s.io/v1alpha1": "openstackservers", "addons.stackhpc.com/v1alpha1": "helmreleases manifests", "openstack.k-orc.cloud/v1alpha1": "servergroups",
		v1alpha1.Group + "/v1alpha1": "clusters"} {
		for _, name := range strings.Fields(names) {
			version, _ := schema.ParseGroupVersion(group)
			lists[version.WithResource(name)] = name + "List"
		}
	}
	w := &world{T: t, client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), events: record.NewFakeRecorder(100), clock: time.Now(), box: sandboxtest.Start(t)}
	w.watch = newWatch(w.client, w.events, logr.Discard(), func() time.Time { return w.clock })
	for _, document := range strings.Split(three, "---\n") {
		head, body, _ := strings.Cut(strings.TrimSpace(document), "\n")
		name, group, _ := strings.Cut(head, " ")
		w.create(name, group, body)
	}
	text, err := os.ReadFile(w.box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	w.create("secrets", "v1", fmt.Sprintf("kind: Secret\nmetadata: {name: login, namespace: prod}\ndata: {clouds.yaml: %s}\n", base64.StdEncoding.EncodeToString(text)))
	return w
}

func (w *world) create(resource, group, body string) {
	w.Helper()
	version, _ := schema.ParseGroupVersion(group)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(body), &o.Object); err != nil {
		w.Fatal(err)
	}
	o.SetAPIVersion(group)
	if _, err := w.client.Resource(version.WithResource(resource)).Namespace(o.GetNamespace()).Create(w.Context(), o, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// look looks once, a minute later, and returns what is told.
func (w *world) look() (told []string) {
	w.Helper()
	w.clock = w.clock.Add(every)
	if err := w.watch.look(w.Context()); err != nil {
		w.Fatal(err)
	}
	for len(w.events.Events) > 0 {
		told = append(told, <-w.events.Events)
	}
	return told
}

// gauges are the series of the metric by reason.
func (w *world) gauges() map[string]float64 {
	w.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.watch.tally)
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "slipway_cluster_cause" {
				found[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return found
}

// TestACauseIsToldOnce when it lasts, on the Cluster, and counted as long as it is there; the
// clusters of the Magnum API are left to its controllers, and those that are well alone.
func TestACauseIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls, err := w.box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "compute", Path: "/v2.1/servers/detail", Delay: faultinject.Duration(time.Microsecond)})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.gauges()) > 0 {
		t.Error("a process that has not looked says something")
	}
	if told := w.look(); len(told) > 0 {
		t.Errorf("told at once: %v", told)
	}
	if told := w.look(); len(told) != 1 || told[0] != "Warning flavor-missing flavor m9.huge: Nova does not offer it to the project" {
		t.Errorf("told %q", told)
	}
	for range 3 {
		if told := w.look(); len(told) > 0 {
			t.Errorf("told again: %v", told)
		}
	}
	if g := w.gauges(); g["flavor-missing"] != 1 || len(g) != 1 {
		t.Errorf("counted %v", g)
	}
	for _, r := range w.box.Faults.List() {
		if r.ID == calls.ID && r.Calls > 5 {
			t.Errorf("Nova was asked %d times in five minutes", r.Calls)
		}
	}
	shop := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	if err := w.client.Resource(shop).Namespace("prod").Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if told := w.look(); len(told) > 0 || len(w.watch.told) > 0 {
		t.Errorf("of a cluster that is gone: told %v, remembered %v", told, w.watch.told)
	}
	if g := w.gauges(); g["flavor-missing"] != 0 || len(g) != 1 {
		t.Errorf("after it is gone %v", g)
	}
}

// TestTheRulesAllowWhatIsAsked: every call to Kubernetes is one that the ClusterRole has.
func TestTheRulesAllowWhatIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client.ClearActions()
	w.look()
	w.look()
	asked := map[string]bool{}
	for _, action := range w.client.Actions() {
		kind := action.GetResource()
		asked[action.GetVerb()+" "+kind.Resource] = true
		if !slices.ContainsFunc(Rules(), func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Verbs, action.GetVerb()) && slices.Contains(r.APIGroups, kind.Group) && slices.Contains(r.Resources, kind.Resource)
		}) {
			t.Errorf("no rule for %s of %s in %q", action.GetVerb(), kind.Resource, kind.Group)
		}
	}
	for _, want := range []string{"list clusters", "list machines", "list events", "get secrets", "list deployments"} {
		if !asked[want] {
			t.Errorf("nobody asked to %s", want)
		}
	}
}
