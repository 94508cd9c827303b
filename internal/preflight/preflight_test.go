package preflight

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// environment is one with the given spec as YAML in flow style.
func environment(t *testing.T, spec string) *config.Environment {
	t.Helper()
	text := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\nspec: {" + spec + "}\n"
	loaded, err := config.Parse(config.Source{Name: "slipway.yaml", Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Environment
}

func network(id, name string, external bool) cloud.NetworkInfo {
	return cloud.NetworkInfo{Resource: cloud.Resource{Kind: "network", ID: id, Name: name}, ProjectID: "p", External: external}
}

func subnet(id, networkID, cidr string) cloud.SubnetInfo {
	return cloud.SubnetInfo{Resource: cloud.Resource{Kind: "subnet", ID: id, Name: id}, ProjectID: "p", NetworkID: networkID, CIDR: cidr}
}

func image(id, name, status string, day int) cloud.ImageInfo {
	return cloud.ImageInfo{Resource: cloud.Resource{Kind: "image", ID: id, Name: name}, Status: status, CreatedAt: now.AddDate(0, 0, day)}
}

// healthy is a cloud in which nothing is wrong.
func healthy() *cloud.Snapshot {
	return &cloud.Snapshot{Cloud: "c", Token: cloud.Token{ProjectID: "p", ProjectName: "demo", Roles: []string{"reader", "member", "load-balancer_member"}},
		Networks: []cloud.NetworkInfo{network("ext", "public", true), network("int", "internal", false)},
		Subnets:  []cloud.SubnetInfo{subnet("s-ext", "ext", "172.24.4.0/24"), subnet("s-int", "int", "10.9.0.0/24")},
		Flavors: []cloud.FlavorInfo{{ID: "1", Name: "small", VCPUs: 1, RAM: 2048, Disk: 20}, {ID: "2", Name: "nodisk", VCPUs: 2, RAM: 8192}, {ID: "3", Name: "large", VCPUs: 4, RAM: 8192, Disk: 80},
			{ID: "4", Name: "huge", VCPUs: 8, RAM: 16384, Disk: 160}},
		Images:      []cloud.ImageInfo{image("i1", "debian-12", "active", 1), image("i2", "debian-12", "active", 3), image("i3", "debian-12", "active", 2), image("i4", "broken", "killed", 1)},
		VolumeTypes: []string{"ssd"}, Providers: []string{"amphora", "ovn"}, Extensions: []string{"network_availability_zone", "router_availability_zone"},
		Zones: map[string][]string{cloud.ComputeZones: {"az1"}, cloud.VolumeZones: {"vz1"}, cloud.NetworkZones: {"nz1"}, cloud.RouterZones: {"nz1"}},
		Quotas: []cloud.Quota{{Service: cloud.Compute, Resource: "instances", Limit: 10}, {Service: cloud.Compute, Resource: "cores", Limit: 20}, {Service: cloud.Compute, Resource: "ram", Limit: 51200},
			{Service: cloud.Volume, Resource: "volumes", Limit: 10}, {Service: cloud.Volume, Resource: "gigabytes", Limit: 1000}, {Service: cloud.Network, Resource: "ports", Limit: -1},
			{Service: cloud.Network, Resource: "floating_ips", Limit: 5}, {Service: cloud.Network, Resource: "security_group_rules", Limit: 100}},
	}
}

func check(t *testing.T, spec string, change func(*cloud.Snapshot)) Result {
	t.Helper()
	s := healthy()
	if change != nil {
		change(s)
	}
	return Run(Input{Environment: environment(t, spec), Snapshot: s, Steps: []string{"network", "seed", "seed-data", "key-pair"}, Now: now})
}

// told are the findings of a level as "id object: cause".
func told(r Result, level Level) []string {
	var all []string
	for _, f := range r.Findings {
		if f.Level == level {
			all = append(all, f.ID+" "+f.Object+": "+f.Cause)
		}
	}
	return all
}

func TestHealthyCloudIsChosenFrom(t *testing.T) {
	t.Parallel()
	r := check(t, "", nil)
	if problems := append(told(r, Error), told(r, Warning)...); len(problems) > 0 {
		t.Errorf("found %q", problems)
	}
	want := Choices{ExternalNetworkID: "ext", ExternalNetworkName: "public", FloatingNetworkID: "ext", FlavorID: "3", FlavorName: "large", SSHUser: "debian",
		Roles: []string{"member", "load-balancer_member"}, LoadBalancerProvider: "amphora"}
	if got := r.Choices; got.FlavorID != want.FlavorID || got.ExternalNetworkID != want.ExternalNetworkID || got.FloatingNetworkID != want.FloatingNetworkID ||
		!slices.Equal(got.Roles, want.Roles) || got.SSHUser != want.SSHUser || got.LoadBalancerProvider != want.LoadBalancerProvider || got.NetworkID+got.ImageID != "" {
		t.Errorf("chosen %+v, want %+v", got, want)
	}
	if r.Err() != nil || r.Refused() {
		t.Errorf("refused: %v", r.Err())
	}
}

// one is a case with the one problem that it must lead to; want is "" for none.
type one struct {
	spec   string
	change func(*cloud.Snapshot)
	level  Level
	want   string
}

func runCases(t *testing.T, cases map[string]one) {
	t.Helper()
	for name, c := range cases {
		r := check(t, c.spec, c.change)
		problems := append(told(r, Error), told(r, Warning)...)
		if c.want == "" {
			if len(problems) > 0 {
				t.Errorf("%s: found %q", name, problems)
			}
			continue
		}
		if found := told(r, c.level); len(problems) != 1 || len(found) != 1 || !strings.Contains(found[0], c.want) {
			t.Errorf("%s: found %q, want one %s with %q", name, problems, c.level, c.want)
		}
		if r.Refused() != (c.level == Error) {
			t.Errorf("%s: refused %v", name, r.Refused())
		}
	}
}

// proves: S-47
func TestProviderOfLoadBalancers(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{"amphora ovn": "amphora", "octavia amphora": "amphora", "ovn": "ovn", "octavia ovn": "ovn", "octavia": "octavia"} {
		r := check(t, "", func(s *cloud.Snapshot) { s.Providers = strings.Fields(list) })
		if got := r.Choices.LoadBalancerProvider; got != want {
			t.Errorf("of %s it chose %q, want %q", list, got, want)
		}
	}
}

// TestTheProviderOfAClusterStays: CAPO refuses to change it, whatever the cloud has got since.
func TestTheProviderOfAClusterStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ made, list, want string }{
		"OVN before amphora came":     {"ovn", "amphora ovn", "ovn"},
		"amphora that went":           {"amphora", "ovn", "amphora"},
		"the old name of the default": {"octavia", "octavia amphora", "amphora"},
		"nothing but the old name":    {"octavia", "octavia", "octavia"},
		"of an older Octavia":         {"", "ovn", "ovn"},
	} {
		r := check(t, "", func(s *cloud.Snapshot) {
			s.Providers = strings.Fields(c.list)
			s.Balancers = []cloud.BalancerInfo{{Resource: cloud.Resource{Kind: "load balancer", Name: "k8s-clusterapi-cluster-default-prod-kubeapi"}, Provider: c.made}}
		})
		if got := r.Choices.LoadBalancerProvider; got != c.want {
			t.Errorf("%s: it chose %q, want %q", name, got, c.want)
		}
	}
}

