package controller

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// patience of tests is for machines that are busy with others.
const patience = 90 * time.Second

// management is an API server with the definitions of all providers, and the
// controllers; the test does what Cluster API would.
type management struct {
	t      *testing.T
	client client.WithWatch
	// authority is the CA certificate of the cloud.
	authority string
}

// definitions are the CustomResourceDefinitions of the bundle's providers.
// Without providers nobody converts, so only stored versions work.
func definitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "providers", "*", "*", "*-components.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no providers in the bundle: %v", err)
	}
	var texts [][]byte
	for _, file := range append(files, filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "manifests", "openstack-resource-controller.yaml")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	ours, err := magnum.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range ours {
		texts = append(texts, text)
	}
	for _, text := range addons.Definitions() {
		texts = append(texts, text)
	}
	var all []*unstructured.Unstructured
	for _, text := range texts {
		objects, err := kube.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" {
				unstructured.RemoveNestedField(o.Object, "spec", "conversion")
				all = append(all, o)
			}
		}
	}
	return all
}

func manage(t *testing.T) *management {
	t.Helper()
	config := kubetest.Start(t).Config
	config.QPS = -1
	s, err := scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	m := &management{t, c, cloudAuthority(t, "cloud")}
	all := definitions(t)
	for _, o := range all {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	on, err := kube.New(config)
	if err == nil {
		err = on.AwaitServed(t.Context(), all, func(string) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.control(config)
	return m
}

// control starts the controllers.
func (m *management) control(config *rest.Config) {
	m.t.Helper()
	mgr, err := ctrl.NewManager(config, manager.Options{Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		m.t.Fatal(err)
	}
	mirrors := map[string]any{"docker.io": map[string]any{"ca": nil, "mirrors": []any{map[string]any{"url": "https://mirror/?a=<&>", "overridePath": false}}}}
	err = Setup(mgr, Options{Chart: func() (*chart.Chart, error) { return openstackcluster.Chart() }, Defaults: driver.Defaults{Values: map[string]any{"registryMirrors": mirrors}},
		Resolver: fakeResolver{*resolved("5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", "1.34.2")}, Revoker: &fakeRevoker{}, CloudCA: []byte(m.authority), Overlap: 4 * time.Second})
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			m.t.Error(err)
		}
	}()
	m.t.Cleanup(func() { cancel(); <-ended })
}

func (m *management) until(what string, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
		if time.Now().After(end) {
			c := &v1alpha1.Cluster{}
			err := m.client.Get(m.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack}, c)
			m.t.Fatalf("waited for %s in vain; the cluster: %+v, %v", what, c.Status, err)
		}
	}
}

