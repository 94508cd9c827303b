package janitor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// kubernetes is a real API server with CAPO's definitions, a sandbox, and a
// janitor with nothing but the rights of its role.
type kubernetes struct {
	*testing.T
	config *rest.Config
	client client.Client
	cloud  *sandboxtest.Cloud
}

const user = "janitor-under-test"

func start(t *testing.T) *kubernetes {
	t.Helper()
	k := &kubernetes{T: t, cloud: sandboxtest.Start(t)}
	server := kubetest.Start(t)
	k.config = server.Config
	k.define(server.Config)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{janitor.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if k.client, err = client.New(server.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	k.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: janitor.Rules()})
	k.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}})
	k.run(server.Config)
	return k
}

// define applies CAPO's and Cluster API's definitions from the bundle, without
// the webhooks that would convert: all objects here are in the stored version.
func (k *kubernetes) define(config *rest.Config) {
	k.Helper()
	cluster, err := kube.New(config)
	if err != nil {
		k.Fatal(err)
	}
	for _, pattern := range []string{"providers/infrastructure-openstack/*/infrastructure-components.yaml", "providers/cluster-api/*/core-components.yaml"} {
		files, err := filepath.Glob(filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), pattern))
		if err != nil || len(files) == 0 {
			k.Fatalf("no %s in the bundle (%v)", pattern, err)
		}
		file, err := os.Open(files[0])
		if err != nil {
			k.Fatal(err)
		}
		defer file.Close()
		objects, err := kube.Decode(file)
		if err != nil {
			k.Fatal(err)
		}
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
			name := o.GetName()
			return o.GetKind() != "CustomResourceDefinition" || !strings.HasPrefix(name, "openstackcluster") && name != "clusters.cluster.x-k8s.io"
		})
		for _, object := range objects {
			unstructured.RemoveNestedField(object.Object, "spec", "conversion")
		}
		if err := cluster.ApplyObjects(k.Context(), objects); err != nil {
			k.Fatal(err)
		}
	}
	// Clients look once what there is: all versions must be told of by then.
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		k.Fatal(err)
	}
	for version, name := range map[string]string{"infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters", "cluster.x-k8s.io/v1beta2": "clusters"} {
		k.await(name+" of "+version, 30*time.Second, func() bool {
			list, err := found.ServerResourcesForGroupVersion(version)
			return err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
		})
	}
}

func (k *kubernetes) run(config *rest.Config) {
	k.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	config.QPS = -1
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := janitor.AddToScheme(scheme); err != nil {
		k.Fatal(err)
	}
	m, err := manager.New(config, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		k.Fatal(err)
	}
	o := janitor.DefaultOptions()
	o.Workers = 2
	if err := janitor.Setup(m, o); err != nil {
		k.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	k.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			k.Error(err)
		}
	})
}

func (k *kubernetes) create(object client.Object) {
	k.Helper()
	if err := k.client.Create(k.Context(), object); err != nil {
		k.Fatal(err)
	}
}

func openStackCluster() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	object.SetKind("OpenStackCluster")
	return object
}

// cluster makes a cluster with a volume, and a Secret that leads to an address.
func (k *kubernetes) cluster(name, address string) (*unstructured.Unstructured, string) {
	k.Helper()
	k.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StringData: map[string]string{"clouds.yaml": fmt.Sprintf(
		`clouds: {openstack: {region_name: RegionOne, auth: {auth_url: "%s/identity", username: demo, password: "%s", project_name: demo, user_domain_name: Default, project_domain_name: Default}}}`,
		address, k.cloud.Passwords().Demo)}})
	object := openStackCluster()
	object.SetNamespace("default")
	object.SetName(name)
	object.Object["spec"] = map[string]any{"identityRef": map[string]any{"name": name, "cloudName": "openstack"},
		"controlPlaneEndpoint": map[string]any{"host": "203.0.113.9", "port": int64(6443)}}
	k.create(object)
	volume, err := volumes.Create(k.Context(), k.cloud.Member.BlockStorage(k), volumes.CreateOpts{Size: 1,
		Metadata: map[string]string{"cinder.csi.openstack.org/cluster": name}}, nil).Extract()
	if err != nil {
		k.Fatal(err)
	}
	return object, volume.ID
}

