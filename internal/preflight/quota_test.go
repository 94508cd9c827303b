package preflight

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
)

func needOf(r Result, name string) Need {
	i := slices.IndexFunc(r.Quota, func(n Need) bool { return n.Resource == name })
	if i < 0 {
		return Need{}
	}
	return r.Quota[i]
}

// proves: S-33
func TestQuotaIsComparedWithWhatIsNeeded(t *testing.T) {
	t.Parallel()
	r := check(t, "seed: {rootVolume: {sizeGiB: 30}, flavor: huge, access: {rules: [{port: 80, cidrs: [10.0.0.0/8, 10.1.0.0/16]}]}}", func(s *cloud.Snapshot) {
		s.Quotas[1].Used, s.Quotas[4].Used = 13, 950
	})
	for name, want := range map[string]Need{
		"instances": {cloud.Compute, "instances", 1, 0, 10, 0, 0}, "cores": {cloud.Compute, "cores", 8, 13, 20, 0, 1}, "ram": {cloud.Compute, "ram", 16384, 0, 51200, 0, 0},
		"volumes": {cloud.Volume, "volumes", 2, 0, 10, 0, 0}, "gigabytes": {cloud.Volume, "gigabytes", 80, 950, 1000, 0, 30}, "ports": {cloud.Network, "ports", 3, 0, -1, 0, 0},
		"floating_ips": {cloud.Network, "floating_ips", 1, 0, 5, 0, 0}, "security_group_rules": {cloud.Network, "security_group_rules", 6, 0, 100, 0, 0},
	} {
		if got := needOf(r, name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	want := []string{"quota quota cores of compute: it needs 8, but only 7 of 20 are free", "quota quota gigabytes of block-storage: it needs 80, but only 50 of 1000 are free"}
	if got := told(r, Error); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestEveryQuotaIsCounted has a seed on a network of its own, and a management
// cluster of 3 and 2 nodes with server groups and a load balancer: everything that
// a quota can be short of is told, with how much.
//
// proves: S-33
func TestEveryQuotaIsCounted(t *testing.T) {
	t.Parallel()
	const cluster = `managementCluster: {controlPlane: {flavor: large, rootVolume: {sizeGiB: 25}, etcdVolume: {sizeGiB: 5, type: ssd}}, nodeGroups: [{name: md-0, count: 2, flavor: large}],
		values: {apiServer: {loadBalancer: {additionalPorts: [8132]}}, controlPlane: {serverGroup: {policy: anti-affinity}}, nodeGroupDefaults: {serverGroup: {policy: soft-anti-affinity}}}}`
	want := map[resource]int{
		{cloud.Compute, "instances"}: 1 + 4 + 3, {cloud.Compute, "cores"}: 4 * 8, {cloud.Compute, "ram"}: 8192 * 8,
		{cloud.Compute, "server_groups"}: 2, {cloud.Compute, "key_pairs"}: 1,
		{cloud.Volume, "volumes"}: 1 + 2*4, {cloud.Volume, "gigabytes"}: 50 + 30*4,
		{cloud.Volume, "volumes_ssd"}: 4, {cloud.Volume, "gigabytes_ssd"}: 5 * 4, {cloud.Volume, "volumes_hdd"}: 1 + 4, {cloud.Volume, "gigabytes_hdd"}: 50 + 25*4,
		{cloud.Network, "networks"}: 1, {cloud.Network, "subnets"}: 1, {cloud.Network, "routers"}: 1, {cloud.Network, "floating_ips"}: 2,
		{cloud.Network, "ports"}: 1 + 4 + 3 + 2 + 1, {cloud.Network, "security_groups"}: 3, {cloud.Network, "security_group_rules"}: 4 + 30,
		{cloud.LoadBalancer, "load_balancers"}: 1, {cloud.LoadBalancer, "listeners"}: 2, {cloud.LoadBalancer, "pools"}: 2,
		{cloud.LoadBalancer, "health_monitors"}: 2, {cloud.LoadBalancer, "members"}: 2 * 4,
	}
	// One control plane and one worker more, while they are replaced.
	surge := map[string]int{"instances": 2, "cores": 8, "ram": 16384, "ports": 2, "volumes": 2, "gigabytes": 30,
		"volumes_ssd": 1, "gigabytes_ssd": 5, "volumes_hdd": 1, "gigabytes_hdd": 25, "members": 2}
	r := check(t, cluster, func(s *cloud.Snapshot) {
		s.Quotas, s.DefaultVolumeType = nil, "hdd"
		for of := range want {
			s.Quotas = append(s.Quotas, cloud.Quota{Service: of.service, Resource: of.name, Limit: 7, Used: 7})
		}
	})
	for of, need := range want {
		if got := needOf(r, of.name); got != (Need{of.service, of.name, need, 7, 7, surge[of.name], need}) {
			t.Errorf("%s: %+v, want %d", of.name, got, need)
		}
	}
	if n := len(told(r, Error)); n != len(want) || !r.Refused() {
		t.Errorf("%d of %d are told: %q", n, len(want), told(r, Error))
	}
	// The groups of others, and their policy, are no business of ours.
	r = check(t, strings.NewReplacer("anti-affinity}", "anti-affinity}, serverGroupId: g").Replace(cluster), func(s *cloud.Snapshot) {
		s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "server_groups", Limit: 0}}
	})
	if r.Refused() {
		t.Errorf("server groups that are there already: %q", told(r, Error))
	}
}

func TestWhatExistsIsNotNeededAgain(t *testing.T) {
	t.Parallel()
	mark := ownership.New("prod", "x")
	named := func(kind string) cloud.Resource {
		return cloud.Resource{Kind: kind, ID: kind, Name: kind, Owner: &mark}
	}
	r := check(t, "", func(s *cloud.Snapshot) {
		s.Servers = []cloud.ServerInfo{{Resource: named("server")}}
		s.Volumes, s.SecurityGroups = []cloud.VolumeInfo{{Resource: named("volume")}}, []cloud.GroupInfo{{Resource: named("security group")}}
		s.FloatingIPs = []cloud.FloatingIPInfo{{Resource: named("floating IP")}}
		s.Routers = []cloud.RouterInfo{{Resource: named("router")}}
		s.Networks = append(s.Networks, cloud.NetworkInfo{Resource: named("network"), ProjectID: "p"})
		s.Subnets = append(s.Subnets, cloud.SubnetInfo{Resource: named("subnet"), ProjectID: "p", NetworkID: "network", CIDR: "192.168.100.0/24"})
		for i := range s.Quotas {
			s.Quotas[i].Used = s.Quotas[i].Limit // all of it is used, by this environment
		}
	})
	if len(r.Quota) > 0 || r.Refused() {
		t.Errorf("needed again: %+v, %q", r.Quota, told(r, Error))
	}
}

func TestNothingIsNeededForWhatIsGiven(t *testing.T) {
	t.Parallel()
	r := check(t, "seed: {network: {existing: internal}, provisioningNetwork: internal}", nil)
	if got := needOf(r, "ports").Need; got != 2 {
		t.Errorf("ports: %d, want the two of the seed", got)
	}
	if got := needOf(r, "floating_ips").Need; got != 0 {
		t.Errorf("floating IPs: %d", got)
	}
}

// proves: S-33
func TestUpgradesNeedTheSurge(t *testing.T) {
	t.Parallel()
	needs := map[resource]int{}
	machines{count: 3, surge: 1, ports: 1, volumes: []disk{{20, "ssd"}}, flavor: cloud.FlavorInfo{VCPUs: 2, RAM: 4096}}.add(needs)
	want := map[resource]int{
		{cloud.Compute, "instances"}: 4, {cloud.Compute, "cores"}: 8, {cloud.Compute, "ram"}: 16384,
		{cloud.Network, "ports"}: 4, {cloud.Volume, "volumes"}: 4, {cloud.Volume, "gigabytes"}: 80,
		{cloud.Volume, "volumes_ssd"}: 4, {cloud.Volume, "gigabytes_ssd"}: 80,
	}
	if !maps.Equal(needs, want) {
		t.Errorf("needs %v, want %v", needs, want)
	}
}

// TestMonitoringNeedsVolumes, those that its pods claim: without room for them they would wait.
func TestMonitoringNeedsVolumes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		monitoring     string
		volumes, sizes int // beside the seed's data volume
	}{
		"none":         {"", 0, 0},
		"with logs":    {", monitoring: {prometheus: {volumeGiB: 20}, logs: {volumeGiB: 5}}", 3, 20 + 10 + 5},
		"without logs": {", monitoring: {storageClass: mine, logs: {enabled: false}}", 2, 20},
	} {
		bare := check(t, "managementCluster: {controlPlane: {flavor: large}}", nil)
		r := check(t, "managementCluster: {controlPlane: {flavor: large}}"+test.monitoring, nil)
		volumes, sizes := needOf(r, "volumes").Need-needOf(bare, "volumes").Need, needOf(r, "gigabytes").Need-needOf(bare, "gigabytes").Need
		if volumes != test.volumes || sizes != test.sizes {
			t.Errorf("%s: %d volumes of %d GiB more, want %d of %d", name, volumes, sizes, test.volumes, test.sizes)
		}
	}
}

