package driver

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestNothingIsSetForWhatIsNotGiven: the chart's own values hold, and no machine is made anew.
func TestNothingIsSetForWhatIsNotGiven(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]func(*Input){
		"clusterNetworking.dnsNameservers":  func(in *Input) { in.Cluster.Spec.Template.DNSNameservers = nil },
		"proxy.noProxy":                     func(in *Input) { in.Cluster.Spec.Template.HTTPProxy = "http://p" },
		"nodeGroupDefaults.rolloutStrategy": func(in *Input) { in.Cluster.Spec.Upgrade = &v1alpha1.UpgradeOptions{MaxBatchSize: 1} },
		"registryMirrors":                   func(in *Input) { in.Cluster.Spec.Template.InsecureRegistry = " / " },
	} {
		in := input()
		change(&in)
		out, err := Values(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := at(t, out.Values, path); got != nil {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestInsecureRegistries have an address of their own scheme, and no other than HTTP's.
func TestInsecureRegistries(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"r:5000": "http://r:5000", "http://r": "http://r", "https://r:5000/": "https://r:5000", "ftp://r": "", "https://..": "", "../r": ""} {
		in := input()
		in.Cluster.Spec.Template.InsecureRegistry = given
		out, err := Values(in)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "is no registry") {
				t.Errorf("%s: %v", given, err)
			}
			continue
		}
		_, name, _ := strings.Cut(want, "://")
		if err != nil {
			t.Fatal(err)
		}
		if got := at(t, out.Values, "registryMirrors."+name+".upstream"); got != want {
			t.Errorf("%s: %v, want %s", given, got, want)
		}
	}
}

// TestTablesDoNotReplaceWhatIsSet: an operator's table where the cluster has a text is left out.
func TestTablesDoNotReplaceWhatIsSet(t *testing.T) {
	t.Parallel()
	in := input()
	in.Defaults.Values = map[string]any{"kubernetesVersion": map[string]any{"major": "1"}, "mine": map[string]any{"a": "b"}}
	out, err := Values(in)
	if err != nil || at(t, out.Values, "kubernetesVersion") != "1.34.2" || at(t, out.Values, "mine.a") != "b" {
		t.Errorf("%v, %v", out.Values["kubernetesVersion"], err)
	}
}

// TestNamesOfGroups have from 3 to 63 characters.
func TestNamesOfGroups(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"abc": true, "ab": false, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false, "1abc": false} {
		if _, err := GroupName(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAGreatestSizeOfNothingIsNoBound.
func TestAGreatestSizeOfNothingIsNoBound(t *testing.T) {
	t.Parallel()
	in, zero := input(), int32(0)
	in.Cluster.Spec.Labels = map[string]string{"auto_scaling_enabled": "true"}
	g := group(in.Cluster, "gpu", 2)
	g.Spec.MinNodeCount, g.Spec.MaxNodeCount = 1, &zero
	in.Groups = append(in.Groups, g)
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	if least, most := at(t, out.Values, "nodeGroups.1.machineCountMin"), at(t, out.Values, "nodeGroups.1.machineCountMax"); least != 1.0 || most != 2.0 {
		t.Errorf("from %v to %v machines", least, most)
	}
}

// TestImagesOfGroups are set only where they are others than the cluster's, and so are versions.
func TestImagesOfGroups(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change         func(*v1alpha1.NodeGroup)
		image, version any
	}{
		"not looked up":       {func(g *v1alpha1.NodeGroup) { g.Spec.Image = nil }, nil, nil},
		"not found":           {func(g *v1alpha1.NodeGroup) { g.Spec.Image.ID = "" }, nil, nil},
		"the cluster's":       {func(g *v1alpha1.NodeGroup) { g.Spec.Image.ID = "image-1" }, nil, nil},
		"that of a default":   {func(g *v1alpha1.NodeGroup) { g.Spec.IsDefault = true }, nil, nil},
		"another":             {func(*v1alpha1.NodeGroup) {}, "image-2", "1.33.4"},
		"of the same version": {func(g *v1alpha1.NodeGroup) { g.Spec.Image.KubernetesVersion = "1.34.2" }, "image-2", nil},
		"of no version":       {func(g *v1alpha1.NodeGroup) { g.Spec.Image.KubernetesVersion = "" }, "image-2", nil},
	} {
		in := input()
		g := group(in.Cluster, "gpu", 2)
		g.Spec.ImageID, g.Spec.Image = "ubuntu-gpu", &v1alpha1.ResolvedImage{ID: "image-2", KubernetesVersion: "1.33.4"}
		test.change(g)
		in.Groups = []*v1alpha1.NodeGroup{in.Groups[0], g}
		out, err := Values(in)
		if err != nil {
			t.Fatal(err)
		}
		if image, version := at(t, out.Values, "nodeGroups.0.machineImageId"), at(t, out.Values, "nodeGroups.0.kubernetesVersion"); image != test.image || version != test.version {
			t.Errorf("%s: %v with %v, want %v with %v", name, image, version, test.image, test.version)
		}
	}
}

// TestLabelsOfGroups: one that says what the cluster's says changes nothing, and one that no group
// follows is told of, unless it is the cluster's.
func TestLabelsOfGroups(t *testing.T) {
	t.Parallel()
	in := input()
	in.Cluster.Spec.Labels = map[string]string{"boot_volume_size": "20", "availability_zone": "az1", "monitoring_enabled": "true"}
	g := group(in.Cluster, "gpu", 2)
	g.Spec.MergeLabels, g.Spec.Labels = true, map[string]string{"boot_volume_size": "20", "auto_healing_enabled": "true", "monitoring_enabled": "true", "octavia_provider": "ovn"}
	in.Groups = append(in.Groups, g)
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"name": "gpu", "machineFlavor": "m1.large", "machineCount": 2.0}, at(t, out.Values, "nodeGroups.1")); diff != "" {
		t.Error(diff)
	}
	if want := []Warning{{"label octavia_provider of node group gpu", "no effect on a node group"}}; !slices.Equal(out.Warnings, want) {
		t.Errorf("warnings %v, want %v", out.Warnings, want)
	}
}

