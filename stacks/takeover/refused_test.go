package takeover

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/apitest"
)

// wrong is what may be wrong with an environment, and what is said of it: nothing else.
type wrong struct {
	do   func(*world)
	want []string
}

// wrongs are by what they are.
func wrongs() map[string]wrong {
	const object = "Deployment capi-addon-system/cluster-api-addon-provider: "
	const release = "release capi-janitor-system/cluster-api-janitor-openstack: "
	return map[string]wrong{
		"nothing": {func(*world) {}, nil},
		"a field by hand": {func(w *world) { w.edit("clusterroles cluster-api-addon-provider", []any{}, "rules") },
			[]string{"ClusterRole cluster-api-addon-provider: it was changed by hand: rules is [], its release has [map[apiGroups:[addons.stackhpc.com] resources:[*] verbs:[*]…"}},
		"a quantity in another spelling": {func(w *world) {
			w.resources("1000m", "1")
		}, nil},
		"another quantity": {func(w *world) { w.resources("1000m", "2") }, []string{object + "it was changed by hand: spec.template.spec.containers[0].resources.limits.cpu is 2, its release has 1000m"}},
		"an object is missing": {func(w *world) { w.gone("configmaps capi-addon-system/cluster-api-addon-provider") },
			[]string{"ConfigMap capi-addon-system/cluster-api-addon-provider: it is missing, and release cluster-api-addon-provider has it"}},
		"the Deployment is missing": {func(w *world) { w.gone(provider) },
			[]string{object + "its release says that it is there, and it is not"}},
		"paused": {func(w *world) { w.edit("clusters default/prod", true, "spec", "paused") }, []string{"Cluster default/prod: it is paused: spec.paused is set"}},
		"annotated": {func(w *world) { w.edit("machines default/prod-0", "", "metadata", "annotations", pausedAnnotation) },
			[]string{"Machine default/prod-0: it is paused: it has the annotation cluster.x-k8s.io/paused"}},
		"deleted": {func(w *world) {
			w.edit("machines default/prod-0", "2026-01-02T03:04:05Z", "metadata", "deletionTimestamp")
		}, []string{"Machine default/prod-0: it is being deleted"}},
		"an addon at work": {func(w *world) { w.edit("helmreleases default/prod-cni", "Upgrading", "status", "phase") },
			[]string{"HelmRelease default/prod-cni: it is Upgrading"}},
		"an addon at work that Slipway knows": {func(w *world) {
			w.edit("helmreleases default/prod-cni", "Upgrading", "status", "phase")
			w.edit("helmreleases default/prod-cni", "sha256:00", "status", "digest")
		}, nil},
		"an addon that goes": {func(w *world) { w.edit("helmreleases default/prod-cni", "Uninstalling", "status", "phase") }, []string{"HelmRelease default/prod-cni: it is being deleted"}},
		"an addon that is deleted": {func(w *world) {
			w.edit("manifests default/prod-config", "2026-01-02T03:04:05Z", "metadata", "deletionTimestamp")
		}, []string{"Manifests default/prod-config: it is being deleted"}},
		"an addon's field": {func(w *world) { w.edit("helmreleases default/prod-cni", "x", "spec", "colour") },
			[]string{"HelmRelease default/prod-cni: Slipway's definition refuses it: spec.colour is not known"}},
		"a stray": {func(w *world) {
			w.put("Deployment", "apps/v1", "elsewhere", "janitor", `{spec: {template: {spec: {containers: [{image: busybox}, {image: "r.example:5000/cluster-api-janitor-openstack@sha256:00"}]}}}}`)
		}, []string{"Deployment elsewhere/janitor: it runs r.example:5000/cluster-api-janitor-openstack@sha256:00, which is known as capi-janitor-system/cluster-api-janitor-openstack only: two would change the same objects"}},
		"under another name": {func(w *world) {
			w.put("Deployment", "apps/v1", "capi-addon-system", "mine", `{spec: {template: {spec: {containers: [{image: "cluster-api-addon-provider:1"}]}}}}`)
		}, []string{"Deployment capi-addon-system/mine: it runs cluster-api-addon-provider:1, which is known as capi-addon-system/cluster-api-addon-provider only: two would change the same objects"}},
		"in another namespace": {func(w *world) {
			w.put("Deployment", "apps/v1", "other", "cluster-api-addon-provider", `{spec: {template: {spec: {containers: [{image: "cluster-api-addon-provider:1"}]}}}}`)
		}, []string{"Deployment other/cluster-api-addon-provider: it runs cluster-api-addon-provider:1, which is known as capi-addon-system/cluster-api-addon-provider only: two would change the same objects"}},
		"a definition's versions": {func(w *world) {
			w.edit("customresourcedefinitions manifests.addons.stackhpc.com", []any{map[string]any{"name": "v1alpha1", "storage": true}, map[string]any{"name": "v1alpha2"}}, "spec", "versions")
		}, []string{"CustomResourceDefinition manifests.addons.stackhpc.com: it has versions v1alpha1, v1alpha2, and objects are stored as v1alpha1; only v1alpha1 is known"}},
		"a definition's stored versions": {func(w *world) {
			w.server.Control = func(o *unstructured.Unstructured) []*unstructured.Unstructured { return nil }
			w.edit("customresourcedefinitions manifests.addons.stackhpc.com", []any{"v1alpha0", "v1alpha1"}, "status", "storedVersions")
			w.server.Control = apitest.Works
		}, []string{"CustomResourceDefinition manifests.addons.stackhpc.com: it has versions v1alpha1, and objects are stored as v1alpha0, v1alpha1; only v1alpha1 is known"}},
		"another program": {func(w *world) {
			w.edit(janitor, []any{map[string]any{"name": "operator", "image": "x/other:1", "resources": map[string]any{}, "env": w.environment()}}, "spec", "template", "spec", "containers")
		}, []string{"Deployment capi-janitor-system/cluster-api-janitor-openstack: it runs x/other:1, which is not the known controller",
			"Deployment capi-janitor-system/cluster-api-janitor-openstack: it was changed by hand: spec.template.spec.containers[0].image is x/other:1, its release has ghcr.io/azimuth-cloud/cluster-api-janitor-openstack:0.12.1"}},
		"another chart": {func(w *world) {
			w.rerecord(controllers.JanitorName, func(r *helmrelease.Release) { r.Chart.Metadata.Name = "mine" })
		}, []string{release + "it is of chart mine 0.12.1"}},
		"a newer chart":   {func(w *world) { w.version("0.16.0") }, []string{release + "its chart is of version 0.16.0; 0.1 to 0.15 are known"}},
		"the last chart":  {func(w *world) { w.version("0.15.9") }, nil},
		"the first chart": {func(w *world) { w.version("0.1.0") }, nil},
		"an older chart":  {func(w *world) { w.version("0.0.9") }, []string{release + "its chart is of version 0.0.9; 0.1 to 0.15 are known"}},
		"a chart of 1":    {func(w *world) { w.version("1.2.0") }, []string{release + "its chart is of version 1.2.0; 0.1 to 0.15 are known"}},
		"a chart of none": {func(w *world) { w.version("new") }, []string{release + "its chart is of version new; 0.1 to 0.15 are known"}},
		"a failed release": {func(w *world) {
			w.rerecord(controllers.JanitorName, func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusFailed })
		}, []string{release + "it is failed (revision 1), not deployed"}},
		"no release": {func(w *world) {
			w.gone("secrets capi-janitor-system/sh.helm.release.v1.cluster-api-janitor-openstack.v1")
		},
			[]string{"Deployment capi-janitor-system/cluster-api-janitor-openstack: no release of Helm made it: its settings are not known"}},
		"an uninstalled release": {func(w *world) {
			w.rerecord(controllers.JanitorName, func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusUninstalled })
			w.gone(janitor)
		}, nil},
		"a manifest that cannot be read": {func(w *world) {
			w.rerecord(controllers.JanitorName, func(r *helmrelease.Release) { r.Manifest = "a: [" })
		}, []string{release + "it cannot be read: "}},
		"one of Slipway's": {func(w *world) { w.edit(janitor, "slipway", "metadata", "labels", partOf) },
			[]string{"Deployment capi-janitor-system/cluster-api-janitor-openstack: it is Slipway's already, and the other controller is not"}},
		"a record of somebody": {func(w *world) {
			w.put("Secret", "v1", recordNamespace, recordName, `{type: Opaque, data: {record: e30=}}`)
		}, []string{"Secret kube-system/slipway-adopted-environment: it is not the record of an adoption"}},
		"a record that cannot be read": {func(w *world) {
			w.put("Secret", "v1", recordNamespace, recordName, `{type: "`+string(recordType)+`", data: {record: "ew=="}}`)
		}, []string{"Secret kube-system/slipway-adopted-environment: it is not the record of an adoption"}},
	}
}