func TestUnlimitedQuota(t *testing.T) {
	t.Parallel()
	r := check(t, "", func(s *cloud.Snapshot) {
		for i := range s.Quotas {
			s.Quotas[i].Limit, s.Quotas[i].Used = -1, 1000000
		}
	})
	if r.Refused() {
		t.Errorf("refused: %s", strings.Join(told(r, Error), ", "))
	}
}

// TestAFullProjectStopsOnlyWhatReplacesMachines: a change that replaces none must not be
// refused because tenants have used up the quota; more machines than there are must.
func TestAFullProjectStopsOnlyWhatReplacesMachines(t *testing.T) {
	t.Parallel()
	full := func(made bool) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) {
			if made {
				s.Balancers = []cloud.BalancerInfo{{Resource: cloud.Resource{Kind: "load balancer", Name: "k8s-clusterapi-cluster-default-prod-kubeapi"}}}
				cluster := ownership.New("prod", "management-cluster") // the mark of what Cluster API makes
				for i := range 3 {
					s.Servers = append(s.Servers, cloud.ServerInfo{Resource: cloud.Resource{Kind: "server", Name: "prod-control-plane-" + strconv.Itoa(i), Owner: &cluster}})
				}
				s.Servers = append(s.Servers, cloud.ServerInfo{Resource: cloud.Resource{Kind: "server", Name: "prod-md-0-a-b"}})
			}
			s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "cores", Limit: 50, Used: 50 - 4}} // as many as the seed needs are free
		}
	}
	for name, test := range map[string]struct {
		workers int
		made    bool
		refused bool
	}{"nothing is there yet": {1, false, true}, "all are there": {1, true, false}, "a worker more, and no surge": {2, true, true}} {
		r := check(t, "managementCluster: {controlPlane: {flavor: large}, nodeGroups: [{name: md-0, count: "+strconv.Itoa(test.workers)+", flavor: large}]}", full(test.made))
		if r.Refused() != test.refused || len(told(r, Error))+len(told(r, Warning)) == 0 {
			t.Errorf("%s: errors %q, warnings %q, %+v", name, told(r, Error), told(r, Warning), r.Quota)
		}
	}
}

// TestServersOfAGroupWithALongerName are not this group's, nor are those of another cluster: what it
// needs would be too little.
func TestServersOfAGroupWithALongerName(t *testing.T) {
	t.Parallel()
	r := check(t, "managementCluster: {controlPlane: {flavor: large, count: 1}, nodeGroups: [{name: gpu}, {name: gpu-big}, {name: control}]}", func(s *cloud.Snapshot) {
		for _, name := range []string{"prod-gpu-big-a-b", "prod-control-plane-a", "prod-gpu-control-plane-a", "prod-gpu-md-0-a-b"} {
			s.Servers = append(s.Servers, cloud.ServerInfo{Resource: cloud.Resource{Kind: "server", Name: name, Owner: new(ownership.Owner)}, Flavor: "large"})
		}
	})
	// The seed, one for gpu and one for control, and one more of each of the four while they are replaced.
	if got := needOf(r, "instances").Need; got != 1+2+4 {
		t.Errorf("%d instances are needed, want 7", got)
	}
}
