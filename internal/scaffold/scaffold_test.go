package scaffold

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
)

func network(id, name string) cloud.NetworkInfo {
	return cloud.NetworkInfo{Resource: cloud.Resource{Kind: "network", ID: id, Name: name}, External: true}
}

func subnet(cidr string) cloud.SubnetInfo {
	return cloud.SubnetInfo{CIDR: cidr}
}

func TestFileLoadsWhateverTheCloudHas(t *testing.T) {
	t.Parallel()
	large := cloud.FlavorInfo{ID: "1", Name: "large", VCPUs: 2, RAM: 8192, Disk: 20}
	for name, test := range map[string]struct {
		snapshot cloud.Snapshot
		want     []string
		network  string
		cidr     string
	}{
		"nothing":       {cloud.Snapshot{}, []string{"# Found: none.", "# Not chosen: the project sees none."}, "", "192.168.100.0/24"},
		"one":           {cloud.Snapshot{Networks: []cloud.NetworkInfo{network("a", "public")}, Flavors: []cloud.FlavorInfo{large}}, []string{"# Chosen: it is the only one.", `flavor: "large"`}, "public", "192.168.100.0/24"},
		"several":       {cloud.Snapshot{Networks: []cloud.NetworkInfo{network("b", "public"), network("a", "internet")}}, []string{"# Found: internet, public.", "check that it is the right one"}, "internet", "192.168.100.0/24"},
		"names to fear": {cloud.Snapshot{Cloud: "a: b", Networks: []cloud.NetworkInfo{network("a", "x\n  cloud: stolen # \"")}, VolumeTypes: []string{"a\nb"}}, nil, "x\n  cloud: stolen # \"", "192.168.100.0/24"},
		"range taken":   {cloud.Snapshot{Subnets: []cloud.SubnetInfo{subnet("192.168.100.0/23"), subnet("fd00::/64")}}, []string{"earlier ranges overlap subnets that the project sees, such as 192.168.100.0/23"}, "", "192.168.102.0/24"},
		"all taken":     {cloud.Snapshot{Subnets: []cloud.SubnetInfo{subnet("192.168.0.0/16")}}, []string{"choose another one"}, "", "192.168.100.0/24"},
	} {
		text, chosen, err := File("prod", "", 3, &test.snapshot)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		loaded, err := config.Parse(config.Source{Name: "slipway.yaml", Text: text})
		if err != nil {
			t.Errorf("%s: does not load: %v\n%s", name, err, text)
			continue
		}
		spec := loaded.Environment.Spec
		if spec.ExternalNetwork != test.network || spec.Cloud != test.snapshot.Cloud || spec.Seed.Network.CIDR.String() != test.cidr {
			t.Errorf("%s: loaded %+v", name, spec)
		}
		for _, want := range test.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		for _, c := range chosen {
			if c.Why == "" {
				t.Errorf("%s: no reason for %s", name, c.Setting)
			}
		}
	}
}
