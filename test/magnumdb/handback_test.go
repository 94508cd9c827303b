package magnumdb

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

const (
	stack     = "shop-prod-k3v9x2m4q7zd"
	namespace = "magnum-" + shop
	shopProd  = "6c9f3a52-5c0e-4b9f-9a5c-000000000001"
)

// managed is the management cluster of the one cluster of magnum-capi-helm.
type managed struct {
	t      *testing.T
	client client.Client
}

func (m *managed) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// Last is the release of Magnum's driver.
func (m *managed) Last(_ context.Context, _, name string) (*helmrelease.Release, error) {
	if name != stack {
		return nil, nil
	}
	group := func(name, flavor string, n float64) any {
		return map[string]any{"name": name, "machineCount": n, "machineFlavor": flavor}
	}
	return &helmrelease.Release{Name: stack, Namespace: namespace, Version: 4, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "openstack-cluster", Version: "0.23.0"}},
		Config: map[string]any{"kubernetesVersion": "1.34.2", "machineImageId": "image-1", "osDistro": "ubuntu", "machineSSHKeyName": "ops",
			"controlPlane": map[string]any{"machineFlavor": "m1.medium", "machineCount": 3.0},
			"nodeGroups":   []any{group("default-worker", "m1.large", 2), group("gpu-1", "g1.large", 1)}}}, nil
}

func manage(t *testing.T) *managed {
	t.Helper()
	m := &managed{t: t}
	s := runtime.NewScheme()
	m.must(clientgoscheme.AddToScheme(s))
	m.must(v1alpha1.AddToScheme(s))
	capi := schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	kinds := []schema.GroupVersionKind{capi.WithKind("Cluster"), capi.WithKind("MachineDeployment"), capi.WithKind("Machine"),
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"}}
	for _, kind := range kinds {
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	m.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&v1alpha1.Cluster{}, &v1alpha1.NodeGroup{}).Build(),
		interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetGeneration(1) // as an API server does
			return c.Create(ctx, o, opts...)
		}})
	m.object(kinds[0], stack, nil, "")
	m.object(kinds[3], stack+"-control-plane", int64(3), "")
	m.object(kinds[1], stack+"-default-worker", int64(2), "default-worker")
	m.object(kinds[1], stack+"-gpu-1", int64(1), "gpu-1")
	for _, suffix := range []string{"ca", "etcd", "proxy", "cloud-credentials"} {
		m.must(m.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stack + "-" + suffix},
			Data: map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {auth: {application_credential_id: a}}}")}}))
	}
	return m
}

func (m *managed) object(kind schema.GroupVersionKind, name string, replicas any, group string) {
	m.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if replicas != nil {
		o.Object["spec"] = map[string]any{"replicas": replicas}
	}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{"capi.stackhpc.com/cluster": stack, "capi.stackhpc.com/node-group": group})
	m.must(m.client.Create(m.t.Context(), o))
}

func (m *managed) site() moving.Site { return moving.Site{Client: m.client, Releases: m} }

