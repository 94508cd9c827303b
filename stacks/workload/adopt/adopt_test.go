package adopt

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// like is a chart that makes objects as capi-helm-charts' does.
func like(t *testing.T, version string) *chart.Chart {
	t.Helper()
	c, err := loader.Load("testdata/openstack-cluster")
	must(t, err)
	c.Metadata.Version = version
	return c
}

// shop is a world with one cluster.
func shop(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.install("shops", "shop", like(t, "0.23.0"), original())
	return w
}

func (w *world) edit(kind schema.GroupVersionKind, name string, change func(o *unstructured.Unstructured)) {
	w.t.Helper()
	o, err := w.site.get(w.t.Context(), kind, "shops", name)
	must(w.t, err)
	change(o)
	must(w.t, w.site.Client.Update(w.t.Context(), o))
}

func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, value, path...) }
}

func (w *world) remove(kind schema.GroupVersionKind, name string) {
	w.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace("shops")
	o.SetName(name)
	must(w.t, w.site.Client.Delete(w.t.Context(), o))
}

func deployments() schema.GroupVersionKind { return clusterKind.WithKind("MachineDeployment") }

func planes() schema.GroupVersionKind { return planeKind.WithKind("KubeadmControlPlane") }

func secretKind() schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Secret") }

// TestAdopt: a release becomes Slipway's by one revision, whose objects are those that
// there are.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := shop(t)
	p := w.plan("shop", "")
	c := p.Clusters[0]
	if c.Verdict != Adopt || c.Rolls != 0 || c.Machines != 6 || c.MadeBy != "openstack-cluster 0.23.0" {
		t.Fatalf("%+v", c)
	}
	if !slices.Contains(c.NoCounterpart, "value fancy: Slipway's chart does not have it, and leaves it out") {
		t.Error(c.NoCounterpart)
	}
	if !slices.Contains(c.Kept, "HelmRelease shop-ccm-openstack") || !slices.Contains(c.Taken, "KubeadmControlPlane shop-control-plane") {
		t.Error(c.Kept, c.Taken)
	}
	var changed []string
	must(t, p.Take(t.Context(), w.site, func(c *Cluster, wrote bool) { changed = append(changed, c.Name) }))
	taken := w.releases.taken
	if len(taken) != 1 || taken[0].Labels[workload.LabelCluster] != "shop" || taken[0].Chart.Metadata.Version != "1.0.0" || len(changed) != 1 {
		t.Fatalf("%+v", taken)
	}
	if again := w.plan("shop", "").Clusters[0]; again.Verdict != Ours || again.MadeBy != "slipway" {
		t.Errorf("%+v", again)
	}
	must(t, w.plan("", "").Take(t.Context(), w.site, func(*Cluster, bool) {}))
	if len(w.releases.taken) != 1 || w.releases.settled != 1 {
		t.Errorf("a second run: %d revisions, settled %d times", len(w.releases.taken), w.releases.settled)
	}
}

// TestRevision: Slipway's chart, with the values that were written, makes references to the
// templates that there are and no others, and the addons as they are. A new size changes
// nothing else; a new flavor or version makes new templates.
func TestRevision(t *testing.T) {
	t.Parallel()
	w := shop(t)
	c := w.plan("shop", "").Clusters[0]
	_, own, err := c.render(c.values)
	must(t, err)
	template := text(c.seen.deployments["shop-md-0"], infrastructure("template")...)
	if got := text(own.named("MachineDeployment", "shop-md-0"), infrastructure("template")...); got != template {
		t.Errorf("shop-md-0 refers to %s, not %s", got, template)
	}
	for key := range own {
		if strings.Contains(key, "MachineTemplate") || strings.Contains(key, "ConfigTemplate") {
			t.Error("made anew:", key)
		}
	}
	if own.named("HelmRelease", "shop-ccm-openstack") == nil {
		t.Error("an addon is not kept")
	}
	values := copied(c.values)
	group := values["nodeGroups"].([]any)[0].(map[string]any)
	group["machineCount"] = 5
	_, more, err := c.render(values)
	must(t, err)
	for key, o := range more {
		if found := both("", o.Object, own[key].Object); len(found) > 0 && key != "MachineDeployment shop-md-0" {
			t.Error("a size changes", key, found)
		}
	}
	for name, change := range map[string]func(map[string]any){
		"flavor":  func(v map[string]any) { v["nodeGroups"].([]any)[0].(map[string]any)["machineFlavor"] = "m9" },
		"version": func(v map[string]any) { v["kubernetesVersion"] = "1.34.1" },
	} {
		values := copied(c.values)
		change(values)
		_, next, err := c.render(values)
		must(t, err)
		got := text(next.named("MachineDeployment", "shop-md-0"), infrastructure("template")...)
		if got == template || next.named("OpenStackMachineTemplate", got) == nil {
			t.Errorf("%s: the group still refers to %s", name, got)
		}
		if plane := text(next.named("KubeadmControlPlane", "shop-control-plane"), infrastructure("machineTemplate")...); (plane == text(c.seen.plane, infrastructure("machineTemplate")...)) != (name == "flavor") {
			t.Errorf("%s: the control plane refers to %s", name, plane)
		}
	}
}

