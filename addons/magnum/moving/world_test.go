package moving

import (
	"context"
	"os"
	"path/filepath"
	"testing"

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

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// What the dumps in database/testdata have; test/magnumdb made them.
const (
	shop  = "3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11"
	other = "aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22"
	gone  = "dead5a0b7e5c4b7d9d0d6e0b4a7f9c33"
	stack = "shop-prod-k3v9x2m4q7zd"
)

// world is Magnum's database and the management cluster of its clusters.
type world struct {
	t        *testing.T
	db       *database.Database
	client   client.Client
	releases map[string]*helmrelease.Release
	missing  map[string]bool
	store    Store
}

func (w *world) Last(_ context.Context, namespace, name string) (*helmrelease.Release, error) {
	return w.releases[namespace+"/"+name], nil
}

func (w *world) ProjectExists(_ context.Context, id string) (bool, error) { return !w.missing[id], nil }

func (w *world) site() Site {
	return Site{Client: w.client, Releases: w, Projects: w, Store: w.store}
}

func load(t *testing.T) *database.Database {
	t.Helper()
	file := filepath.Join("database", "testdata", "mariadb-b3e1cf4a2d5e.sql")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// newWorld has everything in order.
func newWorld(t *testing.T) *world {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionKind{capiKind("Cluster"), capiKind("MachineDeployment"), capiKind("Machine"),
		kindOf("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane")} {
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	w := &world{t: t, db: load(t), releases: map[string]*helmrelease.Release{}, missing: map[string]bool{gone: true}}
	w.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&v1alpha1.Cluster{}, &v1alpha1.NodeGroup{}).Build(),
		interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetGeneration(1) // as an API server does
			return c.Create(ctx, o, opts...)
		}})
	w.helm(shop, stack, map[string]int64{"default-worker": 2, "gpu-1": 1}, 3)
	for _, twin := range []string{"twin-aaaaaaaaaaaa", "twin-bbbbbbbbbbbb"} {
		w.helm(other, twin, map[string]int64{"default-worker": 1}, 1)
	}
	w.object(capiKind("Cluster"), systemNamespace, "kube-abc12", map[string]any{"topology": map[string]any{"classRef": map[string]any{"name": "magnum-v0.38.1"}}}, nil)
	w.authorities(systemNamespace, "kube-abc12")
	return w
}

func (w *world) object(kind schema.GroupVersionKind, namespace, name string, spec map[string]any, labels map[string]string) {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	w.create(o)
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) authorities(namespace, stack string) {
	for _, kind := range []string{"ca", "etcd", "proxy"} {
		w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stack + "-" + kind},
			Data: map[string][]byte{"tls.crt": []byte("certificate of " + kind), "tls.key": []byte("key of " + kind)}})
	}
}

// helm is a cluster of magnum-capi-helm, as its driver makes it.
func (w *world) helm(project, stack string, groups map[string]int64, masters int64) {
	w.t.Helper()
	namespace := v1alpha1.Namespace(project)
	labels := map[string]string{observe.LabelStack: stack, v1alpha1.LabelStack: stack}
	w.object(capiKind("Cluster"), namespace, stack, map[string]any{}, labels)
	w.object(kindOf("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane"), namespace, stack+"-control-plane", map[string]any{"replicas": masters}, labels)
	w.object(capiKind("Machine"), namespace, stack+"-m1", map[string]any{}, labels)
	list := []any{}
	for name, size := range groups {
		w.object(capiKind("MachineDeployment"), namespace, stack+"-"+name, map[string]any{"replicas": size},
			map[string]string{observe.LabelStack: stack, observe.LabelGroup: name})
		flavor := "m1.large"
		if name == "gpu-1" {
			flavor = "g1.large"
		}
		list = append(list, map[string]any{"name": name, "machineCount": float64(size), "machineFlavor": flavor})
	}
	w.authorities(namespace, stack)
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stack + "-cloud-credentials"},
		Data: map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {auth: {application_credential_id: cred-" + stack + ", application_credential_secret: hush}}}")}})
	w.releases[namespace+"/"+stack] = &helmrelease.Release{Name: stack, Namespace: namespace, Version: 4, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "openstack-cluster", Version: "0.23.0", Dependencies: []*chart.Dependency{{Name: "cluster-addons"}}}},
		Config: map[string]any{"kubernetesVersion": "1.34.2", "machineImageId": "image-1", "osDistro": "ubuntu", "machineSSHKeyName": "ops",
			"controlPlane": map[string]any{"machineFlavor": "m1.medium", "machineCount": float64(masters)}, "nodeGroups": list,
			"clusterNetworking": map[string]any{"externalNetworkId": "net-1"},
			"addons":            map[string]any{"openstack": map[string]any{"csiCinder": map[string]any{"defaultStorageClass": map[string]any{"volumeType": "ssd"}}}}}}
}

func (w *world) plan() *Plan {
	w.t.Helper()
	p, err := New(w.t.Context(), w.db, w.site())
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) find(p *Plan, ident string) *Cluster {
	w.t.Helper()
	found := p.Find(ident)
	if len(found) != 1 {
		w.t.Fatalf("%d clusters %s", len(found), ident)
	}
	return found[0]
}

// row changes a row of the database.
func (w *world) row(uuid string, change func(*database.Cluster)) {
	for i := range w.db.Clusters {
		if w.db.Clusters[i].UUID == uuid {
			change(&w.db.Clusters[i])
		}
	}
}
