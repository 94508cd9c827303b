package upkeep

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// world is a watch of a sandbox, with a clock.
type world struct {
	*testing.T
	watch  *watch
	client *fake.FakeDynamicClient
	clock  time.Time
	box    *sandboxtest.Cloud
	user   string
	// project is the id of the project.
	project string
}

// kinds are those that the watch reads, by group and version.
func kinds() map[string]string {
	return map[string]string{"v1": "secrets namespaces", "infrastructure.cluster.x-k8s.io/v1alpha1": "openstackclusteridentities", "cluster.x-k8s.io/v1beta2": "clusters machinedeployments", "controlplane.cluster.x-k8s.io/v1beta2": "kubeadmcontrolplanes",
		"infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters openstackmachinetemplates", v1alpha1.Group + "/v1alpha1": "clustertemplates"}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	for group, names := range kinds() {
		for _, name := range strings.Fields(names) {
			version, _ := schema.ParseGroupVersion(group)
			lists[version.WithResource(name)] = name + "List"
		}
	}
	w := &world{T: t, client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), clock: time.Now(), box: sandboxtest.Start(t)}
	granted := w.box.Member.Provider.GetAuthResult().(tokens.CreateResult)
	user, err := granted.ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	project, err := granted.ExtractProject()
	if err != nil {
		t.Fatal(err)
	}
	w.user, w.project = user.ID, project.ID
	w.begin(w.member())
	return w
}

// begin starts the watch anew, as another pod, with a login of the environment.
func (w *world) begin(login cloud.Options) {
	w.watch = newWatch(w.client, &Project{Environment: "prod", Login: login}, logr.Discard(), func() time.Time { return w.clock })
}

// member is the login of the project's member, by password.
func (w *world) member() cloud.Options {
	w.Helper()
	text, err := os.ReadFile(w.box.CloudsYAML())
	if err != nil {
		w.Fatal(err)
	}
	return cloud.Options{Cloud: "sandbox", CloudsYAML: text}
}

