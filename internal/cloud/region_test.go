package cloud

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func TestTheRegionOfALogin(t *testing.T) {
	t.Parallel()
	named := options(t, sandboxtest.Start(t))
	other, unnamed := named, named
	other.Region = "RegionTwo"
	unnamed.CloudsYAML = []byte(strings.ReplaceAll(string(named.CloudsYAML), "region_name: RegionOne", ""))
	for name, test := range map[string]struct {
		of            Options
		region, where string
		others        bool
	}{
		"the only one":          {named, "RegionOne", "RegionOne", false},
		"not that of the cloud": {other, "RegionTwo", "RegionTwo", true},
		"none":                  {unnamed, "", "RegionOne", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Open(t.Context(), test.of)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Region() != test.region || c.Where() != test.where || c.OtherRegions() != test.others {
				t.Errorf("region %q, works in %q, others %t; want %q, %q, %t", c.Region(), c.Where(), c.OtherRegions(), test.region, test.where, test.others)
			}
		})
	}
}