// proves: F11, S-09
func TestExternalNetwork(t *testing.T) {
	t.Parallel()
	second := func(s *cloud.Snapshot) { s.Networks = append(s.Networks, network("ext2", "internet", true)) }
	same := func(s *cloud.Snapshot) { s.Networks = append(s.Networks, network("ext2", "public", true)) }
	none := func(s *cloud.Snapshot) { s.Networks, s.Subnets = s.Networks[1:], s.Subnets[1:] }
	const local = "seed: {provider: kind, network: {existing: internal}}, managementCluster: {apiServer: "
	runCases(t, map[string]one{
		"one":                    {"", nil, Info, ""},
		"none":                   {"", none, Error, "external-network external network: project demo sees none"},
		"none needed":            {"seed: {network: {existing: internal}, floatingIP: {mode: none}}", none, Error, ""},
		"none, and a local seed": {local + "{floatingIP: false}}", none, Error, ""},
		"none, and a local seed whose cluster needs one": {local + "{floatingIP: true}}", none, Error, "external-network external network: project demo sees none, so the API of the management cluster"},
		"none needed, of two":                            {"seed: {network: {existing: internal}, floatingIP: {mode: none}}", second, Error, ""},
		"none needed, unknown":                           {"externalNetwork: other, seed: {network: {existing: internal}, floatingIP: {mode: none}}", nil, Error, "external network other: nothing has this name or ID"},
		"none, but the seed is to have a floating IP":    {"seed: {network: {existing: internal}}", none, Error, "so neither the router nor the seed could be reached"},
		"two":                     {"", second, Error, "there are 2: internet (ext2), public (ext)"},
		"two, by name":            {"externalNetwork: internet", second, Error, ""},
		"two, by id":              {"externalNetwork: ext2", second, Error, ""},
		"two of a name":           {"externalNetwork: public", same, Error, "2 have this name: ext, ext2"},
		"named, not external":     {"externalNetwork: internal", nil, Error, "external network internal: nothing has this name or ID"},
		"listing is not possible": {"", func(s *cloud.Snapshot) { s.Networks = nil; s.Missing = missing(cloud.Network, cloud.ListNetworks) }, Error, "services service network: networks cannot be listed"},
	})
	if r := check(t, "externalNetwork: internet", second); r.Choices.ExternalNetworkID != "ext2" || r.Choices.FloatingNetworkID != "ext2" {
		t.Errorf("chosen %+v", r.Choices)
	}
	if r := check(t, "externalNetwork: internet, seed: {network: {existing: internal}, floatingIP: {mode: none}}", second); r.Choices.ExternalNetworkID != "ext2" || r.Choices.FloatingNetworkID != "" {
		t.Errorf("chosen for clusters alone %+v", r.Choices)
	}
}

