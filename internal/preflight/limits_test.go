package preflight

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// TestWhatIsJustEnough is not refused, and what just reaches a bound of clocks is told.
func TestWhatIsJustEnough(t *testing.T) {
	t.Parallel()
	least := func(change func(*cloud.ImageInfo)) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) { change(&s.Images[1]) }
	}
	clock := func(offset time.Duration) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) { s.ClockOffset = offset }
	}
	runCases(t, map[string]one{
		"a disk as large as the image needs":   {"seed: {image: debian-12}", least(func(i *cloud.ImageInfo) { i.MinDisk = 80 }), Error, ""},
		"a volume as large as the image needs": {"seed: {image: debian-12, rootVolume: {sizeGiB: 40}}", least(func(i *cloud.ImageInfo) { i.MinDisk = 40 }), Error, ""},
		"memory as much as the image needs":    {"seed: {image: debian-12}", least(func(i *cloud.ImageInfo) { i.MinRAM = 8192 }), Error, ""},
		"clocks that are nearly right":         {"", clock(10*time.Second - 1), Error, ""},
		"clocks that are to be set":            {"", clock(10 * time.Second), Warning, "the cloud's clock is 10s ahead of your machine's"},
		"clocks that tokens do not bear":       {"", clock(-5 * time.Minute), Error, "the cloud's clock is 5m0s behind your machine's"},
		"a quota of which all is used by this": {"", func(s *cloud.Snapshot) {
			s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "cores", Limit: 4}}
		}, Error, ""},
		"a quota of nothing": {"", func(s *cloud.Snapshot) { s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "cores"}} }, Error, "it needs 4, but only 0 of 0 are free"},
		"a quota too small by what is used": {"", func(s *cloud.Snapshot) {
			s.Quotas = []cloud.Quota{{Service: cloud.LoadBalancer, Resource: "pools", Limit: 1, Used: 2}}
		}, Error, ""},
		"a credential of a whole week": {"", func(s *cloud.Snapshot) {
			s.Token.CredentialID = "a"
			s.Credentials = []cloud.CredentialInfo{{Resource: cloud.Resource{Kind: "application credential", ID: "a"}, ExpiresAt: now.Add(7 * 24 * time.Hour)}}
		}, Error, ""},
	})
	r := check(t, "", func(s *cloud.Snapshot) {
		s.Quotas = []cloud.Quota{{Service: cloud.LoadBalancer, Resource: "pools", Limit: 1, Used: 2}, {Service: cloud.Network, Resource: "trunks"}}
	})
	for _, q := range r.Capacity.Quotas {
		if q.Short != 0 || q.Left() != 0 {
			t.Errorf("nothing is needed of %s, but %d are short and %d left", q.Resource, q.Short, q.Left())
		}
	}
}