// credential makes an application credential of a step that ends at a time, unless it is zero.
func (w *world) credential(step string, ends time.Time) *applicationcredentials.ApplicationCredential {
	w.Helper()
	o := applicationcredentials.CreateOpts{Name: fmt.Sprintf("prod-%s-%x", step, time.Now().UnixNano()), Description: ownership.New("prod", step).Description()}
	if !ends.IsZero() {
		o.ExpiresAt = &ends
	}
	made, err := applicationcredentials.Create(w.Context(), w.box.Member.Identity(w.T), w.user, o).Extract()
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// ruled makes an application credential that may read images, and not what it is itself.
func (w *world) ruled(ends time.Time) *applicationcredentials.ApplicationCredential {
	w.Helper()
	made, err := applicationcredentials.Create(w.Context(), w.box.Member.Identity(w.T), w.user, applicationcredentials.CreateOpts{Name: "ruled", ExpiresAt: &ends,
		AccessRules: []applicationcredentials.AccessRule{{Service: "image", Method: "GET", Path: "/v2/images/**"}}}).Extract()
	if err != nil {
		w.Fatal(err)
	}
	return made
}

func (w *world) revoke(c *applicationcredentials.ApplicationCredential) {
	w.Helper()
	if err := applicationcredentials.Delete(w.Context(), w.box.Member.Identity(w.T), w.user, c.ID).ExtractErr(); err != nil {
		w.Fatal(err)
	}
}

// login logs in with an application credential.
func (w *world) login(c *applicationcredentials.ApplicationCredential) cloud.Options {
	return cloud.Options{Cloud: "openstack", CloudsYAML: fmt.Appendf(nil,
		"clouds: {openstack: {region_name: %s, auth_type: v3applicationcredential, auth: {auth_url: %q, application_credential_id: %s, application_credential_secret: %s}}}",
		w.box.Env.Region, w.box.URL()+"/identity", c.ID, c.Secret)}
}

// image makes an image that is ready.
func (w *world) image(name string) string {
	w.Helper()
	client := w.box.Member.Image(w.T)
	made, err := images.Create(w.Context(), client, images.CreateOpts{Name: name, DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
	if err != nil {
		w.Fatal(err)
	}
	if _, err := client.Put(w.Context(), client.ServiceURL("images", made.ID, "file"), strings.NewReader("x"), nil, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"Content-Type": "application/octet-stream"}, OkCodes: []int{204}}); err != nil {
		w.Fatal(err)
	}
	return made.ID
}

// activate lets machines be made of an image, or not.
func (w *world) activate(id, action string) {
	w.Helper()
	client := w.box.Admin.Image(w.T)
	if _, err := client.Post(w.Context(), client.ServiceURL("images", id, "actions", action), nil, nil, &gophercloud.RequestOpts{OkCodes: []int{204}}); err != nil {
		w.Fatal(err)
	}
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

func (w *world) delete(resource, group, namespace, name string) {
	w.Helper()
	version, _ := schema.ParseGroupVersion(group)
	if err := w.client.Resource(version.WithResource(resource)).Namespace(namespace).Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// cluster makes a cluster whose control plane and workers have an image each.
func (w *world) cluster(namespace, name, control, worker string) {
	w.Helper()
	at := fmt.Sprintf("namespace: %s, labels: {cluster.x-k8s.io/cluster-name: %s}", namespace, name)
	w.create("clusters", "cluster.x-k8s.io/v1beta2", fmt.Sprintf("kind: Cluster\nmetadata: {name: %s, namespace: %s}\nspec: {infrastructureRef: {name: %s}}\n", name, namespace, name))
	w.create("openstackclusters", "infrastructure.cluster.x-k8s.io/v1beta1", fmt.Sprintf("kind: OpenStackCluster\nmetadata: {name: %s, namespace: %s}\nspec: {identityRef: {name: %s-login, cloudName: openstack}}\n", name, namespace, name))
	w.create("kubeadmcontrolplanes", "controlplane.cluster.x-k8s.io/v1beta2", fmt.Sprintf("kind: KubeadmControlPlane\nmetadata: {name: %s, %s}\nspec: {machineTemplate: {spec: {infrastructureRef: {name: %s-cp}}}}\n", name, at, name))
	w.create("machinedeployments", "cluster.x-k8s.io/v1beta2", fmt.Sprintf("kind: MachineDeployment\nmetadata: {name: %s, %s}\nspec: {template: {spec: {infrastructureRef: {name: %s-md}}}}\n", name, at, name))
	for suffix, image := range map[string]string{"cp": control, "md": worker} {
		w.create("openstackmachinetemplates", "infrastructure.cluster.x-k8s.io/v1beta1", fmt.Sprintf("kind: OpenStackMachineTemplate\nmetadata: {name: %s-%s, namespace: %s}\nspec: {template: {spec: {image: %s}}}\n", name, suffix, namespace, image))
	}
}

// secret gives a cluster a login.
func (w *world) secret(namespace, cluster string, login cloud.Options) {
	w.Helper()
	w.create("secrets", "v1", fmt.Sprintf("kind: Secret\nmetadata: {name: %s-login, namespace: %s}\ndata: {clouds.yaml: %s}\n", cluster, namespace, base64.StdEncoding.EncodeToString(login.CloudsYAML)))
}

// look looks once, some time later, and returns the series that are served, by name and labels.
func (w *world) look() map[string]float64 {
	w.Helper()
	w.clock = w.clock.Add(every)
	if err := w.watch.look(w.Context()); err != nil {
		w.Error(err)
	}
	return w.served()
}

func (w *world) served() map[string]float64 {
	w.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := w.watch.tally.register(registry); err != nil {
		w.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			found[strings.TrimPrefix(f.GetName(), "slipway_")+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue()
		}
	}
	return found
}

// of are the series of a metric.
func of(all map[string]float64, metric string) map[string]float64 {
	found := map[string]float64{}
	for name, value := range all {
		if strings.HasPrefix(name, metric+"{") {
			found[strings.TrimSuffix(strings.TrimPrefix(name, metric+"{"), "}")] = value
		}
	}
	return found
}