// TestPartsOfARunningCluster: what it has no load balancer or no network of its own for, it has no
// settings of.
func TestPartsOfARunningCluster(t *testing.T) {
	t.Parallel()
	running := func(balancer any, subnets ...any) Running {
		return Running{Infrastructure: map[string]any{"spec": map[string]any{"apiServerLoadBalancer": map[string]any{"enabled": balancer}, "managedSubnets": subnets}},
			Cluster: map[string]any{"spec": map[string]any{"clusterNetwork": map[string]any{}}}}
	}
	for name, test := range map[string]struct {
		runs Running
		want map[part]bool
	}{
		"all there is":       {running(true, "10.0.0.0/24"), map[part]bool{ofAny: true, ofBalancer: true, ofOwnNetwork: true, ofPods: true}},
		"no load balancer":   {running(false, "10.0.0.0/24"), map[part]bool{ofAny: true, ofOwnNetwork: true, ofPods: true}},
		"another's network":  {running(true), map[part]bool{ofAny: true, ofBalancer: true, ofPods: true}},
		"not known":          {running(nil, "10.0.0.0/24"), map[part]bool{ofPods: true}},
		"not there, none is": {Running{}, nil},
	} {
		for _, of := range []part{ofAny, ofBalancer, ofOwnNetwork, ofPods} {
			if got := test.runs.part(of) != nil; got != test.want[of] {
				t.Errorf("%s: part %d: %t", name, of, got)
			}
		}
	}
}

// TestTheFloatingIPThatStays is told as what the cluster has, and nothing is told of networks that
// nobody asks to change.
func TestTheFloatingIPThatStays(t *testing.T) {
	t.Parallel()
	asking := func(floating bool) Input {
		in := input()
		in.Cluster.Spec.Template.FloatingIPEnabled = floating
		return in
	}
	for has, want := range map[bool]string{true: "true", false: "false"} {
		in := asking(!has)
		in.Running = runningOf(t, asking(has))
		out, err := Values(in)
		if diff := cmp.Diff([]Kept{{"label master_lb_floating_ip_enabled", want}}, out.Kept); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// TestBothSpellingsOfAllowedNetworks are read, the newer one first.
func TestBothSpellingsOfAllowedNetworks(t *testing.T) {
	t.Parallel()
	older, newer := []any{"10.0.0.0/8"}, []any{"192.0.2.0/24"}
	for _, test := range []struct{ values, want []any }{{[]any{older, nil}, older}, {[]any{older, newer}, newer}, {[]any{nil, newer}, newer}, {[]any{nil, nil}, nil}, {[]any{older, []any{}}, older}} {
		b := &builder{values: tree{"apiServer": map[string]any{"allowedCidrs": test.values[0], "allowedCIDRs": test.values[1]}}}
		if diff := cmp.Diff(test.want, b.allowed()); diff != "" {
			t.Errorf("%v: %s", test.values, diff)
		}
	}
}

// TestPathsIntoLists lead nowhere beyond their ends.
func TestPathsIntoLists(t *testing.T) {
	t.Parallel()
	in := map[string]any{"list": []any{"a", map[string]any{"b": "c"}}, "text": "t"}
	for path, want := range map[string]any{"list.0": "a", "list.1.b": "c", "list.2": nil, "list.-1": nil, "list.x": nil, "text.x": nil, "none.0": nil} {
		if got := lookUp(in, path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
