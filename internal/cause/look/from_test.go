package look

import (
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// TestAServiceFailsByItself: an error of its own counts, a refusal does not, and several that
// do not answer are a slow way to all of them.
func TestAServiceFailsByItself(t *testing.T) {
	t.Parallel()
	missed := func(s cloud.Service, status int) cloud.Missing {
		return cloud.Missing{Service: s, What: "x", Cause: "c", Status: status}
	}
	for name, test := range map[string]struct {
		missing []cloud.Missing
		want    string
	}{
		"errors":          {[]cloud.Missing{missed(cloud.Compute, 503), missed(cloud.Compute, 500), missed(cloud.Image, 429)}, "Nova Glance "},
		"refusals":        {[]cloud.Missing{missed(cloud.Compute, 403), missed(cloud.Network, 401), missed(cloud.Volume, 404)}, ""},
		"one is silent":   {[]cloud.Missing{missed(cloud.LoadBalancer, 0), missed(cloud.Network, 500)}, "Octavia Neutron "},
		"all are silent":  {[]cloud.Missing{missed(cloud.LoadBalancer, 0), missed(cloud.Network, 0), missed(cloud.Compute, 503)}, "Nova "},
		"a long list":     {[]cloud.Missing{{Service: cloud.Compute, What: "x", Cause: "c", Slow: true}}, ""},
		"no such service": {[]cloud.Missing{{Service: cloud.LoadBalancer, Absent: true}}, ""},
	} {
		got := ""
		for _, f := range failing(test.missing) {
			got += f.Service + " "
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
