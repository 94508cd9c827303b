// Package addonprovider measures what the addon provider costs while nothing
// happens.
package addonprovider

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/test/bench/chartrepo"
)

const (
	releasesPerCluster = 12
	// providerVariable makes the test's binary the provider.
	providerVariable = "SLIPWAY_BENCH_PROVIDER"
	// The targets that docs/guides/addon-provider.md names.
	maxMemory = 200 << 20
	maxCores  = 0.1
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if dir := os.Getenv(providerVariable); dir != "" {
		if err := provide(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// provide runs the provider until it is told to end.
func provide(dir string) error {
	// As the Deployment of the controllers sets it.
	debug.SetMemoryLimit(180 << 20)
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	err = addonprovider.Setup(mgr, addonprovider.Options{CacheDir: filepath.Join(dir, "cache")})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

type bench struct {
	*testing.T
	client   client.Client
	dir      string
	clusters int
	charts   *chartrepo.Repository
}

// proves: F128
func TestIdle(t *testing.T) {
	s := kubetest.Start(t)
	b := &bench{T: t, dir: t.TempDir(), clusters: 200}
	if text := os.Getenv("SLIPWAY_BENCH_CLUSTERS"); text != "" {
		n, err := strconv.Atoi(text)
		b.check(err)
		b.clusters = n
	}
	b.prepare(s)
	began := time.Now()
	p := b.start()
	b.until(func() string { return b.missing() })
	took := time.Since(began)
	t.Logf("%d releases deployed in %s, %.0f MiB at most", b.clusters*releasesPerCluster, took.Round(time.Second), p.peak())
	b.asked("installing", 2*releasesPerCluster)
	b.idle(p, "after installing")
	before := b.revisions()
	p.end()
	b.again("a restart", 0)
	b.check(os.RemoveAll(filepath.Join(b.dir, "cache")))
	b.again("a restart without the charts", 2*releasesPerCluster)
	if after := b.revisions(); after != before {
		t.Errorf("%d revisions before the restarts, %d after", before, after)
	}
}

// again runs the provider once more over what is there.
func (b *bench) again(when string, fetches int) {
	p := b.start()
	time.Sleep(30 * time.Second)
	b.Logf("%s: %.1f s of processor, %.0f MiB at most", when, p.seconds(), p.peak())
	b.asked(when, fetches)
	if memory, cores := b.idle(p, "after "+when); memory > maxMemory || cores > maxCores {
		b.Errorf("%.0f MiB and %.3f cores are too much", memory/(1<<20), cores)
	}
	p.end()
}

// asked tells how often the repository was asked since the last time; an index
// and an archive for each chart is what it may be at most.
func (b *bench) asked(when string, most int) {
	b.Helper()
	asked := b.charts.Asked.Swap(0)
	b.Logf("%s: %d requests for charts", when, asked)
	if asked > int64(most) {
		b.Errorf("%s asked for charts %d times, not %d", when, asked, most)
	}
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// prepare makes definitions, charts, clusters and releases.
func (b *bench) prepare(s *kubetest.Server) {
	scheme := runtime.NewScheme()
	b.check(clientgoscheme.AddToScheme(scheme))
	b.check(apiextensionsv1.AddToScheme(scheme))
	b.check(v1alpha1.Builder().AddToScheme(scheme))
	config := rest.CopyConfig(s.Config)
	config.QPS, config.Burst = -1, -1
	var err error
	b.client, err = client.New(config, client.Options{Scheme: scheme})
	b.check(err)
	b.check(os.WriteFile(filepath.Join(b.dir, "kubeconfig"), s.Kubeconfig, 0o600))
	for _, text := range v1alpha1.Definitions() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		b.check(yaml.UnmarshalStrict(text, crd))
		b.check(b.client.Create(context.Background(), crd))
	}
	b.standIn("cluster.x-k8s.io", "Cluster", "clusters")
	b.standIn("infrastructure.cluster.x-k8s.io", "OpenStackCluster", "openstackclusters")
	time.Sleep(3 * time.Second)
	b.charts = chartrepo.Serve(b.T, releasesPerCluster)
	var group sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range b.clusters {
		places <- struct{}{}
		group.Go(func() {
			b.cluster(fmt.Sprintf("c%d", i), s.Kubeconfig)
			<-places
		})
	}
	group.Wait()
}

func (b *bench) standIn(group, kind, plural string) {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
	crd.Spec.Group, crd.Spec.Scope = group, apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1beta1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}}}}
	b.check(b.client.Create(context.Background(), crd))
}