func (w *world) gone(path string) {
	w.Helper()
	w.must(w.site.Clusters.Client.Delete(w.Context(), w.get(path)))
}

// version makes the janitor's release one of another version of its chart.
func (w *world) version(version string) {
	w.Helper()
	w.rerecord(controllers.JanitorName, func(r *helmrelease.Release) { r.Chart.Metadata.Version = version })
}

func (w *world) environment() any {
	w.Helper()
	containers, _, _ := unstructured.NestedSlice(w.get(janitor).Object, "spec", "template", "spec", "containers")
	return containers[0].(map[string]any)["env"]
}

// resources installs the provider with a limit, and has the API server say another.
func (w *world) resources(wanted, there string) {
	w.Helper()
	w.gone("secrets capi-addon-system/sh.helm.release.v1.cluster-api-addon-provider.v1")
	limits := func(cpu string) map[string]any { return map[string]any{"limits": map[string]any{"cpu": cpu}} }
	w.install(w.chart(controllers.AddonProviderName), map[string]any{"config": map[string]any{}, "resources": limits(wanted)})
	containers, _, _ := unstructured.NestedSlice(w.get(provider).Object, "spec", "template", "spec", "containers")
	containers[0].(map[string]any)["resources"] = limits(there)
	w.edit(provider, containers, "spec", "template", "spec", "containers")
}