// TestTheFirstQuotaThatEndsIsNamed, the first of several that end together, and one of none is one.
func TestTheFirstQuotaThatEndsIsNamed(t *testing.T) {
	t.Parallel()
	of := func(name string, limit int) Need { return Need{Service: cloud.Compute, Resource: name, Limit: limit} }
	m := machines{count: 1, flavor: cloud.FlavorInfo{Name: "large", VCPUs: 2, RAM: 1024}}
	for name, test := range map[string]struct {
		quotas []Need
		want   Room
	}{
		"together":         {[]Need{of("cores", 4), of("instances", 2)}, Room{"g", "large", 2, "cores"}},
		"the second":       {[]Need{of("cores", 4), of("instances", 1)}, Room{"g", "large", 1, "instances"}},
		"none, and enough": {[]Need{of("cores", 0), of("instances", 9)}, Room{"g", "large", 0, "cores"}},
		"enough, and none": {[]Need{of("cores", 9), of("instances", 0)}, Room{"g", "large", 0, "instances"}},
	} {
		if got := m.room("g", test.quotas); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestALocalSeedTakesTheLeast: memory and watches of exactly what it needs are enough.
func TestALocalSeedTakesTheLeast(t *testing.T) {
	t.Parallel()
	r := &run{Input: Input{Environment: environment(t, "seed: {provider: kind}, managementCluster: {}")}}
	r.localLimits(&LocalSeed{Host: localseed.Host{Runtime: localseed.Podman, CgroupV2: true, MemoryMiB: minLocalRAM, InotifyInstances: minInotify, InotifyWatches: minInotifyWatches}})
	if len(r.result.Findings) > 0 {
		t.Errorf("found %+v", r.result.Findings)
	}
}

// TestWhatOthersHaveDoesNotCount: neither their resources, nor those of the cluster, nor those of
// another kind are the seed's.
func TestWhatOthersHaveDoesNotCount(t *testing.T) {
	t.Parallel()
	ours, theirs, cluster := ownership.New("prod", "seed"), ownership.New("other", "seed"), ownership.New("prod", clusterStep)
	for name, test := range map[string]struct {
		mark *ownership.Owner
		want int
	}{"ours": {&ours, 1}, "of another environment": {&theirs, 0}, "of Cluster API": {&cluster, 0}, "of nobody": {nil, 0}} {
		r := &run{Input: Input{Environment: environment(t, ""), Snapshot: &cloud.Snapshot{Servers: []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", Owner: test.mark}}}}}}
		if servers, volumes := r.count("server"), r.count("volume"); servers != test.want || volumes != 0 {
			t.Errorf("%s: %d servers and %d volumes", name, servers, volumes)
		}
	}
}

// TestAnEnvironmentInAnotherRegionIsNotThisOne: of its name, Keystone shows the credential here too.
func TestAnEnvironmentInAnotherRegionIsNotThisOne(t *testing.T) {
	t.Parallel()
	ours := ownership.New("prod", "credential")
	credential := func(region string) cloud.CredentialInfo {
		return cloud.CredentialInfo{Resource: cloud.Resource{Kind: "application credential", ID: "a", Owner: &ours}, Region: region}
	}
	beside := []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", ID: "a", Owner: &ours}}}
	other := credential("one")
	other.ID, other.Owner = "b", nil
	for name, test := range map[string]struct {
		region      string
		credentials []cloud.CredentialInfo
		servers     []cloud.ServerInfo
		begun       bool
	}{
		"in another region":                   {"two", []cloud.CredentialInfo{credential("one")}, nil, false},
		"in this region":                      {"one", []cloud.CredentialInfo{credential("one")}, nil, true},
		"of no region":                        {"two", []cloud.CredentialInfo{credential("")}, nil, true},
		"in a cloud without regions":          {"", []cloud.CredentialInfo{credential("one")}, nil, true},
		"a server whose ID a credential has":  {"two", []cloud.CredentialInfo{credential("one")}, beside, true},
		"this, and another one's elsewhere":   {"two", []cloud.CredentialInfo{credential("two"), other}, nil, true},
		"nothing but another one's elsewhere": {"two", []cloud.CredentialInfo{other}, nil, false},
	} {
		r := &run{Input: Input{Environment: environment(t, ""), Snapshot: &cloud.Snapshot{Region: test.region, Credentials: test.credentials, Servers: test.servers}}}
		if got := r.begun(); got != test.begun {
			t.Errorf("%s: begun %t", name, got)
		}
	}
}

// TestServersWithOtherNamesAreNoForeignCluster, whoever made them.
func TestServersWithOtherNamesAreNoForeignCluster(t *testing.T) {
	t.Parallel()
	theirs := ownership.New("other", "x")
	r := check(t, "managementCluster: {}", func(s *cloud.Snapshot) {
		s.Quotas = nil
		s.Servers = []cloud.ServerInfo{{Resource: cloud.Resource{Kind: "server", Name: "web"}}, {Resource: cloud.Resource{Kind: "server", Name: "prod-control-plane-x", Owner: &theirs}}}
	})
	if r.Refused() {
		t.Errorf("refused: %q", told(r, Error))
	}
}

// TestImagesThatCannotBeListed are not judged: that the list is missing is all that is told.
func TestImagesThatCannotBeListed(t *testing.T) {
	t.Parallel()
	r := check(t, "seed: {image: debian-12}", func(s *cloud.Snapshot) { s.Missing = missing(cloud.Image, cloud.ListImages) })
	if got := told(r, Error); len(got) != 1 || !strings.Contains(got[0], "images cannot be listed") || r.Choices.BringPayload || r.Choices.SSHUser != "" {
		t.Errorf("chosen %+v, told %q", r.Choices, got)
	}
}

// TestTheSmallestMachineMustHoldTheImage, of the control plane or of any group; a root volume counts
// in place of its flavor's disk.
func TestTheSmallestMachineMustHoldTheImage(t *testing.T) {
	t.Parallel()
	volume := func(gib int) *config.RootVolume { return &config.RootVolume{SizeGiB: gib} }
	for name, test := range map[string]struct {
		plane     string
		root      *config.RootVolume
		groups    []config.NodeGroup
		disk, ram int
	}{
		"the control plane":            {"large", nil, []config.NodeGroup{{Name: "huge"}}, 80, 8192},
		"a group":                      {"huge", nil, []config.NodeGroup{{Name: "huge"}, {Name: "small"}, {Name: "large"}}, 20, 2048},
		"a group with a larger volume": {"large", nil, []config.NodeGroup{{Name: "small", RootVolume: volume(90)}}, 80, 2048},
		"a volume, smaller than disks": {"huge", volume(30), []config.NodeGroup{{Name: "large"}}, 30, 8192},
		"a flavor that is not known":   {"none", nil, nil, 0, 0},
	} {
		r := &run{Input: Input{Snapshot: healthy()}}
		chosen := &ManagementChoices{ControlPlaneFlavor: test.plane, NodeGroupFlavors: map[string]string{"small": "small", "large": "large", "huge": "huge"}}
		m := &config.ManagementCluster{ControlPlane: config.ControlPlane{RootVolume: test.root}, NodeGroups: test.groups}
		if disk, ram := r.leastNode(m, chosen); disk != test.disk || ram != test.ram {
			t.Errorf("%s: %d GiB and %d MiB, want %d and %d", name, disk, ram, test.disk, test.ram)
		}
	}
}

// TestOnlyAChoiceBetweenImagesIsTold: of one, there is nothing to say.
func TestOnlyAChoiceBetweenImagesIsTold(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[string]bool{"debian-12": true, "i1": false} {
		r := check(t, "seed: {image: "+wanted+"}", nil)
		if got := slices.ContainsFunc(told(r, Info), func(text string) bool { return strings.Contains(text, "is the newest of 3") }); got != want {
			t.Errorf("%s: told %q", wanted, told(r, Info))
		}
		if got := len(slices.DeleteFunc(told(r, Info), func(text string) bool { return !strings.Contains(text, "is the newest of") })); got > 0 != want {
			t.Errorf("%s: %d choices of images are told", wanted, got)
		}
	}
}

// TestIDsOfVolumeTypes have 36 characters with four dashes; anything else is a name.
func TestIDsOfVolumeTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"4f8d3f9e-8f63-4a69-8c6e-7d4c2f0b7d11": true, strings.Repeat("x", 36): false, "a-b-c-d-e": false} {
		if got := isID(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestVolumesOfAnotherClass count in all, but as none of the default type.
func TestVolumesOfAnotherClass(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]int{"": 2, "storageClass: mine, ": 0} {
		r := &run{Input: Input{Environment: environment(t, "managementCluster: {}, monitoring: {"+class+"logs: {enabled: false}}"), Snapshot: &cloud.Snapshot{DefaultVolumeType: "hdd"}}}
		r.spec = &r.Environment.Spec
		needs := map[resource]int{}
		r.monitoringNeeds(needs)
		if got := maps.Clone(needs); got[resource{cloud.Volume, "volumes"}] != 2 || got[resource{cloud.Volume, "volumes_hdd"}] != want {
			t.Errorf("%q: %v", class, got)
		}
	}
}

// TestAKeyPairIsNeededOnce: none of ours if yours is named, or if the environment has begun.
func TestAKeyPairIsNeededOnce(t *testing.T) {
	t.Parallel()
	ours := ownership.New("prod", "network")
	begun := []cloud.NetworkInfo{{Resource: cloud.Resource{Kind: "network", Owner: &ours}, ProjectID: "p"}}
	for name, test := range map[string]struct {
		spec     string
		networks []cloud.NetworkInfo
		want     int
	}{"nothing yet": {"", nil, 1}, "yours": {"seed: {ssh: {keyPair: me}}", nil, 0}, "begun": {"", begun, 0}} {
		r := &run{Input: Input{Environment: environment(t, test.spec), Snapshot: &cloud.Snapshot{Token: cloud.Token{ProjectID: "p"}, Networks: test.networks}}}
		r.spec, r.seed = &r.Environment.Spec, &r.Environment.Spec.Seed
		if got := r.needs()[resource{cloud.Compute, "key_pairs"}]; got != test.want {
			t.Errorf("%s: %d key pairs are needed, want %d", name, got, test.want)
		}
	}
}
