package driver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/kube"
)

// runningOf is what the chart makes of a cluster.
func runningOf(t *testing.T, in Input) Running {
	t.Helper()
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := openstackcluster.Render(openstackcluster.Release{Name: in.Cluster.Stack(), Values: out.Values})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kube.Decode(strings.NewReader(manifest))
	if err != nil {
		t.Fatal(err)
	}
	var r Running
	for _, o := range objects {
		switch o.GetKind() {
		case "Cluster":
			r.Cluster = asRead(t, o.Object)
		case "OpenStackCluster":
			r.Infrastructure = asRead(t, o.Object)
		}
	}
	if r.Cluster == nil || r.Infrastructure == nil {
		t.Fatal("the chart makes no cluster")
	}
	return r
}

// asRead is an object as clients of an API server have it: whole numbers are int64.
func asRead(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := utiljson.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// otherLabels are labels with which a running cluster would be another one.
func otherLabels() map[string]string {
	return map[string]string{"octavia_provider": "ovn", "api_server_lb_flavor": "big", "api_server_lb_availability_zone": "az9", "api_server_floating_ip": "203.0.113.9",
		"fixed_subnet_cidr": "10.9.0.0/24", "api_master_lb_allowed_cidrs": "none", "master_lb_floating_ip_enabled": "false",
		"calico_ipv4pool": "10.100.0.0/16", "service_cluster_ip_range": "10.254.0.0/16", "dns_cluster_domain": "k8s.local"}
}

// TestARunningClusterKeepsWhatIsNeverChanged: whoever asks for it, with the chart itself.
func TestARunningClusterKeepsWhatIsNeverChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Input){
		"labels of the template":         func(in *Input) { in.Cluster.Spec.Template.Labels = otherLabels() },
		"labels of the cluster":          func(in *Input) { in.Cluster.Spec.Labels = otherLabels() },
		"the operator's labels":          func(in *Input) { in.Defaults.Labels = otherLabels() },
		"without labels, the operator's": func(in *Input) { in.Cluster.Spec.NoLabels, in.Defaults.Labels = true, otherLabels() },
		"an external network":            func(in *Input) { in.Cluster.Spec.Resolved.ExternalNetworkID = "net-9" },
		"the operator's values": func(in *Input) {
			in.Defaults.Values = map[string]any{"tags": []any{"cheap"},
				"apiServer": map[string]any{"fixedIP": "10.0.0.9", "allowedCIDRs": []any{"none"},
					"loadBalancer": map[string]any{"flavor": "big", "availabilityZone": "az9", "additionalPorts": []any{int64(8443)}}},
				"clusterNetworking": map[string]any{"disableExternalNetwork": true, "internalNetwork": map[string]any{"mtu": int64(1400)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, other := input(), input()
			change(&other)
			for direction, pair := range map[string][2]Input{"asked for": {plain, other}, "no longer asked for": {other, plain}} {
				before, after := runningOf(t, pair[0]), pair[1]
				after.Running = before
				now := runningOf(t, after)
				if diff := cmp.Diff(before.Infrastructure["spec"], now.Infrastructure["spec"]); diff != "" {
					t.Errorf("%s: CAPO refuses the OpenStackCluster: %s", direction, diff)
				}
				if diff := cmp.Diff(before.Cluster["spec"], now.Cluster["spec"]); diff != "" {
					t.Errorf("%s: another Cluster: %s", direction, diff)
				}
			}
		})
	}
}

// TestKept: each setting is told with what the cluster has, once; one that asks for what the cluster
// has is not.
func TestKept(t *testing.T) {
	t.Parallel()
	in := input()
	in.Running = runningOf(t, input())
	in.Cluster.Spec.Template.MasterLBEnabled = false // of three control planes, which without one are refused
	in.Cluster.Spec.Template.Labels = otherLabels()
	delete(in.Cluster.Spec.Template.Labels, "api_server_lb_flavor")
	in.Cluster.Spec.Template.Labels["master_lb_floating_ip_enabled"] = "true"
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"property master_lb_enabled": "true", "label octavia_provider": "amphora", "label api_server_lb_availability_zone": "", "label api_server_floating_ip": "",
		"label fixed_subnet_cidr": "10.0.0.0/24", "label api_master_lb_allowed_cidrs": "", "label calico_ipv4pool": "172.16.0.0/13", "label service_cluster_ip_range": "172.24.0.0/13",
		"label dns_cluster_domain": "cluster.local"}
	have, warned := map[string]string{}, map[string]bool{}
	for _, k := range out.Kept {
		have[k.Setting] = k.Value
	}
	for _, w := range out.Warnings {
		warned[w.Setting] = true
	}
	if diff := cmp.Diff(want, have); diff != "" || len(out.Kept) != len(want) {
		t.Error(diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(warned))); diff != "" {
		t.Errorf("warnings: %s", diff)
	}
	if provider := at(t, out.Values, "addons.openstack.cloudConfig.LoadBalancer.lb-provider"); provider != "amphora" {
		t.Errorf("Services have the provider %v, for which there are no rules", provider)
	}
	in = input()
	in.Running = runningOf(t, input())
	if out, err = Values(in); err != nil || len(out.Kept)+len(out.Warnings) != 0 {
		t.Errorf("%v, %v, %v", out.Kept, out.Warnings, err)
	}
}

