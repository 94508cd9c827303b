package stacks_test

import (
	"net/netip"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// TestWhatIsRegisteredIsKnownByItsAddress: the name alone can be that of an environment in another
// project.
func TestWhatIsRegisteredIsKnownByItsAddress(t *testing.T) {
	t.Parallel()
	own := []openstack.Resource{{Type: openstack.TypeFloatingIP, Name: "198.51.100.7", Step: stacks.StepMagnumAddress}}
	other := []openstack.Resource{{Type: openstack.TypeFloatingIP, Name: "198.51.100.8", Step: stacks.StepAddress}}
	for name, test := range map[string]struct {
		magnum *config.Magnum
		things []openstack.Resource
		url    string // empty if the address is not known
	}{
		"no Magnum API":       {nil, own, ""},
		"never came so far":   {&config.Magnum{}, other, ""},
		"a name alone":        {&config.Magnum{Hostname: "magnum.example.org"}, other, ""},
		"an address of ours":  {&config.Magnum{}, own, "https://198.51.100.7:9511/v1"},
		"a name":              {&config.Magnum{Hostname: "magnum.example.org"}, own, "https://magnum.example.org:9511/v1"},
		"an address that was": {&config.Magnum{FloatingIP: netip.MustParseAddr("203.0.113.5")}, other, "https://203.0.113.5:9511/v1"},
	} {
		conf := &config.Environment{Metadata: config.Metadata{Name: "prod"}}
		conf.Spec.Magnum = test.magnum
		r, wanted := stacks.Registered(conf, "RegionOne", test.things)
		if wanted != (test.magnum != nil) || r.Catalog.URL != test.url || r.Address.IsValid() != (test.url != "") || wanted && (len(r.Users) != 2 || r.Catalog.Region != "RegionOne" || r.Project.Environment != "prod") {
			t.Errorf("%s: %t, %+v", name, wanted, r)
		}
	}
}