func missing(service cloud.Service, what string) []cloud.Missing {
	return []cloud.Missing{{Service: service, What: what, Cause: "refused (403)"}}
}

// TestListsThatChoicesNeed: while one is not known, nothing is chosen anew; what a cloud never has,
// and what the environment does not choose by, stops nobody.
func TestListsThatChoicesNeed(t *testing.T) {
	t.Parallel()
	const given, address = "externalNetwork: public, seed: {network: {existing: internal}}", "seed: {floatingIP: {address: 172.24.4.9}}"
	const cluster, hints = "managementCluster: {controlPlane: {flavor: large}}", "seed: {network: {availabilityZoneHints: [nz1]}}"
	const unbalanced = "managementCluster: {controlPlane: {flavor: large}, values: {apiServer: {enableLoadBalancer: false}}}"
	for name, c := range map[string]struct {
		spec    string
		service cloud.Service
		what    string
		status  int
		refused bool
	}{
		"servers, of which the flavor is kept":        {"", cloud.Compute, cloud.ListServers, 503, true},
		"routers, of which the network is kept":       {"", cloud.Network, cloud.ListRouters, 403, true},
		"routers of a cloud that has none":            {"", cloud.Network, cloud.ListRouters, 404, false},
		"routers, and the network is named":           {"externalNetwork: public", cloud.Network, cloud.ListRouters, 403, false},
		"subnets of a network that is there":          {given, cloud.Network, cloud.ListSubnets, 503, true},
		"subnets of others":                           {"", cloud.Network, cloud.ListSubnets, 503, false},
		"floating IPs, of which one is named":         {address, cloud.Network, cloud.ListFloatingIPs, 503, true},
		"floating IPs, and the seed gets a new one":   {"", cloud.Network, cloud.ListFloatingIPs, 503, false},
		"load balancers of the management cluster":    {cluster, cloud.LoadBalancer, cloud.ListBalancers, 403, true},
		"load balancers without a management cluster": {"", cloud.LoadBalancer, cloud.ListBalancers, 403, false},
		"load balancers that there are to be none of": {unbalanced, cloud.LoadBalancer, cloud.ListBalancers, 403, false},
		"providers of the management cluster":         {cluster, cloud.LoadBalancer, cloud.ListProviders, 503, true},
		"providers that only the operator sees":       {cluster, cloud.LoadBalancer, cloud.ListProviders, 403, false},
		"providers of an Octavia that lists none":     {cluster, cloud.LoadBalancer, cloud.ListProviders, 404, false},
		"providers of an Octavia with a fault":        {cluster, cloud.LoadBalancer, cloud.ListProviders, 500, true},
		"extensions, and hints are to be sent":        {hints, cloud.Network, cloud.ListExtensions, 503, true},
		"extensions that nobody may list":             {hints, cloud.Network, cloud.ListExtensions, 403, false},
		"extensions, and there are no hints":          {"", cloud.Network, cloud.ListExtensions, 503, false},
	} {
		r := check(t, c.spec, func(s *cloud.Snapshot) {
			s.Quotas, s.Missing = nil, []cloud.Missing{{Service: c.service, What: c.what, Status: c.status, Cause: "no"}}
		})
		text := strings.Join(told(r, map[bool]Level{true: Error, false: Warning}[c.refused]), "; ")
		if r.Refused() != c.refused || !strings.Contains(text, "services service "+string(c.service)+": "+c.what+" cannot be listed") {
			t.Errorf("%s: refused %t, told %q", name, r.Refused(), text)
		}
	}
}

func absent(service cloud.Service) []cloud.Missing {
	return []cloud.Missing{{Service: service, What: "anything", Absent: true, Cause: "no endpoint"}}
}