// change does with Slipway what users do: a resize, a group, a template, a quota.
func (m *managed) change() {
	ctx, key := m.t.Context(), func(name string) client.ObjectKey {
		return client.ObjectKey{Namespace: namespace, Name: name}
	}
	g, o := &v1alpha1.NodeGroup{}, &unstructured.Unstructured{}
	m.must(m.client.Get(ctx, key(stack+"-default-worker"), g))
	g.Spec.NodeCount = 4
	m.must(m.client.Update(ctx, g))
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"})
	m.must(m.client.Get(ctx, key(stack+"-default-worker"), o))
	m.must(unstructured.SetNestedField(o.Object, int64(4), "spec", "replicas"))
	m.must(m.client.Update(ctx, o))
	gpu := &v1alpha1.NodeGroup{}
	m.must(m.client.Get(ctx, key(stack+"-gpu-1"), gpu))
	gpu.Finalizers = nil
	m.must(m.client.Update(ctx, gpu))
	m.must(m.client.Delete(ctx, gpu))
	c := &v1alpha1.Cluster{}
	m.must(m.client.Get(ctx, key(stack), c))
	c.Status.Phase, c.Status.HealthStatus, c.Status.StatusReason = v1alpha1.UpdateComplete, v1alpha1.Unhealthy, "it's \"one\" \\ node"
	c.Status.HealthStatusReason = map[string]string{"cluster": "Ready", "nodegroup": "é <b>"}
	m.must(m.client.Status().Update(ctx, c))
	added := v1alpha1.NewNodeGroup(c, "batch")
	added.Spec.UUID, added.Spec.NodeCount, added.Spec.FlavorID = "c6b1d7a4-0f0e-4a80-9d0b-0000000000bb", 2, "c1.xlarge"
	status := v1alpha1.NodeGroupStatus{Phase: v1alpha1.CreateComplete, ObservedGeneration: 1}
	m.must(m.client.Create(ctx, added))
	added.Status = status
	m.must(m.client.Status().Update(ctx, added))
	m.object(o.GroupVersionKind(), stack+"-batch", int64(2), "batch")
	t := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "0b7a9e0c-0d3c-4a51-8a41-0000000000aa"}}
	t.Spec = v1alpha1.ClusterTemplateSpec{Identity: v1alpha1.Identity{UUID: t.Name, Name: "new-template", ProjectID: shop, UserID: "u"},
		TemplateValues: v1alpha1.TemplateValues{COE: "kubernetes", ImageID: "ubuntu", ClusterDistro: "ubuntu", NetworkDriver: "calico", FloatingIPEnabled: true,
			DNSNameservers: []string{"192.0.2.1", "192.0.2.2"}, Labels: map[string]string{"our": "own"}}}
	m.must(m.client.Create(ctx, t))
	q := &v1alpha1.Quota{}
	m.must(m.client.Get(ctx, key("cluster"), q))
	q.Spec.HardLimit = 12
	m.must(m.client.Update(ctx, q))
}

// TestHandBack: what Slipway changed comes back to both servers in every schema, and
// Magnum's own API reads it from there. A second run writes nothing, and an account
// that only reads is told before anything is held.
func TestHandBack(t *testing.T) {
	r := start(t)
	for _, s := range r.servers() {
		revisions := []string{"7da8489d6a68", "c0f832afc4fd", "d7e6a4d39fe4", newest}
		if s.name == "postgresql" {
			revisions = revisions[3:]
		}
		for _, revision := range revisions {
			name := "back_" + revision
			s.make(name, revision)
			m := manage(t)
			m.adopt(live(t, s, name))
			m.change()
			before := s.dump(name)
			if _, err := moving.NewHandBack(t.Context(), rows(t, strings.Replace(s.url(name), "//magnum:", "//reader:", 1)), m.site(), moving.Choices{}); err == nil || !strings.Contains(err.Error(), "cannot be written") {
				t.Errorf("%s %s: an account that only reads: %v", s.name, revision, err)
			}
			if after := s.dump(name); data(before) != data(after) {
				t.Error("a look at the database wrote")
			}
			m.handBack(rows(t, s.url(name)), revision, 3)
			after := s.dump(name)
			m.handBack(rows(t, s.url(name)), revision, 0)
			if data(after) != data(s.dump(name)) {
				t.Errorf("%s %s: the second run wrote", s.name, revision)
			}
			check(t, s.name+" "+revision, live(t, s, name))
			if revision == newest {
				asked(t, r, s, name)
			}
		}
	}
}

func (m *managed) adopt(db *database.Database) {
	m.t.Helper()
	plan, err := moving.New(m.t.Context(), db, m.site())
	m.must(err)
	m.must(plan.Import(m.t.Context(), m.site(), func(string, bool) {}))
	m.must(plan.Adopt(m.t.Context(), m.site(), func(string, bool) {}))
}

