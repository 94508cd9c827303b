package stack

import (
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/monitoring"
)

// TestTheRulesKnowTheMetricsOfObjects: what rules ask of Machines is what kube-state-metrics
// is told to make of them.
func TestTheRulesKnowTheMetricsOfObjects(t *testing.T) {
	t.Parallel()
	var config struct {
		Spec struct {
			Resources []struct{ Metrics []struct{ Name string } }
		}
	}
	if err := yaml.Unmarshal([]byte(resources), &config); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, kind := range config.Spec.Resources {
		for _, metric := range kind.Metrics {
			made["kube_customresource_"+metric.Name] = true
		}
	}
	asked := regexp.MustCompile(`kube_customresource_\w+`).FindAllString(string(monitoring.Rules())+string(monitoring.PlatformRules()), -1)
	for _, name := range asked {
		if !made[name] {
			t.Errorf("an alert asks for %s, which kube-state-metrics does not make", name)
		}
	}
	if len(asked) == 0 || len(made) == 0 {
		t.Errorf("%d names in the rules, %d metrics", len(asked), len(made))
	}
}
