package magnum

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	devcloud "github.com/slipway-sh/slipway/test/devcloud/cloud"
)

const (
	// fleetMemory is the target for the controllers with a thousand clusters.
	fleetMemory = 400 << 20
	// restTime is how long nothing happens.
	restTime = 2 * time.Minute
	// settleTime is how long clusters may take to be made.
	settleTime = 40 * time.Minute
	project    = "fleet"
)

// fleet is many clusters and the controllers that have them in hand.
type fleet struct {
	*testing.T
	client.Client
	clusters int
	process  *program
}

// TestControllers measures the controllers of a thousand clusters
// (SLIPWAY_BENCH_CLUSTERS): how soon they settle, how often each is looked at
// while nothing happens and when a machine changes, processor time and memory. The
// chart, Helm and the API server are real; who would make machines is played.
func TestControllers(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	f := &fleet{T: t, clusters: clustersWanted(t)}
	plane := controlPlane(t)
	f.define(&kubetest.Server{Config: plane.Config, Kubeconfig: plane.KubeConfig})
	f.standIn(plane.Config).play(t.Context())
	f.control(plane.KubeConfig)
	f.create()
	f.settle("made")
	f.rest()
	f.change()
	f.process.kill()
	f.process.start()
	f.settle("looked at after a restart")
	f.rest()
}

// clustersWanted is SLIPWAY_BENCH_CLUSTERS, or a thousand.
func clustersWanted(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SLIPWAY_BENCH_CLUSTERS")
	if text == "" {
		return 1000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SLIPWAY_BENCH_CLUSTERS is %q: give a number of clusters, such as 100", text)
	}
	return n
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// define makes the kinds.
func (f *fleet) define(server *kubetest.Server) {
	var texts [][]byte
	own, err := magnum.CRDs()
	f.must(err)
	for _, text := range own {
		texts = append(texts, text)
	}
	for _, text := range addonsv1alpha1.Definitions() {
		texts = append(texts, text)
	}
	server.Define(f.T, texts...)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, addonsv1alpha1.Builder().AddToScheme} {
		f.must(add(scheme))
	}
	config := *server.Config
	config.QPS = -1
	f.Client, err = client.New(&config, client.Options{Scheme: scheme})
	f.must(err)
}

// standIn is who plays Cluster API.
func (f *fleet) standIn(config *rest.Config) *clusterAPI {
	f.Helper()
	return &clusterAPI{t: f.T, kube: f.Client, kept: f.kept(config), says: statuses()}
}

// kept is a cache of what is on the API server.
func (f *fleet) kept(config *rest.Config) cache.Cache {
	f.Helper()
	kept, err := cache.New(config, cache.Options{Scheme: f.Scheme(), DefaultTransform: cache.TransformStripManagedFields()})
	f.must(err)
	return kept
}

// control starts the controllers as a process of their own.
func (f *fleet) control(kubeconfig []byte) {
	f.Helper()
	file := filepath.Join(f.TempDir(), "kubeconfig")
	f.must(os.WriteFile(file, kubeconfig, 0o600))
	f.process = &program{T: f.T, name: "the controllers", args: []string{"--only", "magnum", "--kubeconfig", file, "--log-level", "warn"}}
	f.process.start()
}