func rows(t *testing.T, url string) *database.Writer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte(url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := database.FindTarget(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := source.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func (m *managed) handBack(rows *database.Writer, revision string, want int) {
	m.t.Helper()
	plan, err := moving.NewHandBack(m.t.Context(), rows, m.site(), moving.Choices{})
	m.must(err)
	if refused := plan.Refused(); len(refused) > 0 {
		m.t.Fatalf("%s: %+v", revision, refused)
	}
	wrote := 0
	m.must(plan.Run(m.t.Context(), rows, m.site(), func(_ string, written bool) {
		if written {
			wrote++
		}
	}))
	if wrote != want {
		m.t.Errorf("%s: %d transactions, not %d", revision, wrote, want)
	}
}

// data is a dump without what changes from one to the next.
func data(dump string) string {
	var lines []string
	for line := range strings.Lines(dump) {
		if !strings.HasPrefix(line, "--") && !strings.Contains(line, "restrict") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// check reads the rows as an import does.
func check(t *testing.T, name string, d *database.Database) {
	t.Helper()
	groups := map[string]int32{}
	for _, g := range d.Groups {
		if g.ClusterID == shopProd {
			groups[g.Name] = g.NodeCount
		}
	}
	if diff := cmp.Diff(map[string]int32{"default-master": 3, "default-worker": 4, "batch": 2}, groups); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	if c := d.Clusters[0]; c.Status != "UPDATE_COMPLETE" || c.StatusReason != "it's \"one\" \\ node" || c.HealthStatusReason["nodegroup"] != "é <b>" || c.Updated == nil {
		t.Errorf("%s: %+v", name, c)
	}
	if d.Quotas[0].HardLimit != 12 || len(d.Templates) != 4 || len(d.Clusters) != 7 {
		t.Errorf("%s: %+v, %d templates", name, d.Quotas, len(d.Templates))
	}
	if c := d.Clusters[0]; name == "mariadb 7da8489d6a68" && c.TrustID != strings.Repeat("ab", 16) {
		t.Errorf("%s: the trust is %q", name, c.TrustID)
	}
}

// asked has Magnum's own API read the rows.
func asked(t *testing.T, r *root, s server, name string) {
	t.Helper()
	const cluster = "/v1/clusters/shop-prod"
	said := r.run("python3", r.script("ask.py"), s.url(name), shop, cluster, cluster+"/nodegroups/batch", cluster+"/nodegroups", "/v1/clustertemplates/new-template", "/v1/quotas/"+shop+"/Cluster")
	var all map[string]map[string]any
	if err := json.Unmarshal([]byte(said), &all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		path, key string
		value     any
	}{
		{cluster, "status", "UPDATE_COMPLETE"}, {cluster, "node_count", 6.0}, {cluster, "master_count", 3.0}, {cluster, "health_status", "UNHEALTHY"},
		{cluster, "uuid", shopProd}, {cluster, "stack_id", nil}, {cluster, "cluster_id", stack}, {cluster, "status_reason", "it's \"one\" \\ node"},
		{cluster + "/nodegroups/batch", "node_count", 2.0}, {cluster + "/nodegroups/batch", "flavor_id", "c1.xlarge"}, {cluster + "/nodegroups/batch", "is_default", false},
		{cluster + "/nodegroups/batch", "status", "CREATE_COMPLETE"}, {cluster + "/nodegroups/batch", "role", "worker"}, {cluster + "/nodegroups/batch", "stack_id", stack},
		{"/v1/clustertemplates/new-template", "driver", "k8s_capi_helm_v1"}, {"/v1/clustertemplates/new-template", "dns_nameserver", "192.0.2.1,192.0.2.2"},
		{"/v1/clustertemplates/new-template", "floating_ip_enabled", true}, {"/v1/quotas/" + shop + "/Cluster", "hard_limit", 12.0},
	} {
		if diff := cmp.Diff(want.value, all[want.path][want.key]); diff != "" {
			t.Errorf("%s: Magnum says of %s, %s:\n%s", s.name, want.path, want.key, diff)
		}
	}
}
