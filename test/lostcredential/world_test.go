package lostcredential

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/controller"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// patience of tests is for machines that are busy with others; soon is how long former
// credentials stay, and what needs help is waited for.
const (
	patience = 90 * time.Second
	soon     = 2 * time.Second
)

// world is a cloud with the Magnum API on a management cluster without Cluster API's
// controllers; the test does what they would.
type world struct {
	*testing.T
	box    *sandboxtest.Cloud
	kube   client.Client
	magnum *gophercloud.ServiceClient
	user   string
	// stack, namespace and uuid are the cluster's.
	stack, namespace, uuid string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := kubetest.Start(t)
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	ours, err := magnum.CRDs()
	w := &world{T: t, box: sandboxtest.Start(t)}
	w.must(err)
	server.Define(t, slices.AppendSeq(slices.Collect(maps.Values(addons.Definitions())), maps.Values(ours))...)
	scheme := runtime.NewScheme()
	w.must(errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	w.kube, err = client.New(config, client.Options{Scheme: scheme})
	w.must(err)
	granted := w.box.Member.Provider.GetAuthResult().(tokens.CreateResult)
	user, err := granted.ExtractUser()
	w.must(err)
	project, err := granted.ExtractProject()
	w.must(err)
	w.user, w.namespace = user.ID, v1alpha1.Namespace(project.ID)
	w.serve(config, scheme)
	return w
}

// serve starts the API and its controllers.
func (w *world) serve(config *rest.Config, scheme *runtime.Scheme) {
	w.Helper()
	mgr, err := ctrl.NewManager(config, manager.Options{Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"}})
	w.must(err)
	w.must(controller.Setup(mgr, controller.Options{Chart: func() (*chart.Chart, error) { return openstackcluster.Chart() },
		Revoker: controller.AdminRevoker{Cloud: w.administrator()}, Clouds: look.NewCache(time.Now).Every(soon), Overlap: soon, Patience: soon}))
	ctx, cancel := context.WithCancel(context.Background())
	stock, err := inventory.New(ctx, mgr.GetCache())
	w.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			w.Error(err)
		}
	}()
	w.Cleanup(func() { cancel(); <-ended })
	rules, err := policy.New(nil)
	w.must(err)
	identity := w.box.Admin.Identity(w.T)
	handler, err := api.New(api.Options{Client: w.kube, Inventory: stock, Cloud: &openstack.Cloud{}, Policy: rules, AuthURL: w.box.URL() + "/identity", Log: slog.New(slog.DiscardHandler),
		Tokens:      keystone.NewValidator(keystone.Options{Identity: func(context.Context) (*gophercloud.ServiceClient, error) { return identity, nil }}),
		Credentials: openstack.CredentialOptions{Roles: []string{"member"}, Region: "RegionOne"}})
	w.must(err)
	front := httptest.NewServer(handler)
	w.Cleanup(front.Close)
	w.until("the informers", stock.Synced)
	w.magnum = &gophercloud.ServiceClient{ProviderClient: w.box.Member.Provider, Endpoint: front.URL + "/v1/", Type: "container-infra", Microversion: "1.14"}
}

// administrator is the login of the controllers.
func (w *world) administrator() cloud.Options {
	w.Helper()
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"admin": map[string]any{"region_name": "RegionOne", "auth": map[string]any{"auth_url": w.box.URL() + "/identity",
		"username": "admin", "password": w.box.Passwords().Admin, "project_name": "admin", "user_domain_id": "default", "project_domain_id": "default"}}}})
	w.must(err)
	return cloud.Options{Cloud: "admin", CloudsYAML: text}
}

// cluster makes one by the API, and has it complete.
func (w *world) cluster() {
	w.Helper()
	public, yes, one := images.ImageVisibilityPublic, true, 1
	_, err := images.Create(w.Context(), w.box.Admin.Image(w.T), images.CreateOpts{Name: "node", Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract()
	w.must(err)
	template, err := clustertemplates.Create(w.Context(), w.magnum, clustertemplates.CreateOpts{Name: "t", COE: "kubernetes", ImageID: "node", ExternalNetworkID: "public",
		FlavorID: "m1.large", MasterFlavorID: "m1.medium", MasterLBEnabled: &yes}).Extract()
	w.must(err)
	w.uuid, err = clusters.Create(w.Context(), w.magnum, clusters.CreateOpts{Name: "shop", ClusterTemplateID: template.UUID, NodeCount: &one}).Extract()
	w.must(err)
	var list v1alpha1.ClusterList
	w.must(w.kube.List(w.Context(), &list, client.InNamespace(w.namespace)))
	if len(list.Items) != 1 {
		w.Fatalf("%d clusters in %s", len(list.Items), w.namespace)
	}
	w.stack = list.Items[0].Stack()
	w.settle()
	w.until("CREATE_COMPLETE", func() bool { return w.show().Status == "CREATE_COMPLETE" })
}

// settle says that Cluster API and the addon provider have done all.
func (w *world) settle() {
	w.Helper()
	const now = "2026-01-01T00:00:00Z"
	conditions := func(types ...string) []any {
		var all []any
		for _, kind := range types {
			all = append(all, map[string]any{"type": kind, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": now})
		}
		return all
	}
	w.say("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", w.stack+"-control-plane", map[string]any{"observedGeneration": int64(1), "replicas": int64(1), "readyReplicas": int64(1),
		"upToDateReplicas": int64(1), "version": "v1.34.2", "conditions": conditions("Available", "MachinesReady", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy")})
	w.say("cluster.x-k8s.io/v1beta2", "MachineDeployment", w.stack+"-default-worker", map[string]any{"phase": "Running", "observedGeneration": int64(1), "replicas": int64(1), "readyReplicas": int64(1), "upToDateReplicas": int64(1)})
	for _, kind := range []string{"HelmRelease", "Manifests"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("addons.stackhpc.com/v1alpha1")
		list.SetKind(kind + "List")
		w.must(w.kube.List(w.Context(), list, client.InNamespace(w.namespace)))
		for i := range list.Items {
			w.say("addons.stackhpc.com/v1alpha1", kind, list.Items[i].GetName(), map[string]any{"phase": "Deployed"})
		}
	}
	w.say("cluster.x-k8s.io/v1beta2", "Cluster", w.stack, map[string]any{"conditions": conditions("Available", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized")})
}

// object is one of Cluster API's; it is waited for.
func (w *world) object(version, kind, name string) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	w.until(kind+" "+name, func() bool {
		return w.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o) == nil
	})
	return o
}

func (w *world) say(version, kind, name string, status map[string]any) {
	w.Helper()
	w.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o := w.object(version, kind, name)
		if _, has := status["observedGeneration"]; has {
			status["observedGeneration"] = o.GetGeneration()
		}
		o.Object["status"] = status
		return w.kube.Status().Update(w.Context(), o)
	}))
}

// show is the cluster as its tenant sees it; nil if it is gone.
func (w *world) show() *clusters.Cluster {
	w.Helper()
	c, err := clusters.Get(w.Context(), w.magnum, w.uuid).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	w.must(err)
	return c
}

// shown is the cluster in words, for failures.
func (w *world) shown() string {
	c := w.show()
	if c == nil {
		return "no cluster"
	}
	return fmt.Sprintf("%s (%s), %s %v", c.Status, c.StatusReason, c.HealthStatus, c.HealthStatusReason)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) until(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			if w.uuid != "" {
				what += ": it is " + w.shown()
			}
			w.Fatalf("waited in vain for %s", what)
		}
	}
}