func TestNetworksAndAddresses(t *testing.T) {
	t.Parallel()
	addresses := func(port string) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) {
			s.FloatingIPs = []cloud.FloatingIPInfo{{Resource: cloud.Resource{Kind: "floating IP", ID: "f"}, Address: "172.24.4.9", NetworkID: "ext", PortID: port}}
		}
	}
	mark := ownership.New("prod", "seed-data")
	gone := func(s *cloud.Snapshot) {
		addresses("port")(s)
		s.Volumes = []cloud.VolumeInfo{{Resource: cloud.Resource{Kind: "volume", ID: "d", Name: mark.Name(), Owner: &mark}}}
	}
	runCases(t, map[string]one{
		"fixed address of a seed without its server": {"seed: {floatingIP: {address: 172.24.4.9}}", gone, Error, ""},
		"existing":                {"seed: {network: {existing: internal}}", nil, Error, ""},
		"existing with subnet":    {"seed: {network: {existing: int, subnet: s-int}}", nil, Error, ""},
		"existing, unknown":       {"seed: {network: {existing: other}}", nil, Error, "network network other: nothing has this name or ID"},
		"subnet of another":       {"seed: {network: {existing: int, subnet: s-ext}}", nil, Error, "network subnet s-ext: nothing has this name or ID"},
		"network without subnets": {"seed: {network: {existing: int}}", func(s *cloud.Snapshot) { s.Subnets = nil }, Error, "it has no subnet"},
		"provisioning":            {"seed: {provisioningNetwork: internal}", nil, Error, ""},
		"provisioning, unknown":   {"seed: {provisioningNetwork: other}", nil, Error, "provisioning network other: nothing has this name or ID"},
		"no floating IP":          {"seed: {floatingIP: {mode: none}}", nil, Warning, "floating-ip seed: it has no floating IP"},
		"fixed address":           {"seed: {floatingIP: {address: 172.24.4.9}}", addresses(""), Error, ""},
		"fixed address in use":    {"seed: {floatingIP: {address: 172.24.4.9}}", addresses("port"), Error, "in use by port port"},
		"fixed address, unknown":  {"seed: {floatingIP: {address: 172.24.4.10}}", addresses(""), Error, "project demo has no floating IP"},
		"pool":                    {"seed: {floatingIP: {pool: public}}", nil, Error, ""},
		"pool, unknown":           {"seed: {floatingIP: {pool: internal}}", nil, Error, "floating IP pool internal: nothing has this name or ID"},
	})
	r := check(t, "seed: {network: {existing: internal, subnet: s-int}, provisioningNetwork: internal}", func(s *cloud.Snapshot) { s.Networks[1].MTU = 1442 })
	if c := r.Choices; c.NetworkID != "int" || !slices.Equal(c.NetworkCIDRs, []string{"10.9.0.0/24"}) || c.NetworkMTU != 1442 || c.SubnetID != "s-int" || c.ProvisioningNetworkID != "int" || c.FloatingNetworkID != "" {
		t.Errorf("chosen %+v", c)
	}
	if r := check(t, "externalNetwork: public, seed: {floatingIP: {pool: pool}}", func(s *cloud.Snapshot) { s.Networks = append(s.Networks, network("ext2", "pool", true)) }); r.Choices.FloatingNetworkID != "ext2" || r.Choices.ExternalNetworkID != "ext" {
		t.Errorf("chosen of a pool %+v", r.Choices)
	}
	if r := check(t, "seed: {floatingIP: {address: 172.24.4.9}}", addresses("")); r.Choices.FloatingIPID != "f" || !slices.Equal(r.Choices.FloatingCIDRs, []string{"172.24.4.0/24"}) || r.Choices.FloatingNetworkID != "ext" {
		t.Errorf("chosen %+v", r.Choices)
	}
}

// proves: S-10
func TestAvailabilityZones(t *testing.T) {
	t.Parallel()
	without := func(s *cloud.Snapshot) { s.Extensions, s.Zones = nil, map[string][]string{} }
	unknown := func(s *cloud.Snapshot) { s.Extensions, s.Missing = nil, missing(cloud.Network, cloud.ListExtensions) }
	half := func(s *cloud.Snapshot) { s.Extensions = s.Extensions[:1] }
	runCases(t, map[string]one{
		"known":                      {"seed: {availabilityZone: az1, dataVolume: {availabilityZone: vz1}, network: {availabilityZoneHints: [nz1]}}", nil, Error, ""},
		"compute":                    {"seed: {availabilityZone: az9}", nil, Error, "availability zone az9: there is no available compute zone with this name"},
		"volume":                     {"seed: {dataVolume: {availabilityZone: az1}}", nil, Error, "availability zone az1"},
		"root volume":                {"seed: {rootVolume: {availabilityZone: az1}}", nil, Error, "availability zone az1"},
		"hints, no extension":        {"seed: {network: {availabilityZoneHints: [nz1]}}", without, Warning, "the hints are not sent"},
		"hints, half the extensions": {"seed: {network: {availabilityZoneHints: [nz1]}}", half, Warning, "the hints are not sent"},
		"hints, none given":          {"", without, Error, ""},
		"hints, extensions unknown":  {"seed: {network: {availabilityZoneHints: [nz1]}}", unknown, Error, "services service network: extensions cannot be listed"},
	})
	for _, change := range []func(*cloud.Snapshot){nil, unknown} {
		if r := check(t, "seed: {network: {availabilityZoneHints: [nz1]}}", change); !slices.Equal(r.Choices.AvailabilityZoneHints, []string{"nz1"}) {
			t.Errorf("hints %v", r.Choices.AvailabilityZoneHints)
		}
	}
	if r := check(t, "seed: {network: {availabilityZoneHints: [nz1]}}", without); len(r.Choices.AvailabilityZoneHints) > 0 {
		t.Errorf("hints %v for a cloud without zones", r.Choices.AvailabilityZoneHints)
	}
}

