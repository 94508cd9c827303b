package openstackcluster

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// templateNames are the names of all templates of machines.
func (o objects) templateNames() []string {
	var all []string
	for name, object := range o {
		if kind := object.GetKind(); kind == "OpenStackMachineTemplate" || kind == "KubeadmConfigTemplate" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

const twoGroups = `nodeGroups: [{name: one, machineCount: 1}, {name: two, machineCount: 1}]`

// TestTemplateNames changes one thing at a time and lists whose templates get
// another name. A change of several is one new template, so one rollout.
//
// proves: F73, F74, S-64
func TestTemplateNames(t *testing.T) {
	t.Parallel()
	before := render(t, twoGroups).templateNames()
	for name, c := range map[string]struct {
		text string
		want []string // kind and group of the new templates
	}{
		"flavor of a group": {`nodeGroups: [{name: one, machineCount: 1, machineFlavor: big}, {name: two, machineCount: 1}]`, []string{"OpenStackMachineTemplate one"}},
		"flavor, image and version of a group": {`nodeGroups: [{name: one, machineCount: 1, machineFlavor: big, machineImage: other, kubernetesVersion: 1.34.3}, {name: two, machineCount: 1}]`,
			[]string{"OpenStackMachineTemplate one"}},
		"flavor of all groups":   {`nodeGroupDefaults: {machineFlavor: big}`, []string{"OpenStackMachineTemplate one", "OpenStackMachineTemplate two"}},
		"image of control plane": {`controlPlane: {machineImage: other}`, []string{"OpenStackMachineTemplate control-plane"}},
		"packages":               {`additionalPackages: [nfs-common]`, []string{"KubeadmConfigTemplate one", "KubeadmConfigTemplate two"}},
		"kubeadm of a group": {`nodeGroups: [{name: one, machineCount: 1, kubeadmConfigSpec: {preKubeadmCommands: [date]}}, {name: two, machineCount: 1}]`,
			[]string{"KubeadmConfigTemplate one"}},
		"annotations":       {`clusterAnnotations: {a: b}`, nil},
		"count":             {`nodeGroups: [{name: one, machineCount: 7}, {name: two, machineCount: 0}]`, nil},
		"health check":      {`nodeGroupDefaults: {healthCheck: {enabled: false}}`, nil},
		"version alone":     {`nodeGroupDefaults: {kubernetesVersion: 1.34.3}`, nil},
		"drain":             {`controlPlane: {nodeDrainTimeout: 1h}`, nil},
		"addons":            {`addons: {metricsServer: {enabled: false}}`, nil},
		"empty maps":        {`nodeGroupDefaults: {machineMetadata: {}, additionalBlockDevices: {}, machineNetworking: {ports: []}}`, nil},
		"nulls":             {`nodeGroups: [{name: one, machineCount: 1, serverGroupId: null, machineRootVolume: null}, {name: two, machineCount: 1}]`, nil},
		"a false that is":   {`nodeGroupDefaults: {machineConfigDrive: false}`, nil},
		"arguments as list": {`nodeGroupDefaults: {kubeadmConfigSpec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: cloud-provider, value: external}]}}}}`, nil},
		"other arguments as list": {`nodeGroupDefaults: {kubeadmConfigSpec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: cloud-provider, value: other}]}}}}`,
			[]string{"KubeadmConfigTemplate one", "KubeadmConfigTemplate two"}},
		"fields of v1beta1": {`nodeGroupDefaults: {kubeadmConfigSpec: {useExperimentalRetryJoin: true}}`, nil},
		"the other key":     {`clusterNetworking: {dnsNameservers: [192.0.2.1]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changed []string
			for _, name := range render(t, twoGroups, c.text).templateNames() {
				if !slices.Contains(before, name) {
					changed = append(changed, name[:len(name)-len("-01234567")])
				}
			}
			if !slices.Equal(changed, c.want) {
				t.Errorf("new templates %v, want %v", changed, c.want)
			}
		})
	}
}

// TestChartRollsNothing changes the chart's version and the comments and blanks
// of its templates: specs and names stay.
//
// proves: F74
func TestChartRollsNothing(t *testing.T) {
	t.Parallel()
	given := values(t, read(t, "full.yaml"))
	loaded, err := Chart()
	if err != nil {
		t.Fatal(err)
	}
	before := specs(t, loaded, given)
	loaded.Metadata.Version = "99.0.0"
	for _, file := range loaded.Templates {
		text := strings.ReplaceAll(string(file.Data), "\n---\n", "\n\n# another comment\n---\n")
		file.Data = []byte("{{/* of another version */}}\n" + text)
	}
	after := specs(t, loaded, given)
	if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		t.Errorf("names change from %v to %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	for name := range before {
		if !reflect.DeepEqual(before[name], after[name]) {
			t.Errorf("the spec of %s changes", name)
		}
	}
}

// specs are what machines are made of, by kind and name.
func specs(t *testing.T, c *chart.Chart, given map[string]any) map[string]any {
	t.Helper()
	prepared, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "c1", Namespace: "clusters"}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(c, prepared)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for name, text := range rendered {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, object := range decode(t, text) {
			switch object.GetKind() {
			case "OpenStackMachineTemplate", "KubeadmConfigTemplate", "KubeadmControlPlane", "MachineDeployment":
				all[object.GetKind()+" "+object.GetName()] = object.Object["spec"]
			}
		}
	}
	if len(all) < 7 {
		t.Fatalf("only %d specs", len(all))
	}
	return all
}

// TestSameContentSameName wants one name for one content, whichever group it is of.
//
// proves: F74
func TestSameContentSameName(t *testing.T) {
	t.Parallel()
	all := render(t, twoGroups)
	one, two := all.template(t, "OpenStackMachineTemplate", "one").GetName(), all.template(t, "OpenStackMachineTemplate", "two").GetName()
	if one[len(one)-8:] != two[len(two)-8:] {
		t.Errorf("one content has the hashes of %s and %s", one, two)
	}
}

// TestGroups adds, removes and scales groups: the others stay as they are.
//
// proves: F77
func TestGroups(t *testing.T) {
	t.Parallel()
	before := render(t, twoGroups)
	for name, text := range map[string]string{
		"added":   `nodeGroups: [{name: zero, machineCount: 1, machineMetadata: {a: b}, nodeLabels: {x: y}}, {name: one, machineCount: 1}, {name: two, machineCount: 1}]`,
		"removed": `nodeGroups: [{name: two, machineCount: 1}]`,
		"scaled":  `nodeGroups: [{name: one, machineCount: 9}, {name: two, machineCount: 1}]`,
	} {
		after := render(t, text)
		for key, object := range before {
			if strings.Contains(key, " one") {
				continue
			}
			if after[key] == nil || !reflect.DeepEqual(object.Object, after[key].Object) {
				t.Errorf("%s: %s changes", name, key)
			}
		}
	}
	want(t, render(t, `nodeGroups: [{name: one, machineCount: 9}]`).get(t, "MachineDeployment one"), `9`, "spec", "replicas")
	if got := render(t, `nodeGroups: []`); got["MachineDeployment md-0"] != nil {
		t.Error("a group is there that was taken away")
	}
}

// TestLongNames keeps every name and label within 63 characters, and apart.
func TestLongNames(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("long-", 12) + "abc" // 63
	all := renderRelease(t, Release{Name: name, Values: values(t, minimal, `
nodeGroups: [{name: group-with-a-long-name-a, machineCount: 1}, {name: group-with-a-long-name-b, machineCount: 1}]
addons: {nvidiaGPUOperator: {enabled: true}}
`)})
	for _, object := range all {
		if got := object.GetName(); len(got) > 63 || strings.HasSuffix(got, "-") {
			t.Errorf("name %s has %d characters", got, len(got))
		}
		for key, value := range object.GetLabels() {
			if len(value) > 63 || strings.HasSuffix(value, "-") {
				t.Errorf("%s: label %s=%s", object.GetName(), key, value)
			}
		}
	}
	if len(all) < 15 {
		t.Errorf("only %d objects: names collide", len(all))
	}
}

// TestNames are those that the Magnum driver and people look for.
func TestNames(t *testing.T) {
	t.Parallel()
	all := render(t)
	for _, name := range []string{"Cluster", "OpenStackCluster", "KubeadmControlPlane control-plane", "MachineDeployment md-0",
		"MachineHealthCheck control-plane", "MachineHealthCheck md-0", "Secret admission-configuration"} {
		all.get(t, name)
	}
	want(t, all.get(t, "MachineDeployment md-0"),
		`{cluster.x-k8s.io/cluster-name: c1, capi.stackhpc.com/cluster: c1, capi.stackhpc.com/component: worker, capi.stackhpc.com/node-group: md-0}`,
		"spec", "template", "metadata", "labels")
	want(t, all.get(t, "KubeadmControlPlane control-plane"), `{capi.stackhpc.com/cluster: c1, capi.stackhpc.com/component: control-plane}`,
		"spec", "machineTemplate", "metadata", "labels")
	other := render(t, `projectPrefix: example.com`)
	want(t, other.get(t, "Cluster"), `c1`, "metadata", "labels", "example.com/cluster")
}

// TestKept are the objects that outlive the release, because Cluster API
// deletes them in its own order.
func TestKept(t *testing.T) {
	t.Parallel()
	given := values(t, read(t, "full.yaml"))
	kept := map[string]bool{"OpenStackCluster": true, "KubeadmControlPlane": true, "OpenStackMachineTemplate": true, "KubeadmConfigTemplate": true}
	for name, object := range renderRelease(t, Release{Name: "c1", Values: given}) {
		is := object.GetAnnotations()["helm.sh/resource-policy"] == "keep"
		if should := kept[object.GetKind()] || name == "Secret cloud-credentials"; is != should {
			t.Errorf("%s is kept: %v", name, is)
		}
		if object.GetAnnotations()["helm.sh/hook"] != "" || len(object.GetFinalizers()) > 0 {
			t.Errorf("%s has a hook or a finalizer", name)
		}
	}
}