func (m *management) create(objects ...client.Object) {
	m.t.Helper()
	for _, o := range objects {
		if err := m.client.Create(m.t.Context(), o); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *management) object(k kind, name string) *unstructured.Unstructured {
	m.t.Helper()
	var found *unstructured.Unstructured
	m.until(k.name+" "+name, func() bool {
		o, err := get(m.t.Context(), m.client, k, namespace, name)
		found = o
		return err == nil && o != nil
	})
	return found
}

// say writes a status, as the object's own controller would.
func (m *management) say(k kind, name string, status map[string]any) {
	m.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o := m.object(k, name)
		o.Object["status"] = status
		return m.client.Status().Update(m.t.Context(), o)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// timed are conditions with all that a schema wants.
func timed(types ...string) []any {
	all := conditionsOf(types...)
	for _, entry := range all {
		c := entry.(map[string]any)
		c["reason"], c["message"], c["lastTransitionTime"] = "Test", "", "2026-01-01T00:00:00Z"
	}
	return all
}

// settleWorkers says that a group has what it is to have.
func (m *management) settleWorkers(name string) {
	m.t.Helper()
	o := m.object(deployment(), name)
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	m.say(deployment(), name, map[string]any{"phase": "Running", "observedGeneration": o.GetGeneration(), "replicas": replicas, "readyReplicas": replicas, "upToDateReplicas": replicas})
}

func (m *management) settle() {
	m.t.Helper()
	plane := m.object(controlPlane(), stack+"-control-plane")
	m.say(controlPlane(), stack+"-control-plane", map[string]any{"observedGeneration": plane.GetGeneration(), "replicas": int64(1), "readyReplicas": int64(1),
		"upToDateReplicas": int64(1), "version": "v1.34.2", "conditions": timed("Available", "MachinesReady", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy")})
	m.settleWorkers(stack + "-default-worker")
	m.say(capiCluster(), stack, map[string]any{"conditions": timed("Available", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized")})
}

// addons says of all addons that they are in a phase, and returns how many there are.
func (m *management) addons(phase string) int {
	m.t.Helper()
	n := 0
	for _, k := range []kind{release(), manifests()} {
		list := k.list()
		if err := m.client.List(m.t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{observe.LabelStack: stack}); err != nil {
			m.t.Fatal(err)
		}
		for i := range list.Items {
			m.say(k, list.Items[i].GetName(), map[string]any{"phase": phase})
			n++
		}
	}
	return n
}

func (m *management) phase(want v1alpha1.Phase) *v1alpha1.Cluster {
	m.t.Helper()
	c := &v1alpha1.Cluster{}
	m.until(string(want), func() bool {
		err := m.client.Get(m.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack}, c)
		return err == nil && c.Status.Phase == want && c.Status.ObservedGeneration == c.Generation
	})
	return c
}

func newTestCluster() *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: stack, Namespace: namespace}}
	c.Spec.UUID, c.Spec.Name, c.Spec.ProjectID = "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10", "shop", "p1"
	c.Spec.TemplateRef.Name, c.Spec.MasterCount = "t34", 1
	// Every label that shapes values, so that the chart's schema sees each.
	c.Spec.Labels = map[string]string{"boot_volume_size": "20", "etcd_blockdevice_size": "5", "octavia_provider": "ovn", "audit_log_enabled": "true",
		"api_server_cert_sans": "a.example", "extra_network_names": "storage", "availability_zone": "az1", "keystone_auth_enabled": "true",
		"api_master_lb_allowed_cidrs": "10.0.0.0/8", "container_infra_prefix": "registry:5000/k8s"}
	return c
}

// TestOnAPIServer is the life of a cluster with the real chart, Helm and cache.
func TestOnAPIServer(t *testing.T) {
	t.Parallel()
	m := manage(t)
	m.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, template("t34"), secret(""), newTestCluster())
	m.settle()
	m.phase(v1alpha1.CreateInProgress)
	if n := m.addons("Deployed"); n == 0 {
		t.Error("the chart made no addons")
	}
	c := m.phase(v1alpha1.CreateComplete)
	if c.Status.Release == nil || c.Status.Release.Revision != 1 || c.Status.COEVersion != "v1.34.2" {
		t.Errorf("%+v", c.Status)
	}
	if site := c.Status.Release.SiteValues; site == nil || !strings.Contains(string(site.Raw), "https://mirror/") {
		t.Error("the status has not what the release was made with")
	}
	if text, err := yaml.Marshal(m.object(controlPlane(), stack+"-control-plane")); err != nil || !strings.Contains(string(text), "certs.d/docker.io/hosts.toml") {
		t.Errorf("the machines have no mirror, %v", err)
	}
	m.run("a change is seen by its event", m.seen)
	m.run("a touch is no revision", m.touched)
	m.run("resize", m.resized)
	m.run("news comes first", m.ordered)
	m.run("group", m.grouped)
	m.run("the cloud's CA", m.trusted)
	m.run("delete", m.deleted)
}

// run is a part of the test; what went wrong before is not gone on from.
func (m *management) run(name string, part func(*testing.T)) {
	whole := m.t
	defer func() { m.t = whole }()
	if !whole.Run(name, func(t *testing.T) { m.t = t; part(t) }) {
		whole.FailNow()
	}
}

// seen watches Magnum's status while an addon and a machine change.
func (m *management) seen(t *testing.T) {
	w, err := m.client.Watch(t.Context(), &v1alpha1.ClusterList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	began := time.Now()
	m.say(capiCluster(), stack, map[string]any{"conditions": append(timed("Available", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized"),
		map[string]any{"type": "RemoteConnectionProbe", "status": "False", "reason": "ProbeFailed", "message": "no answer", "lastTransitionTime": "2026-01-01T00:00:00Z"})})
	for deadline := time.After(patience); ; {
		select {
		case event := <-w.ResultChan():
			if c, ok := event.Object.(*v1alpha1.Cluster); ok && c.Status.HealthStatus == v1alpha1.Unhealthy && c.Status.HealthStatusReason["api"] == "no answer" {
				t.Logf("a change of Cluster API's Cluster was in Magnum's status after %s", time.Since(began).Round(time.Millisecond))
				return
			}
		case <-deadline:
			t.Fatal("no event")
		}
	}
}

func (m *management) touched(t *testing.T) {
	c := m.phase(v1alpha1.CreateComplete)
	before := c.DeepCopy()
	c.Spec.Rollback = true
	if err := m.client.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if c = m.phase(v1alpha1.UpdateComplete); c.Status.Release.Revision != 1 {
		t.Errorf("revision %d", c.Status.Release.Revision)
	}
}

func (m *management) resized(t *testing.T) {
	g := &v1alpha1.NodeGroup{}
	if err := m.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-default-worker"}, g); err != nil {
		t.Fatal(err)
	}
	before := g.DeepCopy()
	g.Spec.NodeCount = 3
	if err := m.client.Patch(t.Context(), g, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	m.phase(v1alpha1.UpdateInProgress)
	m.until("three machines", func() bool {
		replicas, _, _ := unstructured.NestedInt64(m.object(deployment(), stack+"-default-worker").Object, "spec", "replicas")
		return replicas == 3
	})
	m.settleWorkers(stack + "-default-worker")
	if c := m.phase(v1alpha1.UpdateComplete); c.Status.Release.Revision != 2 {
		t.Errorf("revision %d", c.Status.Release.Revision)
	}
}

func (m *management) grouped(t *testing.T) {
	g := newGroup("gpu")
	g.Generation = 0
	g.Spec.NodeLabels = map[string]string{"example.org/pool": "gpu"}
	g.Spec.NodeTaints = []v1alpha1.Taint{{Key: "gpu", Value: "true", Effect: "NoSchedule"}}
	g.Spec.DockerVolumeSize = 50
	m.create(g)
	m.settleWorkers(stack + "-gpu")
	m.phase(v1alpha1.UpdateComplete)
	if err := m.client.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	m.until("the end of the group", func() bool {
		return apierrors.IsNotFound(m.client.Get(t.Context(), client.ObjectKeyFromObject(g), g))
	})
	if o, err := get(t.Context(), m.client, deployment(), namespace, stack+"-gpu"); err != nil || o != nil {
		t.Errorf("machines are left: %v", err)
	}
	m.phase(v1alpha1.UpdateComplete)
}

func (m *management) deleted(t *testing.T) {
	c := m.phase(v1alpha1.UpdateComplete)
	if err := m.client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	m.until("the end of the cluster", func() bool {
		return apierrors.IsNotFound(m.client.Get(t.Context(), client.ObjectKeyFromObject(c), c))
	})
	for _, k := range append(watched(), leftBehind()...) {
		list := k.list()
		if err := m.client.List(t.Context(), list, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].GetDeletionTimestamp() == nil {
				t.Errorf("%s %s is left", k.name, list.Items[i].GetName())
			}
		}
	}
	secrets := &corev1.SecretList{}
	if err := m.client.List(t.Context(), secrets, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets.Items {
		if strings.Contains(s.Name, stack) {
			t.Errorf("Secret %s is left", s.Name)
		}
	}
	if err := m.client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); err != nil {
		t.Errorf("the namespace: %v", err)
	}
}