// TestAllowedNetworksOfARunningCluster: they can be changed; only "none" would take the floating IP.
func TestAllowedNetworksOfARunningCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		has, asks string
		want      any
	}{
		"others":                 {"10.0.0.0/8", "192.0.2.0/24", []any{"192.0.2.0/24"}},
		"everybody":              {"10.0.0.0/8", "", nil},
		"none, where some are":   {"10.0.0.0/8", "none", []any{"10.0.0.0/8"}},
		"none, where all are":    {"", "none", nil},
		"none and one":           {"10.0.0.0/8", "none,192.0.2.0/24", []any{"192.0.2.0/24"}},
		"one, where nobody is":   {"none", "192.0.2.0/24", []any{"192.0.2.0/24"}},
		"nobody, as nobody does": {"none", "none", []any{"none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asking := func(cidrs string) Input {
				in := input()
				in.Cluster.Spec.Template.Labels = map[string]string{"api_master_lb_allowed_cidrs": cidrs}
				return in
			}
			in := asking(test.asks)
			in.Running = runningOf(t, asking(test.has))
			out, err := Values(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range allowedPaths() {
				if diff := cmp.Diff(test.want, at(t, out.Values, path)); diff != "" {
					t.Errorf("%s: %s", path, diff)
				}
			}
			if floating, without := at(t, out.Values, "apiServer.associateFloatingIP"), test.has == "none" && test.asks != "none"; floating == without {
				t.Errorf("floating IP: %v", floating)
			}
		})
	}
}

// TestThreeControlPlanes: they need a load balancer. A running cluster keeps the one that it has, and
// gets none where it has none.
func TestThreeControlPlanes(t *testing.T) {
	t.Parallel()
	one := input()
	one.Groups[0].Spec.NodeCount, one.Cluster.Spec.Template.MasterLBEnabled = 1, false
	without := runningOf(t, one)
	for name, test := range map[string]struct {
		runs    Running
		asks    bool
		refused bool
	}{
		"it has one, and keeps it":       {runningOf(t, input()), false, false},
		"it has none, and gets none":     {without, true, true},
		"it has none, and asks for none": {without, false, true},
		"it is new":                      {Running{}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Running, in.Cluster.Spec.Template.MasterLBEnabled = test.runs, test.asks
			out, err := Values(in)
			if (err != nil) != test.refused {
				t.Fatal(err)
			}
			if err == nil && at(t, out.Values, "apiServer.enableLoadBalancer") != true {
				t.Error("the load balancer would go")
			}
		})
	}
}

// TestStandardsOfTheChart are what a cluster has for which nothing is said.
func TestStandardsOfTheChart(t *testing.T) {
	t.Parallel()
	chart, err := openstackcluster.Chart()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keptSettings("calico") {
		if diff := cmp.Diff(said(k.standard), said(lookUp(chart.Values, k.value))); diff != "" && k.value != "apiServer.enableLoadBalancer" {
			t.Errorf("%s: %s", k.value, diff)
		}
	}
}
