package up

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/forecast"
)

// TestAnUpgradeSaysTheVersionsAfterwards, and how to go back, if there is a way.
func TestAnUpgradeSaysTheVersionsAfterwards(t *testing.T) {
	t.Parallel()
	done := &forecast.Forecast{Controllers: []forecast.Controller{
		{On: "seed", Name: "cluster-api", Versions: forecast.Versions{From: "v1.12.2", To: "v1.12.3"}},
		{On: "management cluster", Name: "infrastructure-openstack", Versions: forecast.Versions{From: "v0.14.1", To: "v0.14.2"}}}}
	added := &forecast.Forecast{Controllers: []forecast.Controller{{On: "management cluster", Name: "tenants' console", Versions: forecast.Versions{To: "v1.0.0"}}}}
	for name, c := range map[string]struct {
		result result
		want   []string
	}{
		"with a backup":    {result{Forecast: done, Backup: "20261125T190000Z"}, []string{"cluster-api", "v1.12.3", "v1.12.2", "management cluster", "20261125T190000Z", "slipway undo --dry-run"}},
		"without one":      {result{Forecast: done}, []string{"v0.14.2", "there is no way back"}},
		"nothing upgraded": {result{Forecast: &forecast.Forecast{}, Backup: "b"}, nil},
		"one more":         {result{Forecast: added}, nil},
		"a first up":       {result{}, nil},
	} {
		var out bytes.Buffer
		if err := writeUpgraded(&out, c.result); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.want) == 0 && out.Len() > 0 {
			t.Errorf("%s: %s", name, &out)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, &out)
			}
		}
	}
}
