package moving

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/test/endpoint"
)

// conf is Magnum's configuration, with the address of its database.
func (w *world) conf() string {
	return filepath.Join(os.Getenv("SLIPWAY_DEVCLOUD_MOVING"), "prepared/etc/magnum/magnum.conf")
}

// serve starts Slipway's API and controllers beside Magnum, and returns where the API is.
func (w *world) serve() (address string) {
	w.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(w.cloud.HostAddress().String(), "0"))
	w.must(err)
	free := listener.Addr().String()
	w.must(listener.Close())
	kubeconfig, err := os.ReadFile(w.kubeconfig)
	w.must(err)
	e := endpoint.Start(w, endpoint.Options{Program: w.program, Kubeconfig: kubeconfig, CloudsYAML: w.cloud.CloudsYAML(), Cloud: "devcloud-admin", Listen: free, Metrics: "0"})
	controllers := exec.Command(w.program, "serve", "controllers", "--only", "magnum", "--kubeconfig", w.kubeconfig, "--leader-election=false", "--magnum-os-cloud", "devcloud-admin",
		"--metrics-address", "0", "--health-address", "0", "--log-format", "text")
	controllers.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+w.cloud.CloudsYAML())
	w.start("controllers", controllers)
	return strings.TrimSuffix(e.URL, "/v1")
}

// plan is what an import would do. It refuses nothing, and rolls no machine.
func (w *world) plan(verdict moving.Verdict, names ...string) {
	w.Helper()
	out, code := w.slipway("magnum", "plan", "--from-database", w.conf(), "--cloud", "devcloud-admin", "-o", "json")
	plan := &moving.Plan{}
	w.must(json.Unmarshal([]byte(out), plan))
	if code != 0 || len(plan.Clusters) != len(names) {
		w.Fatalf("the plan ended with %d:\n%s", code, out)
	}
	for _, name := range names {
		found := plan.Find(name)
		if len(found) != 1 || found[0].Verdict != verdict || found[0].Rolls != 0 || len(found[0].Problems) > 0 || found[0].Driver != moving.CAPIHelm {
			w.Errorf("the plan for %s is %+v", name, found)
		}
	}
	w.Logf("the plan:\n%s", out)
}

// run runs a command of Slipway's that must succeed.
func (w *world) run(args ...string) string {
	w.Helper()
	out, code := w.slipway(args...)
	if code != 0 {
		w.Fatalf("slipway %s ended with %d", strings.Join(args, " "), code)
	}
	return out
}

// managed waits until Slipway's controllers have looked at a cluster that is theirs now.
func (w *world) managed(names ...string) {
	w.Helper()
	for _, name := range names {
		w.eventually("a look of the controllers at "+name, func() bool {
			c := w.cluster(name)
			return c != nil && v1alpha1.Held(c) == "" && c.Status.Release != nil && c.Status.Release.Digest != "" && len(c.Status.Conditions) > 0
		}, w.objects)
	}
	time.Sleep(15 * time.Second) // whatever else they would do
}

// cluster is Slipway's resource of a cluster, nil if there is none.
func (w *world) cluster(name string) *v1alpha1.Cluster {
	w.Helper()
	list := &v1alpha1.ClusterList{}
	w.must(w.kube.List(w.Context(), list))
	for i := range list.Items {
		if list.Items[i].Spec.Name == name {
			return &list.Items[i]
		}
	}
	return nil
}

// untouched are kinds whose objects a move must not write at all.
var untouched = []schema.GroupVersionKind{
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineHealthCheck"},
	{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfig"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfigTemplate"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "OpenStackMachine"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "OpenStackMachineTemplate"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "OpenStackCluster"},
	{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "HelmRelease"},
	{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "Manifests"},
	{Version: "v1", Kind: "Secret"},
}

// versions are the resource versions of all objects of the project's clusters whose names have
// a word in them.
func (w *world) versions(word string) map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, kind := range untouched {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		w.must(w.kube.List(w.Context(), list, client.InNamespace(v1alpha1.Namespace(w.demo.ID()))))
		for _, o := range list.Items {
			if strings.Contains(o.GetName(), word) {
				all[kind.Kind+" "+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	if len(all) == 0 {
		w.Errorf("no object has %s in its name", word)
	}
	return all
}

// uids are those of a cluster's machines: another machine has another one.
func (w *world) uids(word string) (all []string) {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineList"})
	w.must(w.kube.List(w.Context(), list, client.InNamespace(v1alpha1.Namespace(w.demo.ID()))))
	for _, o := range list.Items {
		if strings.Contains(o.GetName(), word) {
			all = append(all, o.GetName()+" "+string(o.GetUID()))
		}
	}
	slices.Sort(all)
	return all
}