// proves: F22
func TestFlavor(t *testing.T) {
	t.Parallel()
	runCases(t, map[string]one{
		"by name":                            {"seed: {flavor: huge}", nil, Error, ""},
		"by id":                              {"seed: {flavor: '4'}", nil, Error, ""},
		"unknown":                            {"seed: {flavor: other}", nil, Error, "flavor flavor other: nothing has this name or ID"},
		"too small":                          {"seed: {flavor: small}", nil, Error, "1 of 2 vCPUs, 2048 of 8192 MiB of memory"},
		"no disk":                            {"seed: {flavor: nodisk}", nil, Error, "0 of 20 GB of disk"},
		"disk does not matter with a volume": {"seed: {flavor: nodisk, rootVolume: {}}", nil, Error, ""},
		"none":                               {"", func(s *cloud.Snapshot) { s.Flavors = s.Flavors[:2] }, Error, "none of 2 flavors has 2 vCPUs"},
	})
	for spec, want := range map[string]string{"": "large", "seed: {rootVolume: {}}": "nodisk", "seed: {flavor: '4'}": "huge"} {
		if got := check(t, spec, nil).Choices.FlavorName; got != want {
			t.Errorf("%s: flavor %s, want %s", spec, got, want)
		}
	}
	// The least memory wins, not the first that is large enough in another way, and
	// each of the three limits counts.
	least := check(t, "", func(s *cloud.Snapshot) {
		s.Flavors = []cloud.FlavorInfo{{Name: "one CPU", VCPUs: 1, RAM: 8192, Disk: 20}, {Name: "a GB short", VCPUs: 2, RAM: 8192, Disk: 19}, {Name: "a MiB short", VCPUs: 2, RAM: 8191, Disk: 20},
			{Name: "enough", VCPUs: 2, RAM: 8192, Disk: 20}, {Name: "more", VCPUs: 2, RAM: 8193, Disk: 20}}
	})
	if got := least.Choices.FlavorName; got != "enough" {
		t.Errorf("chosen %q", got)
	}
	if r := check(t, "", nil); !slices.ContainsFunc(told(r, Info), func(line string) bool {
		return strings.HasPrefix(line, "flavor flavor large: chosen: it has the least memory of the flavors that are large enough (4 vCPUs, 8192 MiB")
	}) {
		t.Errorf("the choice is not told: %q", told(r, Info))
	}
}

// What was chosen once stays, also when the cloud offers more later: another
// flavor would resize the seed, another network move its address.
func TestChoicesStay(t *testing.T) {
	t.Parallel()
	mark, other := ownership.New("prod", "seed"), ownership.New("other", "seed")
	begun := func(m ownership.Owner, flavor, external string) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) {
			s.Servers = []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", ID: "v", Name: m.Name(), Owner: &m}, Flavor: flavor}}
			s.Routers = []cloud.RouterInfo{{Resource: cloud.Resource{Kind: "router", ID: "r", Name: "r", Owner: &m}, ExternalNetworkID: external}}
			s.Networks = append(s.Networks, network("ext2", "internet", true))
		}
	}
	for name, test := range map[string]struct {
		spec, flavor, network string
		change                func(*cloud.Snapshot)
	}{
		"kept":                   {"", "huge", "ext2", begun(mark, "huge", "ext2")},
		"named wins":             {"externalNetwork: public, seed: {flavor: large}", "large", "ext", begun(mark, "huge", "ext2")},
		"flavor is gone":         {"externalNetwork: public", "large", "ext", begun(mark, "retired", "ext2")},
		"of another environment": {"externalNetwork: public", "large", "ext", begun(other, "huge", "ext2")},
	} {
		r := check(t, test.spec, test.change)
		if c := r.Choices; c.FlavorName != test.flavor || c.ExternalNetworkID != test.network || c.FloatingNetworkID != test.network || r.Refused() {
			t.Errorf("%s: chosen %+v, %q", name, c, told(r, Error))
		}
	}
}