// TestMeaning: what capi-helm-charts would make of values is what ours makes of them: its
// defaults that are not ours are written down, and an empty value of a group does not
// override a default.
func TestMeaning(t *testing.T) {
	t.Parallel()
	c := shop(t).plan("shop", "").Clusters[0]
	if mirror, _ := at(c.values, []string{"registryMirrors", "docker.io"}); mirror == nil {
		t.Error("their default mirrors are lost:", c.values["registryMirrors"])
	}
	if check, there := at(c.values, []string{"nodeGroups", "0", "healthCheck", "enabled"}); there {
		t.Error("a group's false overrides a default:", check)
	}
	if _, there := c.Values()["adopted"]; there || c.values["adopted"] == nil {
		t.Error("the kept objects are among the values that are shown")
	}
}

// TestRefuse: everything that keeps a cluster from being adopted is told with the object's
// name, all at once, and nothing is written.
func TestRefuse(t *testing.T) {
	t.Parallel()
	release := func(change func(*helmrelease.Release)) func(*world) {
		return func(w *world) { change(w.releases.last["shops/shop"]) }
	}
	for _, test := range []struct {
		name  string
		spoil func(*world)
		want  string
		rolls int
	}{
		{"scaled by hand", func(w *world) { w.edit(deployments(), "shop-md-0", set(int64(5), "spec", "replicas")) },
			"it was changed by hand: MachineDeployment shop-md-0 has spec.replicas 5, its release 2", 3 + 5},
		{"another template", func(w *world) {
			w.edit(deployments(), "shop-gpu", set("other", infrastructure("template")...))
		}, "MachineDeployment shop-gpu has spec.template.spec.infrastructureRef.name other, its release shop-gpu-", 1},
		{"upgraded by hand", func(w *world) { w.edit(planes(), "shop-control-plane", set("v1.34.0", "spec", "version")) },
			"KubeadmControlPlane shop-control-plane has spec.version v1.34.0, its release v1.33.5", 6},
		{"commands by hand", func(w *world) {
			w.edit(planes(), "shop-control-plane", set([]any{"reboot"}, "spec", "kubeadmConfigSpec", "preKubeadmCommands"))
		}, "KubeadmControlPlane shop-control-plane has spec.kubeadmConfigSpec.preKubeadmCommands", 3},
		{"an argument more", func(w *world) {
			w.edit(planes(), "shop-control-plane", set([]any{map[string]any{"name": "profiling", "value": "false"}}, "spec", "kubeadmConfigSpec", "clusterConfiguration", "scheduler", "extraArgs"))
		}, "KubeadmControlPlane shop-control-plane has spec.kubeadmConfigSpec.clusterConfiguration.scheduler.extraArgs.profiling false, its release nothing", 3},
		{"a group by hand", func(w *world) {
			w.edit(deployments(), "shop-gpu", func(o *unstructured.Unstructured) {
				o.SetName("shop-extra")
				o.SetResourceVersion("")
				must(w.t, w.site.Client.Create(w.t.Context(), o.DeepCopy()))
				o.SetName("shop-gpu")
				now, err := w.site.get(w.t.Context(), deployments(), "shops", "shop-gpu")
				must(w.t, err)
				o.Object = now.Object
			})
		}, "MachineDeployment shop-extra is not in its release: somebody made it by hand", 1},
		{"credential by hand", func(w *world) {
			w.edit(secretKind(), "shop-cloud-credentials", set("bmV3", "data", "clouds.yaml"))
		}, "Secret shop-cloud-credentials has data.clouds.yaml another value, its release another value", 0},
		{"addon by hand", func(w *world) {
			w.edit(schema.GroupVersionKind{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "HelmRelease"}, "shop-ccm-openstack", set("9", "spec", "chart", "version"))
		}, "HelmRelease shop-ccm-openstack has spec.chart.version 9, its release 2.32.0", 0},
		{"no authority", func(w *world) { w.remove(secretKind(), "shop-etcd") }, "its Secret shop-etcd is missing", 0},
		{"no credential", func(w *world) { w.remove(secretKind(), "shop-cloud-credentials") }, "Secret shop-cloud-credentials of its release is missing", 0},
		{"no control plane", func(w *world) { w.remove(planes(), "shop-control-plane") }, "KubeadmControlPlane shop-control-plane of its release is missing", 0},
		{"no cluster", func(w *world) { w.remove(clusterKind.WithKind("Cluster"), "shop") }, "has no Cluster: it was deleted, or never made", 0},
		{"a failed release", release(func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusFailed }), "its release is failed (revision 1), not deployed", 0},
		{"a pending release", release(func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusPendingUpgrade }), "its release is pending-upgrade", 0},
		{"an old chart", release(func(r *helmrelease.Release) { r.Chart.Metadata.Version = "0.9.0" }), "its chart is of version 0.9.0; 0.10 to 0.27 are known", 0},
		{"a later chart", release(func(r *helmrelease.Release) { r.Chart.Metadata.Version = "0.28.0" }), "its chart is of version 0.28.0; 0.10 to 0.27 are known", 0},
		{"another chart", release(func(r *helmrelease.Release) { r.Chart.Metadata.Name = "shopchart" }), "its release is of chart shopchart 0.23.0, not of openstack-cluster", 0},
		{"other values than objects", release(func(r *helmrelease.Release) { r.Config["kubernetesVersion"] = "1.34.9" }),
			"machines would be replaced: KubeadmControlPlane shop-control-plane has spec.version v1.33.5, and Slipway's chart makes v1.34.9", 6},
		{"a value that ours refuses", release(func(r *helmrelease.Release) { put(r.Config, []string{"controlPlane", "machineCount"}, "three") }),
			"Slipway's chart refuses its value controlPlane.machineCount", 0},
		{"rolling out", func(w *world) {
			w.edit(planes(), "shop-control-plane", set([]any{map[string]any{"type": "RollingOut", "status": "True"}}, "status", "conditions"))
		}, "KubeadmControlPlane shop-control-plane is replacing machines", 0},
		{"a machine short", func(w *world) {
			w.edit(deployments(), "shop-md-0", set(map[string]any{"replicas": int64(1), "observedGeneration": int64(1)}, "status"))
		}, "MachineDeployment shop-md-0 has 1 machines of 2", 0},
		{"Flux", func(w *world) { w.flux(false) }, "Flux manages its release (HelmRelease flux/shop) and would put its chart back", 0},
		{"Azimuth", func(w *world) { w.object("azimuth.stackhpc.com", "v1alpha1", "Cluster", "shops", "shop") }, "Azimuth's operator manages it", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := shop(t)
			test.spoil(w)
			p := w.plan("shop", "")
			c := p.Clusters[0]
			err := p.Refused()
			if c.Verdict != Refuse || err == nil || !strings.Contains(err.Error(), test.want) || c.Rolls != test.rolls {
				t.Errorf("%s, rolls %d (want %d): %v", c.Verdict, c.Rolls, test.rolls, err)
			}
			if fault.ExitCode(err) != fault.ExitPartial || strings.Contains(err.Error(), "hush") {
				t.Error(fault.ExitCode(err), err)
			}
			for _, one := range c.Problems {
				if one.Remedy == "" {
					t.Error("no remedy:", one.What)
				}
			}
			must(t, p.Take(t.Context(), w.site, func(c *Cluster, _ bool) { t.Error("taken:", c.Name) }))
			if len(w.releases.taken) > 0 {
				t.Error("a release was written")
			}
		})
	}
}
