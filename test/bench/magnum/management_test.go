package magnum

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/test/bench/chartrepo"
	"github.com/slipway-sh/slipway/test/endpoint"
)

const (
	// releases are the addons of each cluster.
	releases        = 3
	environmentName = "fleet"
	// login is the entry of clouds.yaml of the environment's project.
	login = "sandbox"
	admin = "sandbox-admin"
)

// management is a management cluster, with the cloud that its clusters are in.
type management struct {
	*fleet
	cloud *sandboxtest.Cloud
	// counters are the services of the cloud by the rules that count their calls.
	counters map[string]string
	charts   *chartrepo.Repository
	// kubeconfig is a file by which programs talk to the API server, text is what it has.
	kubeconfig string
	text       []byte
	api        *endpoint.Endpoint
	programs   []*program
	watch      *watch
}

func newManagement(t *testing.T) *management {
	t.Helper()
	plane := controlPlane(t)
	m := &management{fleet: &fleet{T: t, clusters: clustersWanted(t)}, cloud: sandboxtest.Start(t), charts: chartrepo.Serve(t, releases)}
	m.define(&kubetest.Server{Config: plane.Config, Kubeconfig: plane.KubeConfig})
	m.text, m.kubeconfig = asPod(t, plane, m.Client), filepath.Join(t.TempDir(), "kubeconfig")
	m.must(os.WriteFile(m.kubeconfig, m.text, 0o600))
	m.furnish()
	m.count()
	m.play(plane.Config)
	m.watch = m.watchClusters(plane.Config)
	m.serve()
	return m
}

// furnish makes what an environment has in the cloud and on its management cluster.
func (m *management) furnish() {
	m.Helper()
	public := images.ImageVisibilityPublic
	_, err := images.Create(m.Context(), m.cloud.Admin.Image(m.T), images.CreateOpts{Name: "k134", Visibility: &public, DiskFormat: "raw",
		ContainerFormat: "bare", Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract()
	m.must(err)
	network, owner := m.cloud.Member.Network(m.T), ownership.New(environmentName, fence.Step)
	group, err := groups.Create(m.Context(), network, groups.CreateOpts{Name: owner.Name()}).Extract()
	m.must(err)
	_, err = attributestags.ReplaceAll(m.Context(), network, "security-groups", group.ID, attributestags.ReplaceAllOpts{Tags: owner.Tags()}).Extract()
	m.must(err)
	m.must(m.Create(m.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: restore.RecordName}}))
}

// count has the cloud count the calls to each of its services.
func (m *management) count() {
	m.Helper()
	m.counters = map[string]string{}
	for _, service := range []string{"identity", "image", "network", "compute", "volumev3", "load-balancer", "key-manager", "object-store", "placement"} {
		// No call is the n-th, so that none fails.
		rule, err := m.cloud.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Status: 503, Nth: math.MaxInt})
		m.must(err)
		m.counters[rule.ID] = service
	}
}

// calls are those so far, by service.
func (m *management) calls() map[string]int {
	all := map[string]int{}
	for _, rule := range m.cloud.Faults.List() {
		if service, ok := m.counters[rule.ID]; ok {
			all[service] = rule.Calls
		}
	}
	return all
}

// play starts the stand-in for Cluster API and its provider. Addons are the addon
// provider's.
func (m *management) play(config *rest.Config) {
	m.Helper()
	stand := m.standIn(config)
	delete(stand.says, releaseKind())
	delete(stand.says, manifestsKind())
	stand.before = m.equip
	stand.play(m.Context())
}

// equip makes the kubeconfig and the addons of a cluster. Both are there before the
// cluster is available, as the chart's own are.
func (m *management) equip(ctx context.Context, cluster *unstructured.Unstructured) error {
	namespace, name := cluster.GetNamespace(), cluster.GetName()
	all := []client.Object{secret(namespace, name+"-kubeconfig", nil, "value", m.text)}
	for i := range releases {
		release := fmt.Sprintf("%s-addon-%d", name, i)
		labels := map[string]string{observe.LabelStack: name, addonsv1alpha1.ClusterLabel: name}
		values := secret(namespace, release+"-config", map[string]string{addonsv1alpha1.WatchLabel: ""}, "defaults", []byte("cluster: {{ cluster.metadata.name }}\na: {b: 1}\n"))
		o := &addonsv1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: release, Labels: labels}, Spec: addonsv1alpha1.HelmReleaseSpec{
			AddonSpec:     addonsv1alpha1.AddonSpec{ClusterName: name, Bootstrap: true, TargetNamespace: name},
			Chart:         addonsv1alpha1.Chart{Repo: m.charts.URL, Name: chartrepo.Name(i), Version: chartrepo.Version},
			ValuesSources: []addonsv1alpha1.ValuesSource{{Secret: &addonsv1alpha1.NameKey{Name: values.Name, Key: "defaults"}}}}}
		all = append(all, values, o)
	}
	for _, o := range all {
		if err := m.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("equipping cluster %s: %w", name, err)
		}
	}
	return nil
}

func secret(namespace, name string, labels map[string]string, key string, value []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Data: map[string][]byte{key: value}}
}

// serve starts the API and all controllers, as the Deployments of the chart do.
func (m *management) serve() {
	m.Helper()
	m.api = endpoint.Start(m.T, endpoint.Options{Program: slipway(m.T), Kubeconfig: m.text, CloudsYAML: m.cloud.CloudsYAML(), Cloud: admin,
		Listen: endpoint.FreeAddress(m.T), Metrics: "0", Flags: []string{"--default-quota", fmt.Sprint(2 * m.clusters)}})
	// The chart's own addons are of one cluster's whole API server, which the clusters share here.
	values := filepath.Join(m.TempDir(), "values.yaml")
	m.must(os.WriteFile(values, []byte("addons: {enabled: false}\n"), 0o600))
	m.program("addon provider", "1GiB", map[string]int{"addon-HelmRelease": releases}, "addon-provider", "--addon-cache", filepath.Join(m.TempDir(), "charts"))
	m.program("janitor, pruner and causes", "512MiB", map[string]int{"cluster-api-janitor-openstack": 1}, "janitor,template-pruner,causes")
	m.program("Magnum controllers", "1GiB", map[string]int{"magnum": 1}, "magnum", "--magnum-values", values, "--magnum-os-cloud", admin)
}

// program starts sets of controllers with the memory that their Deployment has.
func (m *management) program(name, memory string, looks map[string]int, sets string, args ...string) {
	m.Helper()
	p := &program{T: m.T, name: name, looks: looks, environment: []string{"OS_CLIENT_CONFIG_FILE=" + m.cloud.CloudsYAML(), "GOMEMLIMIT=" + memory}}
	p.args = append([]string{"--only", sets, "--kubeconfig", m.kubeconfig, "--fence-environment", environmentName, "--fence-os-cloud", login}, args...)
	m.programs = append(m.programs, p)
	p.start()
}