// proves: S-13
func TestImage(t *testing.T) {
	t.Parallel()
	set := func(change func(*cloud.ImageInfo)) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) { change(&s.Images[1]) }
	}
	runCases(t, map[string]one{
		"unknown":      {"seed: {image: other}", nil, Error, "image image other: there is no image"},
		"not active":   {"seed: {image: broken}", nil, Error, "it is not active; its status is killed"},
		"large disk":   {"seed: {image: debian-12}", set(func(i *cloud.ImageInfo) { i.MinDisk = 100 }), Error, "it needs 100 GB of disk, flavor large has 80"},
		"large memory": {"seed: {image: debian-12}", set(func(i *cloud.ImageInfo) { i.MinRAM = 10000 }), Error, "it needs 10000 MiB"},
		"large root":   {"seed: {image: debian-12, rootVolume: {}}", set(func(i *cloud.ImageInfo) { i.MinDisk = 100 }), Error, "the root volume has 40"},
		"no user":      {"seed: {image: i9}", func(s *cloud.Snapshot) { s.Images = append(s.Images, image("i9", "own", "active", 1)) }, Error, "neither os_admin_user nor a known os_distro"},
	})
	for name, test := range map[string]struct {
		spec     string
		image    cloud.ImageInfo
		id, user string
	}{
		"newest":            {"image: debian-12", image("x", "x", "active", 9), "i2", "debian"},
		"newer is broken":   {"image: debian-12", image("x", "debian-12", "queued", 9), "i2", "debian"},
		"by id":             {"image: i1", image("x", "x", "active", 9), "i1", "debian"},
		"ubuntu by distro":  {"image: own", cloud.ImageInfo{Resource: cloud.Resource{ID: "u", Name: "own"}, Status: "active", Distro: "ubuntu"}, "u", "ubuntu"},
		"ubuntu by name":    {"image: Ubuntu 24.04", image("u", "Ubuntu 24.04", "active", 1), "u", "ubuntu"},
		"property wins":     {"image: own", cloud.ImageInfo{Resource: cloud.Resource{ID: "u", Name: "own"}, Status: "active", Distro: "ubuntu", AdminUser: "admin"}, "u", "admin"},
		"environment wins":  {"image: debian-12, ssh: {user: me}", image("x", "x", "active", 9), "i2", "me"},
		"the bundle's":      {"ssh: {}", image("x", "x", "active", 9), "", "debian"},
		"flatcar's is core": {"image: flatcar-stable", image("f", "flatcar-stable", "active", 1), "f", "core"},
	} {
		r := check(t, "seed: {"+test.spec+"}", func(s *cloud.Snapshot) { s.Images = append(s.Images, test.image) })
		if r.Choices.ImageID != test.id || r.Choices.SSHUser != test.user || r.Refused() {
			t.Errorf("%s: image %s with user %s, %q", name, r.Choices.ImageID, r.Choices.SSHUser, told(r, Error))
		}
	}
}

func TestCredentialAndServices(t *testing.T) {
	t.Parallel()
	login := func(c cloud.CredentialInfo, restricted bool) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) {
			c.Kind, c.ID = "application credential", "a"
			s.Token.CredentialID, s.Token.Restricted, s.Credentials = "a", restricted, []cloud.CredentialInfo{c}
		}
	}
	roles := func(roles ...string) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) { s.Token.Roles = roles }
	}
	runCases(t, map[string]one{
		"unrestricted":      {"", login(cloud.CredentialInfo{}, false), Error, ""},
		"restricted":        {"", login(cloud.CredentialInfo{}, true), Error, "credential application credential a: it is restricted"},
		"expires soon":      {"", login(cloud.CredentialInfo{ExpiresAt: now.Add(24 * time.Hour)}, false), Warning, "it expires at 2026-01-03T03:04:05Z"},
		"expires late":      {"", login(cloud.CredentialInfo{ExpiresAt: now.Add(1000 * time.Hour)}, false), Error, ""},
		"no project":        {"", func(s *cloud.Snapshot) { s.Token.ProjectID = "" }, Error, "the login has no project"},
		"reader only":       {"", roles("reader"), Warning, "roles role member: you do not have this role in project demo, only reader"},
		"role is missing":   {"credential: {roles: [member, creator]}", nil, Error, "roles role creator"},
		"roles are there":   {"credential: {roles: [reader]}", nil, Error, ""},
		"not verified":      {"", func(s *cloud.Snapshot) { s.Insecure = true }, Warning, "tls cloud c: certificates are not verified"},
		"no compute":        {"", func(s *cloud.Snapshot) { s.Missing = absent(cloud.Compute); s.Flavors = nil }, Error, "services service compute: the cloud has no such service"},
		"no load balancers": {"", func(s *cloud.Snapshot) { s.Missing = absent(cloud.LoadBalancer); s.Providers = nil }, Warning, "load-balancer service load-balancer: the cloud has no such service"},
		"no provider":       {"", func(s *cloud.Snapshot) { s.Providers = nil }, Warning, "no load balancer provider is enabled"},
		"quota is secret":   {"", func(s *cloud.Snapshot) { s.Missing = missing(cloud.Compute, cloud.ListQuotas); s.Quotas = nil }, Warning, "quotas cannot be listed, so they are not checked: refused (403)"},
		"flavors secret":    {"", func(s *cloud.Snapshot) { s.Missing = missing(cloud.Compute, cloud.ListFlavors); s.Flavors = nil }, Error, "flavors cannot be listed"},
		"clock":             {"", func(s *cloud.Snapshot) { s.ClockOffset = -30 * time.Second }, Warning, "clock clock: the cloud's clock is 30s behind your machine's"},
		"clock far":         {"", func(s *cloud.Snapshot) { s.ClockOffset = time.Hour }, Error, "1h0m0s ahead of"},
		"volume type":       {"seed: {dataVolume: {type: ssd}}", nil, Error, ""},
		"no volume type":    {"seed: {dataVolume: {type: nvme}}", nil, Error, "volume-type volume type nvme: there is none of this name"},
		"no root type":      {"seed: {rootVolume: {type: nvme}}", nil, Error, "volume-type volume type nvme"},
		"key pair":          {"seed: {ssh: {keyPair: me}}", func(s *cloud.Snapshot) { s.KeyPairs = []cloud.Resource{{Kind: "key pair", ID: "me", Name: "me"}} }, Error, ""},
		"no key pair":       {"seed: {ssh: {keyPair: me}}", nil, Error, "key-pair key pair me: nothing has this name or ID"},
	})
	if got := check(t, "", roles("_member_", "admin")).Choices.Roles; !slices.Equal(got, []string{"_member_"}) {
		t.Errorf("roles on a cloud with other names: %v", got)
	}
}

