package preflight

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
)

const withCluster = "managementCluster: {nodeGroups: [{name: md-0}]}"

func TestManagementClusterIsChosenFor(t *testing.T) {
	t.Parallel()
	medium := cloud.FlavorInfo{ID: "5", Name: "medium", VCPUs: 2, RAM: 4096, Disk: 40}
	offer := func(s *cloud.Snapshot) {
		s.Flavors = slices.Insert(s.Flavors, 1, medium)
		s.Quotas[1].Limit, s.Quotas[2].Limit = 50, 102400
	}
	r := check(t, withCluster, offer)
	m := r.Choices.Management
	if m == nil || m.ControlPlaneFlavor != "medium" || m.NodeGroupFlavors["md-0"] != "medium" || r.Refused() {
		t.Errorf("chosen %+v; %v", m, told(r, Error))
	}
	// 3 and 1 servers with one more each while they are replaced, and the seed.
	for resource, want := range map[string]int{"instances": 7, "cores": 6*2 + 4, "floating_ips": 2} {
		if i := slices.IndexFunc(r.Quota, func(n Need) bool { return n.Resource == resource }); i < 0 || r.Quota[i].Need != want {
			t.Errorf("%s: %+v, want %d", resource, r.Quota, want)
		}
	}
	kept := check(t, withCluster, func(s *cloud.Snapshot) {
		offer(s)
		s.Servers = []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", ID: "s", Name: "prod-control-plane-x"}, Flavor: "huge"}}
	})
	if got := kept.Choices.Management.ControlPlaneFlavor; got != "huge" {
		t.Errorf("a cheaper flavor would replace the servers: %s instead of huge", got)
	}
	first := check(t, withCluster, func(s *cloud.Snapshot) {
		offer(s)
		s.Servers = []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", ID: "s", Name: "prod-control-plane-x"}, Flavor: "small"}}
	})
	if got := first.Choices.Management.ControlPlaneFlavor; got != "small" {
		t.Errorf("the servers have small, the first flavor, but %s is chosen", got)
	}
	if none := check(t, "", nil); none.Choices.Management != nil {
		t.Errorf("chosen for no management cluster: %+v", none.Choices.Management)
	}
}

// TestNodesGetTheLeastOfAllThatFits: each of the three limits counts, and where none fits, none is
// counted.
func TestNodesGetTheLeastOfAllThatFits(t *testing.T) {
	t.Parallel()
	short := []cloud.FlavorInfo{{Name: "one CPU", VCPUs: 1, RAM: 4096, Disk: 20}, {Name: "a MiB short", VCPUs: 2, RAM: 4095, Disk: 20}, {Name: "a GB short", VCPUs: 2, RAM: 4096, Disk: 19}}
	for want, flavors := range map[string][]cloud.FlavorInfo{"": short, "enough": append(slices.Clone(short), cloud.FlavorInfo{Name: "enough", VCPUs: 2, RAM: 4096, Disk: 20})} {
		r := check(t, "managementCluster: {}", func(s *cloud.Snapshot) { s.Flavors = flavors })
		machines := needOf(r, "instances").Need
		if got := r.Choices.Management.ControlPlaneFlavor; got != want || machines > 1 != (want != "") {
			t.Errorf("chosen %q, want %q; %d machines are counted", got, want, machines)
		}
	}
}

// TestZonesOfNodesWhereNoneAreKnown are the cloud's business.
func TestZonesOfNodesWhereNoneAreKnown(t *testing.T) {
	t.Parallel()
	r := check(t, "managementCluster: {controlPlane: {availabilityZones: [az9]}}", func(s *cloud.Snapshot) { s.Quotas, s.Zones = nil, nil })
	if r.Refused() {
		t.Errorf("refused: %q", told(r, Error))
	}
}

// TestTypesOfVolumesThatExist: by their names, or by an ID, which only Cinder knows.
func TestTypesOfVolumesThatExist(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ssd", "4f8d3f9e-8f63-4a69-8c6e-7d4c2f0b7d11"} {
		r := check(t, "managementCluster: {controlPlane: {rootVolume: {type: "+kind+", availabilityZone: vz1}, etcdVolume: {type: "+kind+"}}}", func(s *cloud.Snapshot) { s.Quotas = nil })
		if r.Refused() {
			t.Errorf("%s: %q", kind, told(r, Error))
		}
	}
}

// TestAProviderThatIsNamed counts also where the cloud lists none; a load balancer that is there stays.
func TestAProviderThatIsNamed(t *testing.T) {
	t.Parallel()
	for made, want := range map[string]string{"": "ovn", "octavia": "amphora"} {
		r := check(t, "managementCluster: {apiServer: {loadBalancerProvider: ovn}}", func(s *cloud.Snapshot) {
			s.Quotas, s.Providers = nil, nil
			s.Missing = []cloud.Missing{{Service: cloud.LoadBalancer, What: cloud.ListProviders, Status: 404, Cause: "no"}}
			if made != "" {
				s.Balancers = []cloud.BalancerInfo{{Resource: cloud.Resource{Kind: "load balancer", Name: "k8s-clusterapi-cluster-default-prod-kubeapi"}, Provider: made}}
			}
		})
		if got := r.Choices.LoadBalancerProvider; got != want || r.Refused() {
			t.Errorf("made of %q: %q, want %q; %v", made, got, want, told(r, Error))
		}
	}
}