// create makes the clusters as the API would.
func (f *fleet) create() {
	namespace := v1alpha1.Namespace(project)
	f.must(f.Create(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	values := v1alpha1.TemplateValues{COE: "kubernetes", ServerType: "vm", ImageID: "image", FlavorID: "m1.large", MasterFlavorID: "m1.large",
		ExternalNetworkID: "public", NetworkDriver: "calico", FloatingIPEnabled: true, MasterLBEnabled: true}
	t := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bench"}}
	t.Spec.Identity = v1alpha1.Identity{UUID: uuid.NewString(), Name: "bench", ProjectID: project}
	t.Spec.TemplateValues = values
	f.must(f.Create(f.Context(), t))
	var group errgroup.Group
	group.SetLimit(clients)
	for i := range f.clusters {
		group.Go(func() error { return f.createOne(fmt.Sprintf("c-%d", i), t) })
	}
	f.must(group.Wait())
}

func (f *fleet) createOne(name string, t *v1alpha1.ClusterTemplate) error {
	one, minutes := int32(1), int32(0)
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name, Finalizers: []string{v1alpha1.FinalizerCluster}}}
	c.Spec = v1alpha1.ClusterSpec{Identity: v1alpha1.Identity{UUID: uuid.NewString(), Name: name, ProjectID: project}, TemplateRef: v1alpha1.TemplateRef{Name: t.Name},
		Template: &v1alpha1.TemplateSnapshot{UUID: t.UUID(), Name: t.Name, TemplateValues: t.Spec.TemplateValues}, StackID: name,
		MasterFlavorID: "m1.large", FlavorID: "m1.large", MasterCount: 1, NodeCount: &one, CreateTimeoutMinutes: &minutes,
		Resolved: &v1alpha1.ResolvedNames{ExternalNetworkID: uuid.NewString(), VolumeTypes: []string{"ssd"},
			Image: v1alpha1.ResolvedImage{ID: uuid.NewString(), OSDistro: "ubuntu", KubernetesVersion: "1.34.4"}},
		Credential: v1alpha1.Credential{SecretName: name + "-cloud-credentials", ApplicationCredentialID: "a", UserID: "u"}}
	err := f.Create(f.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: c.Spec.Credential.SecretName,
		Labels: map[string]string{v1alpha1.LabelCluster: v1alpha1.LabelValue(c.UUID()), v1alpha1.LabelStack: name}},
		Data: map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {auth: {auth_url: https://keystone.example/v3, application_credential_id: a, application_credential_secret: b}}}")}})
	if err != nil {
		return err
	}
	return f.Create(f.Context(), c)
}

// settle waits until all clusters are complete and nothing is worked on.
func (f *fleet) settle(what string) {
	f.Helper()
	before := processors(f.T)["slipway"]
	began := time.Now()
	last, quiet, told := -1.0, 0, began
	for quiet < 3 {
		if time.Since(began) > settleTime {
			f.Fatalf("after %s %s", settleTime, f.missing())
		}
		time.Sleep(5 * time.Second)
		if time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Printf("%s: %s\n", time.Since(began).Round(time.Second), f.missing())
		}
		now := f.process.sum("controller_runtime_reconcile_total", "")
		if quiet++; now != last || f.missing() != "" {
			quiet = 0
		}
		last = now
	}
	took := time.Since(began) - 15*time.Second
	used := processors(f.T)["slipway"] - before
	fmt.Printf("%d clusters %s in %s: %.1f reconciles and %s of processor each. %s\n", f.clusters, what, took.Round(time.Second),
		f.process.sum("controller_runtime_reconcile_total", "")/float64(f.clusters), round(used/time.Duration(f.clusters)), f.memory())
}

// missing says which clusters are not complete, "" when all are.
func (f *fleet) missing() string {
	list := &v1alpha1.ClusterList{}
	f.must(f.List(f.Context(), list))
	complete, example := 0, ""
	for _, c := range list.Items {
		if c.Status.Phase == v1alpha1.CreateComplete && c.Status.ObservedGeneration == c.Generation {
			complete++
		} else {
			example = fmt.Sprintf("%s is %q (%s)", c.Name, c.Status.Phase, c.Status.StatusReason)
		}
	}
	if complete == f.clusters {
		return ""
	}
	return fmt.Sprintf("%d of %d clusters are complete; %s", complete, f.clusters, example)
}

// rest measures a time in which nothing happens.
func (f *fleet) rest() {
	f.Helper()
	looks, asked, used := f.process.sum("controller_runtime_reconcile_total", ""), f.process.sum("rest_client_requests_total", ""), processors(f.T)["slipway"]
	time.Sleep(restTime)
	looks, asked, used = f.process.sum("controller_runtime_reconcile_total", "")-looks, f.process.sum("rest_client_requests_total", "")-asked, processors(f.T)["slipway"]-used
	fmt.Printf("At rest: %.3f reconciles and %.3f requests for each cluster and minute, %.4f processors. %s\n", looks/float64(f.clusters)/restTime.Minutes(),
		asked/float64(f.clusters)/restTime.Minutes(), used.Seconds()/restTime.Seconds(), f.memory())
}

// change changes the status of each cluster's worker once, as a node that is
// written about does.
func (f *fleet) change() {
	f.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(machineKind())
	list.SetKind("MachineList")
	f.must(f.List(f.Context(), list, client.HasLabels{"cluster.x-k8s.io/deployment-name"}))
	looks, used := f.process.sum("controller_runtime_reconcile_total", ""), processors(f.T)["slipway"]
	began := time.Now()
	for i := range list.Items {
		f.must(unstructured.SetNestedField(list.Items[i].Object, time.Now().UTC().Format(time.RFC3339), "status", "lastUpdated"))
		m := &list.Items[i]
		f.must(unstructured.SetNestedSlice(m.Object, append(conditions("Available", "Ready", "NodeReady"), conditions("NodeHealthy")...), "status", "conditions"))
		f.must(f.Status().Update(f.Context(), m))
	}
	time.Sleep(15 * time.Second)
	fmt.Printf("%d machines changed in %s: %.2f reconciles and %s of processor each\n", len(list.Items), (time.Since(began) - 15*time.Second).Round(time.Second),
		(f.process.sum("controller_runtime_reconcile_total", "")-looks)/float64(len(list.Items)), round((processors(f.T)["slipway"]-used)/time.Duration(max(1, len(list.Items)))))
}

func (f *fleet) memory() string {
	used := devcloud.MemoryOf(f.process.pid())
	result := "ok"
	if used.Resident > fleetMemory {
		result = "missed"
	}
	return fmt.Sprintf("Memory: %s (target %d MiB, %s).", inWords(used), fleetMemory>>20, result)
}