// proves: S-02
func TestNamesOfOthers(t *testing.T) {
	t.Parallel()
	server := func(name string, mark *ownership.Owner) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) {
			s.Servers = []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", ID: "v", Name: name, Owner: mark}}}
		}
	}
	ours, theirs := ownership.New("prod", "seed"), ownership.New("other", "x")
	runCases(t, map[string]one{
		"ours":                {"", server("prod-seed", &ours), Error, ""},
		"foreign":             {"", server("prod-seed", nil), Error, "name server prod-seed: it has the name of a resource of this environment but not its ownership tag (ID v)"},
		"another environment": {"", server("prod-seed", &theirs), Error, "it belongs to environment other"},
		"another name":        {"", server("prod-seeds", nil), Error, ""},
		"cluster of another tool": {"managementCluster: {}", server("prod-control-plane-x", nil), Error,
			"name server prod-control-plane-x: it has the name of a control plane server of this environment, and nothing of the environment exists: another tool made it (ID v)"},
		"cluster of another tool, and an environment of this name in another region": {"managementCluster: {}", func(s *cloud.Snapshot) {
			server("prod-control-plane-x", nil)(s)
			s.Region = "two"
			s.Credentials = []cloud.CredentialInfo{{Resource: cloud.Resource{Kind: "application credential", ID: "a", Owner: &ours}, Region: "one"}}
		}, Error, "another tool made it (ID v)"},
		"key pair alone": {"", func(s *cloud.Snapshot) {
			s.KeyPairs = []cloud.Resource{{Kind: "key pair", ID: "prod-key-pair", Name: "prod-key-pair"}}
		}, Warning, "name key pair prod-key-pair"},
		"key pair beside ours": {"", func(s *cloud.Snapshot) {
			s.KeyPairs = []cloud.Resource{{Kind: "key pair", ID: "prod-key-pair", Name: "prod-key-pair"}}
			s.Servers = []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", ID: "v", Name: "prod-seed", Owner: &ours}}}
		}, Error, ""},
		"network of another project": {"", func(s *cloud.Snapshot) {
			n := network("n", "prod-network", false)
			n.ProjectID, n.Shared = "q", true
			s.Networks = append(s.Networks, n)
		}, Error, ""},
	})
}