func (k *kubernetes) await(what string, within time.Duration, check func() bool) {
	k.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if check() {
			return
		}
	}
	k.Fatalf("not within %s: %s", within, what)
}

func (k *kubernetes) finalized(object *unstructured.Unstructured) func() bool {
	return func() bool {
		now := openStackCluster()
		return k.client.Get(k.Context(), client.ObjectKeyFromObject(object), now) == nil && slices.Contains(now.GetFinalizers(), janitor.Finalizer)
	}
}

// TestOnAnAPIServer has the janitor work through its role alone: it gets the
// Secret but may not list any, writes its condition into CAPO's schema, and
// cleans one cluster while another fails.
//
// proves: F140, F146, F154, S-72
func TestOnAnAPIServer(t *testing.T) {
	t.Parallel()
	k := start(t)
	failing, held := k.cluster("failing", "http://127.0.0.1:1")
	healthy, volume := k.cluster("healthy", k.cloud.URL())
	for _, object := range []*unstructured.Unstructured{failing, healthy} {
		k.await("finalizer of "+object.GetName(), 15*time.Second, k.finalized(object))
	}
	if err := k.client.Delete(t.Context(), failing); err != nil {
		t.Fatal(err)
	}
	k.await("condition of the failing cluster", 30*time.Second, func() bool {
		now := openStackCluster()
		if err := k.client.Get(t.Context(), client.ObjectKeyFromObject(failing), now); err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
		return strings.Contains(fmt.Sprint(conditions), janitor.ConditionType) && strings.Contains(fmt.Sprint(conditions), janitor.ReasonCloudUnreachable)
	})
	if err := k.client.Delete(t.Context(), healthy); err != nil {
		t.Fatal(err)
	}
	k.await("end of the healthy cluster", 10*time.Second, func() bool {
		return apierrors.IsNotFound(k.client.Get(t.Context(), client.ObjectKeyFromObject(healthy), openStackCluster()))
	})
	client := k.cloud.Member.BlockStorage(t)
	if err := volumes.Get(t.Context(), client, volume).Err; !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("the volume is there (%v)", err)
	}
	if err := volumes.Get(t.Context(), client, held).Err; err != nil {
		t.Errorf("volume of the failing cluster: %v", err)
	}
	k.mayNotListSecrets()
	k.release(failing)
}

// mayNotListSecrets makes sure that the test would see a janitor that lists.
func (k *kubernetes) mayNotListSecrets() {
	k.Helper()
	config := rest.CopyConfig(k.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	limited, err := client.New(config, client.Options{Scheme: k.client.Scheme()})
	if err != nil {
		k.Fatal(err)
	}
	if err := limited.List(k.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		k.Errorf("listing Secrets: %v, want it forbidden", err)
	}
	events := &corev1.EventList{}
	if err := k.client.List(k.Context(), events, client.InNamespace("default")); err != nil {
		k.Fatal(err)
	}
	var reasons []string
	for _, event := range events.Items {
		reasons = append(reasons, event.Reason)
	}
	for _, want := range []string{janitor.EventSucceeded, janitor.ReasonCloudUnreachable} {
		if !slices.Contains(reasons, want) {
			k.Errorf("events %v have no %s", reasons, want)
		}
	}
}

func (k *kubernetes) release(object *unstructured.Unstructured) {
	k.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+janitor.ReleaseAnnotation+`":"true"}}}`))
	if err := k.client.Patch(k.Context(), object, patch); err != nil {
		k.Fatal(err)
	}
	k.await("release of the failing cluster", 10*time.Second, func() bool {
		return apierrors.IsNotFound(k.client.Get(k.Context(), client.ObjectKeyFromObject(object), openStackCluster()))
	})
}