func (b *bench) cluster(name string, kubeconfig []byte) {
	ctx := context.Background()
	create := func(o client.Object) { b.check(b.client.Create(ctx, o)) }
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	secret := func(suffix, key string, value []byte) {
		create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name + suffix}, Data: map[string][]byte{key: value}})
	}
	secret("-kubeconfig", "value", kubeconfig)
	secret("-cloud-credentials", "clouds.yaml", []byte("clouds: {}"))
	object := func(apiVersion, kind string, content map[string]any) {
		u := &unstructured.Unstructured{Object: content}
		u.SetAPIVersion(apiVersion)
		u.SetKind(kind)
		u.SetNamespace(name)
		u.SetName(name)
		create(u)
	}
	object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", map[string]any{"spec": map[string]any{"identityRef": map[string]any{"name": name + "-cloud-credentials"}}})
	object("cluster.x-k8s.io/v1beta1", "Cluster", map[string]any{
		"spec":   map[string]any{"infrastructureRef": map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "name": name}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True"}, map[string]any{"type": "Ready", "status": "True"}}}})
	for i := range releasesPerCluster {
		release := fmt.Sprintf("%s-addon-%d", name, i)
		create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: release + "-config", Labels: map[string]string{v1alpha1.WatchLabel: ""}},
			Data: map[string][]byte{"defaults": []byte("cluster: {{ cluster.metadata.name }}\n" + strings.Repeat("# text\n", 200)), "overrides": []byte("a: {b: 1}")}})
		create(&v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: release}, Spec: v1alpha1.HelmReleaseSpec{
			AddonSpec: v1alpha1.AddonSpec{ClusterName: name, Bootstrap: true, TargetNamespace: name},
			Chart:     v1alpha1.Chart{Repo: b.charts.URL, Name: chartrepo.Name(i), Version: chartrepo.Version},
			ValuesSources: []v1alpha1.ValuesSource{{Secret: &v1alpha1.NameKey{Name: release + "-config", Key: "defaults"}},
				{Secret: &v1alpha1.NameKey{Name: release + "-config", Key: "overrides"}}}}})
	}
}

// missing says how many releases are not deployed yet, or nothing.
func (b *bench) missing() string {
	var list v1alpha1.HelmReleaseList
	b.check(b.client.List(context.Background(), &list))
	phases := map[v1alpha1.Phase]int{}
	message := ""
	for i := range list.Items {
		phases[list.Items[i].Status.Phase]++
		if text := list.Items[i].Status.FailureMessage; text != "" {
			message = text
		}
	}
	if phases[v1alpha1.PhaseDeployed] == b.clusters*releasesPerCluster {
		return ""
	}
	return fmt.Sprint(phases, message)
}

func (b *bench) until(missing func() string) {
	deadline := time.Now().Add(25 * time.Minute)
	for {
		text := missing()
		if text == "" {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal(text)
		}
		time.Sleep(5 * time.Second)
	}
}

// revisions counts the records of Helm.
func (b *bench) revisions() int {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	b.check(b.client.List(context.Background(), list, client.MatchingLabels{"owner": "helm"}))
	return len(list.Items)
}

// idle measures a minute in which nothing happens.
func (b *bench) idle(p *process, when string) (memory, cores float64) {
	time.Sleep(15 * time.Second)
	const span = time.Minute
	before := p.seconds()
	time.Sleep(span)
	cores = (p.seconds() - before) / span.Seconds()
	memory = p.resident()
	b.Logf("%s: %.0f MiB resident, %.3f cores", when, memory/(1<<20), cores)
	return memory, cores
}

// process is the provider.
type process struct {
	*bench
	command *exec.Cmd
}

func (b *bench) start() *process {
	self, err := os.Executable()
	b.check(err)
	p := &process{b, exec.Command(self)}
	p.command.Env = append(os.Environ(), providerVariable+"="+b.dir)
	p.command.Stderr = os.Stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	b.check(p.command.Start())
	b.Cleanup(func() { p.command.Process.Kill() }) //nolint:errcheck // it may have ended
	return p
}

func (p *process) end() {
	p.check(p.command.Process.Signal(syscall.SIGTERM))
	p.check(p.command.Wait())
}

// status is a line of /proc/<pid>/status, in bytes.
func (p *process) status(name string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	p.check(err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			p.check(err)
			return n * 1024
		}
	}
	p.Fatalf("no %s", name)
	return 0
}

func (p *process) resident() float64 { return p.status("VmRSS") }

func (p *process) peak() float64 { return p.status("VmHWM") / (1 << 20) }

// seconds is the processor time used so far.
func (p *process) seconds() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	p.check(err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	p.check(err)
	system, err := strconv.ParseFloat(fields[12], 64)
	p.check(err)
	return (user + system) / 100
}