func TestRangesAround(t *testing.T) {
	t.Parallel()
	more := func(networkID, cidr string) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) { s.Subnets = append(s.Subnets, subnet("more", networkID, cidr)) }
	}
	runCases(t, map[string]one{
		"another network":       {"", more("int", "192.168.0.0/16"), Warning, "cidr spec.seed.network.cidr: 192.168.100.0/24 overlaps subnet 192.168.0.0/16 of network internal"},
		"external network":      {"", more("ext", "192.168.100.128/25"), Error, "overlaps subnet 192.168.100.128/25 of network public"},
		"pods, another network": {"", more("int", "10.42.0.0/24"), Error, ""},
		"pods, our network":     {"seed: {network: {existing: int}}", more("int", "10.42.0.0/24"), Error, "cidr spec.seed.k3s.podCIDR: 10.42.0.0/16 overlaps"},
		"pods of the management cluster, our network": {"seed: {network: {existing: int}}, managementCluster: {}", func(s *cloud.Snapshot) { more("int", "10.244.0.0/24")(s); s.Quotas = nil }, Error,
			"cidr spec.managementCluster.podCIDR: 10.244.0.0/16 overlaps subnet 10.244.0.0/24 of network internal"},
		"pods of the management cluster, another network": {"managementCluster: {}", func(s *cloud.Snapshot) { more("int", "10.244.0.0/24")(s); s.Quotas = nil }, Error, ""},
		"services, provisioning":                          {"seed: {provisioningNetwork: int}", more("int", "10.43.1.0/24"), Error, "cidr spec.seed.k3s.serviceCIDR"},
		"our own subnet": {"", func(s *cloud.Snapshot) {
			mark := ownership.New("prod", "subnet")
			n := subnet("own", "int", "192.168.100.0/24")
			n.Owner = &mark
			s.Subnets = append(s.Subnets, n)
		}, Error, ""},
		"route of a neighbour": {"", func(s *cloud.Snapshot) {
			s.Routers = []cloud.RouterInfo{{Resource: cloud.Resource{Kind: "router", Name: "r"}, ExternalNetworkID: "ext", Routes: []string{"192.168.100.0/28"}}}
		}, Warning, "overlaps route 192.168.100.0/28 of router r"},
		"default route": {"", func(s *cloud.Snapshot) {
			s.Routers = []cloud.RouterInfo{{ExternalNetworkID: "ext", Routes: []string{"0.0.0.0/0"}}}
		}, Error, ""},
		"route of another external": {"", func(s *cloud.Snapshot) {
			s.Routers = []cloud.RouterInfo{{ExternalNetworkID: "x", Routes: []string{"192.168.100.0/28"}}}
		}, Error, ""},
	})
}

// proves: F65
func TestAllFindingsAtOnceAndSkipping(t *testing.T) {
	t.Parallel()
	in := Input{Environment: environment(t, "seed: {image: other, flavor: other, dataVolume: {type: nvme}}"), Snapshot: healthy(), Now: now,
		Bundle: Bundle{Dir: "bundle", Missing: []string{"k3s", "seed"}}}
	in.Snapshot.Networks = append(in.Snapshot.Networks, network("ext2", "internet", true))
	in.Snapshot.Quotas[3].Used = 10
	r := Run(in)
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.ID)
		if f.Level == Error && f.Remedy == "" {
			t.Errorf("no remedy for %+v", f)
		}
	}
	for _, id := range []string{"external-network", "flavor", "image", "volume-type", "quota", "bundle"} {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is not among %v", id, ids)
		}
	}
	err := r.Err()
	if fault.ExitCode(err) != fault.ExitPreflight || len(fault.All(err)) != len(told(r, Error)) || len(fault.All(err)) < 7 {
		t.Errorf("%d faults with exit code %d: %v", len(fault.All(err)), fault.ExitCode(err), err)
	}
	in.Skip = ids
	if r := Run(in); len(r.Findings) > 0 || r.Err() != nil {
		t.Errorf("skipped checks found %v", r.Findings)
	}
	if err := CheckSkips([]string{"quota"}); err != nil {
		t.Error(err)
	}
	var wrong *fault.Fault
	if err := CheckSkips([]string{"quotas"}); !errors.As(err, &wrong) || wrong.Exit != fault.ExitUsage || !strings.Contains(wrong.Remedy, "quota") {
		t.Errorf("unknown check: %v", err)
	}
}

func TestBundleThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := Run(Input{Environment: environment(t, ""), Snapshot: healthy(), Now: now, Bundle: Bundle{Dir: "b", Problem: "there is no bundle here"}})
	if got := told(r, Error); len(got) != 1 || got[0] != "bundle bundle b: there is no bundle here" {
		t.Errorf("found %q", got)
	}
	r = Run(Input{Environment: environment(t, ""), Snapshot: healthy(), Now: now, Bundle: Bundle{Dir: "b", Missing: []string{"seed", "k3s"}}})
	for _, f := range r.Findings {
		if seed := strings.HasPrefix(f.Cause, "seed "); f.Level == Error && strings.Contains(f.Remedy, "spec.seed.image") != seed {
			t.Errorf("%s: %s", f.Cause, f.Remedy)
		}
	}
}

func TestPageListsEveryCheck(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations/preflight.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, check := range Checks() {
		if !strings.Contains(string(page), "| `"+check.ID+"` |") || !strings.Contains(string(page), check.Asks) {
			t.Errorf("docs/operations/preflight.md does not have check %s with %q", check.ID, check.Asks)
		}
		if seen[check.ID] || check.Asks == "" {
			t.Errorf("check %s has no id or question of its own", check.ID)
		}
		seen[check.ID] = true
	}
}