// TestRefused: what is wrong is told with its object and a remedy, and nothing is written.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range wrongs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := azimuth(t)
			test.do(w)
			p := w.look(Options{Image: image})
			var got []string
			for _, one := range p.Clusters[0].Problems {
				got = append(got, one.Object+": "+one.What)
				if one.Remedy == "" {
					t.Errorf("no remedy: %+v", one)
				}
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("%q\nwant %q", got, test.want)
			}
			if len(test.want) == 0 {
				return
			}
			at := len(w.server.Changes())
			if changed, err := p.Take(t.Context(), silent); changed || fault.ExitCode(err) != fault.ExitPreflight || len(w.server.Changes()) != at {
				t.Errorf("it was taken over: %v %v", changed, err)
			}
		})
	}
}

// TestOnceBegunItGoesOn in spite of what would keep it from beginning.
func TestOnceBegunItGoesOn(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	if _, err := w.look(Options{Image: image}).Take(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	w.edit("clusters default/prod", true, "spec", "paused")
	w.edit("machines default/prod-0", "2026-01-02T03:04:05Z", "metadata", "deletionTimestamp")
	w.edit("helmreleases default/prod-cni", "Upgrading", "status", "phase")
	w.must(w.look(Options{}).Refused())
}

// TestWithoutOperators installs Slipway's controllers; with Slipway's already there, it leaves them.
func TestWithoutOperators(t *testing.T) {
	t.Parallel()
	w := bare(t)
	p := w.look(Options{Image: image})
	w.must(p.Refused())
	if changed, err := p.Take(t.Context(), silent); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if !ours(w.get(provider)) || !ours(w.get(janitor)) {
		t.Error("not installed")
	}
	w.gone(itsRecord) // as slipway up leaves it
	p = w.look(Options{})
	if changed, err := p.Take(t.Context(), silent); changed || err != nil || p.Clusters[0].State != Ours || len(p.Clusters[0].Items) > 0 {
		t.Errorf("%v %v %+v", changed, err, p.Clusters[0])
	}
}

// TestWithoutClusterAPI names each kind that is missing.
func TestWithoutClusterAPI(t *testing.T) {
	t.Parallel()
	w := &world{T: t, server: apitest.Start(t)}
	for _, kind := range machinery() {
		version := kind.GroupVersion().String()
		if kind.Kind == "Machine" {
			version = kind.Group + "/v1beta1"
		}
		if kind.Kind != "OpenStackCluster" {
			w.server.Define(version, kind.Kind)
		}
	}
	w.open(Management)
	var got []string
	for _, one := range w.look(Options{}).Clusters[0].Problems {
		got = append(got, one.Object+": "+one.What)
	}
	if want := []string{"machines.cluster.x-k8s.io: version v1beta2 is not served", "openstackclusters.infrastructure.cluster.x-k8s.io: version v1beta1 is not served"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestWithoutRights names all that is missing at once, in the order of verbs that a reader expects.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	w.server.Control = func(o *unstructured.Unstructured) []*unstructured.Unstructured {
		if o.GetKind() != "SelfSubjectAccessReview" {
			return apitest.Works(o)
		}
		verb, _, _ := unstructured.NestedString(o.Object, "spec", "resourceAttributes", "verb")
		resource, _, _ := unstructured.NestedString(o.Object, "spec", "resourceAttributes", "resource")
		o.Object["status"] = map[string]any{"allowed": verb != "escalate" && verb != "bind" && (resource != "pods" && resource != "deployments" || verb == "get")}
		return nil
	}
	c := w.look(Options{}).Clusters[0]
	var got []string
	for _, one := range c.Problems {
		got = append(got, one.Object+": "+one.What)
	}
	want := []string{"pods: you are not allowed to list them", "deployments.apps: you are not allowed to list, watch, patch, create, update, delete them",
		"clusterroles.rbac.authorization.k8s.io: you are not allowed to escalate, bind them"}
	if !slices.Equal(got, want) || len(c.Items) > 0 {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestChartOfAReleaseWithoutName: a record that lacks its chart is passed over.
func TestChartOfAReleaseWithoutName(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.must(w.records("default").Create("sh.helm.release.v1.old.v1", &helmrelease.Release{Name: "old", Namespace: "default", Version: 1, Chart: &chart.Chart{},
		Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}))
	for _, item := range w.look(Options{}).Clusters[0].Items {
		if strings.HasPrefix(item.Object, "release ") {
			t.Errorf("%+v", item)
		}
	}
}
