package magnum

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/test/endpoint"
)

// serve starts Slipway's endpoint as a process of its own, on a real API server.
func (b *bench) serve(flags ...string) {
	b.t.Helper()
	server := kubetest.Start(b.t)
	program, err := filepath.Abs("../../../bin/slipway")
	b.must(err)
	b.process = endpoint.Start(b.t, endpoint.Options{Program: program, Kubeconfig: server.Kubeconfig, CloudsYAML: b.cloud.CloudsYAML(), Cloud: "devcloud-admin",
		Listen: endpoint.FreeAddress(b.t), Metrics: "0", Flags: flags})
	b.ours = b.process.URL
	scheme := runtime.NewScheme()
	b.must(v1alpha1.AddToScheme(scheme))
	b.must(corev1.AddToScheme(scheme))
	// Without a limit of its own: the thousands of writes are not what is measured.
	config := *server.Config
	config.QPS = -1
	b.kube, err = client.New(&config, client.Options{Scheme: scheme})
	b.must(err)
}

// make brings the number of clusters to that many, each with its two node
// groups, as the controllers would leave them; it returns the id of one.
func (b *bench) make(count int) string {
	b.t.Helper()
	namespace := v1alpha1.Namespace(b.project)
	if b.made == 0 && count > 0 {
		b.must(b.kube.Create(b.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	}
	for ; b.made < count; b.made++ {
		b.last = uuid.NewString()
		b.makeCluster(namespace, fmt.Sprintf("bench-%d", b.made))
	}
	return b.last
}

func (b *bench) makeCluster(namespace, name string) {
	nodes, minutes, yes := int32(3), int32(60), true
	values := v1alpha1.TemplateValues{COE: "kubernetes", ServerType: "vm", ImageID: "tiny", FlavorID: "m1.small", MasterFlavorID: "m1.medium",
		ExternalNetworkID: "public", NetworkDriver: "calico", FloatingIPEnabled: true, MasterLBEnabled: true}
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec = v1alpha1.ClusterSpec{Identity: v1alpha1.Identity{UUID: b.last, Name: name, ProjectID: b.project, UserID: b.user},
		TemplateRef: v1alpha1.TemplateRef{Name: "bench"}, Template: &v1alpha1.TemplateSnapshot{UUID: uuid.NewString(), Name: "bench", TemplateValues: values},
		StackID: name, Keypair: "ops", MasterFlavorID: "m1.medium", FlavorID: "m1.small", MasterCount: 3, NodeCount: &nodes, DockerVolumeSize: 10,
		Labels: map[string]string{"a": "b"}, FloatingIPEnabled: &yes, MasterLBEnabled: &yes, CreateTimeoutMinutes: &minutes}
	b.must(b.kube.Create(b.t.Context(), c))
	c.Status = v1alpha1.ClusterStatus{Phase: v1alpha1.CreateComplete, ObservedGeneration: c.Generation, APIAddress: "https://203.0.113.1:6443",
		COEVersion: "v1.34.2", ContainerVersion: "1.7", HealthStatus: v1alpha1.Healthy}
	b.must(b.kube.Status().Update(b.t.Context(), c))
	for _, g := range v1alpha1.DefaultGroups(c) {
		b.must(b.kube.Create(b.t.Context(), g))
		g.Status = v1alpha1.NodeGroupStatus{Phase: v1alpha1.CreateComplete, ObservedGeneration: g.Generation, NodeAddresses: []string{"10.0.0.1"}}
		b.must(b.kube.Status().Update(b.t.Context(), g))
	}
}

// await polls until something is there.
func (b *bench) await(what string, there func() bool) {
	b.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !there(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("timed out waiting for %s", what)
		}
	}
}