// TestAClusterThatIsThereIsNotRefused for what Cinder took although it does not list it, nor for
// ranges that nobody can change any more.
func TestAClusterThatIsThereIsNotRefused(t *testing.T) {
	t.Parallel()
	const spec = "seed: {network: {existing: int}}, managementCluster: {controlPlane: {rootVolume: {type: nvme, availabilityZone: az1}}}"
	for _, there := range []bool{true, false} {
		r := check(t, spec, func(s *cloud.Snapshot) {
			s.Quotas, s.Subnets = nil, append(s.Subnets, subnet("more", "int", "10.244.0.0/24"))
			if there {
				s.Balancers = []cloud.BalancerInfo{{Resource: cloud.Resource{Kind: "load balancer", Name: "k8s-clusterapi-cluster-default-prod-kubeapi"}, Provider: "amphora"}}
			}
		})
		level := map[bool]Level{true: Warning, false: Error}[there]
		text := strings.Join(told(r, level), "; ")
		if r.Refused() == there || !strings.Contains(text, "volume type nvme") || !strings.Contains(text, "availability zone az1") || strings.Contains(text, "managementCluster.podCIDR") == there {
			t.Errorf("there %t: refused %t, told %q", there, r.Refused(), text)
		}
	}
}

// proves: S-35
func TestAntiAffinityWantsHosts(t *testing.T) {
	t.Parallel()
	const spec = "managementCluster: {nodeGroups: [{name: md-0, count: 2}], values: {controlPlane: {serverGroup: {policy: %s}}, nodeGroupDefaults: {serverGroup: {policy: %s}}}}"
	for name, c := range map[string]struct {
		plane, groups string
		hosts         int
		want          []string
	}{
		"enough":       {"anti-affinity", "anti-affinity", 3, nil},
		"not shown":    {"anti-affinity", "anti-affinity", 0, nil},
		"two":          {"anti-affinity", "anti-affinity", 2, []string{"management-cluster control plane: anti-affinity needs a separate host for each of 3 servers, but the cloud offers only 2"}},
		"one":          {"soft-anti-affinity", "anti-affinity", 1, []string{"management-cluster node group md-0: anti-affinity needs a separate host for each of 2 servers, but the cloud offers only 1"}},
		"soft is fine": {"soft-anti-affinity", "soft-anti-affinity", 1, nil},
	} {
		r := check(t, fmt.Sprintf(spec, c.plane, c.groups), func(s *cloud.Snapshot) { s.Hosts = c.hosts; s.Quotas = nil })
		found := slices.DeleteFunc(told(r, Warning), func(text string) bool { return !strings.Contains(text, "affinity") })
		if len(found) != len(c.want) || len(found) == 1 && !strings.HasPrefix(found[0], c.want[0]) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}

func TestManagementClusterRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec   string
		change func(*cloud.Snapshot)
		want   string
	}{
		"small":                         {"managementCluster: {controlPlane: {flavor: small}}", nil, "flavor small: it is too small for a node"},
		"unknown":                       {"managementCluster: {controlPlane: {flavor: tiny}}", nil, "flavor tiny: nothing has this name or ID"},
		"group":                         {"managementCluster: {nodeGroups: [{name: md-0, flavor: tiny}]}", nil, "flavor tiny: nothing has this name or ID"},
		"image":                         {"managementCluster: {image: node}", nil, "image node: there is no image"},
		"zone":                          {"managementCluster: {controlPlane: {availabilityZones: [az9]}}", nil, "availability zone az9"},
		"type of a root volume":         {"managementCluster: {controlPlane: {rootVolume: {type: nvme}}}", nil, "volume-type volume type nvme: there is none of this name"},
		"type of etcd's volume":         {"managementCluster: {controlPlane: {etcdVolume: {type: nvme}}}", nil, "volume-type volume type nvme"},
		"type of a group's root volume": {"managementCluster: {nodeGroups: [{name: md-0, rootVolume: {type: nvme}}]}", nil, "volume-type volume type nvme"},
		"zone of a group's root volume": {"managementCluster: {nodeGroups: [{name: md-0, rootVolume: {availabilityZone: az1}}]}", nil, "availability-zone availability zone az1"},
		"provider":                      {"managementCluster: {apiServer: {loadBalancerProvider: f5}}", nil, "load balancer provider f5"},
		"another provider": {"managementCluster: {apiServer: {loadBalancerProvider: ovn}}", func(s *cloud.Snapshot) {
			s.Balancers = []cloud.BalancerInfo{{Resource: cloud.Resource{Kind: "load balancer", Name: "k8s-clusterapi-cluster-default-prod-kubeapi"}, Provider: "amphora"}}
		}, "load balancer provider ovn: the management cluster has a load balancer of provider amphora"},
		"no flavor": {"managementCluster: {}", func(s *cloud.Snapshot) { s.Flavors = s.Flavors[:1] }, "spec.managementCluster.controlPlane.flavor: none of 1"},
		"no Octavia": {"managementCluster: {}", func(s *cloud.Snapshot) {
			s.Missing = []cloud.Missing{{Service: cloud.LoadBalancer, Absent: true}}
		}, "service load-balancer: the cloud has no such service, but"},
		"quota": {withCluster, nil, "quota cores"},
	} {
		r := check(t, test.spec, test.change)
		if !slices.ContainsFunc(told(r, Error), func(text string) bool { return strings.Contains(text, test.want) }) {
			t.Errorf("%s: told %q, want %q", name, told(r, Error), test.want)
		}
	}
}
