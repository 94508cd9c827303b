package component_test

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

func TestStepsOfAnUpgrade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to map[string]string
		want     []string
	}{
		"the same":             {map[string]string{"k3s": "v1.34.1+k3s1"}, map[string]string{"k3s": "v1.34.1+k3s1"}, nil},
		"one minor":            {map[string]string{"kubernetes": "v1.33.5", "cert-manager": "v1.20.0"}, map[string]string{"kubernetes": "v1.34.4", "cert-manager": "v1.21.2"}, nil},
		"three of Cluster API": {map[string]string{"cluster-api": "v1.9.4"}, map[string]string{"cluster-api": "v1.12.3"}, nil},
		"four of Cluster API":  {map[string]string{"cluster-api": "v1.8.4"}, map[string]string{"cluster-api": "v1.12.3"}, []string{"v1.11, then v1.12.3"}},
		"two minors":           {map[string]string{"kubernetes": "v1.31.5"}, map[string]string{"kubernetes": "v1.34.4"}, []string{"v1.32, then v1.33, then v1.34.4"}},
		"all at once": {map[string]string{"kubernetes": "v1.32.5", "infrastructure-openstack": "v0.12.1"}, map[string]string{"kubernetes": "v1.34.4", "infrastructure-openstack": "v0.14.2"},
			[]string{"v0.13, then v0.14.2", "v1.33, then v1.34.4"}},
		"down":                 {map[string]string{"infrastructure-openstack": "v0.14.2"}, map[string]string{"infrastructure-openstack": "v0.13.1"}, []string{"slipway undo"}},
		"a patch down":         {map[string]string{"infrastructure-openstack": "v0.14.2"}, map[string]string{"infrastructure-openstack": "v0.14.1"}, nil},
		"ORC, without a rule":  {map[string]string{"openstack-resource-controller": "v2.1.0"}, map[string]string{"openstack-resource-controller": "v2.4.0"}, nil},
		"new and unknown ones": {map[string]string{"cert-manager": ""}, map[string]string{"cert-manager": "v1.21.2", "orc": "v2.4.0"}, nil},
	} {
		errs := fault.All(component.CheckUpgrade(c.from, c.to))
		if len(errs) != len(c.want) {
			t.Errorf("%s: %v", name, errs)
			continue
		}
		for i, want := range c.want {
			if fault.ExitCode(errs[i]) != fault.ExitUsage || !strings.Contains(fault.Remedy(errs[i]), want) {
				t.Errorf("%s: %v (remedy %q)", name, errs[i], fault.Remedy(errs[i]))
			}
		}
	}
}

// TestReleasesAreSkippedInSteps: the fewest releases that lead there, none more.
//
// proves: S-68
func TestReleasesAreSkippedInSteps(t *testing.T) {
	t.Parallel()
	release := func(name, kubernetes, capi, capo string) component.Release {
		return component.Release{Name: name, Versions: map[string]string{"kubernetes": kubernetes, "cluster-api": capi, "infrastructure-openstack": capo}}
	}
	one, two := release("1", "v1.32.4", "v1.9.0", "v0.12.1"), release("2", "v1.33.1", "v1.11.2", "v0.13.0")
	later, three := release("2.1", "v1.33.5", "v1.11.4", "v0.13.1"), release("3", "v1.34.4", "v1.12.3", "v0.14.2")
	for name, c := range map[string]struct {
		from  component.Release
		known []component.Release
		want  string
	}{
		"from the one before": {later, []component.Release{one, two, later}, "3"},
		"over one":            {one, []component.Release{one, two, later}, "2.1 3"},
		"over the only one":   {one, []component.Release{two}, "2 3"},
		"from itself":         {three, []component.Release{one, two, later}, "3"},
	} {
		path, err := component.Path(c.from.Versions, three, c.known)
		var names []string
		for _, r := range path {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%s: %q, not %q; %v", name, got, c.want, err)
		}
	}
	_, err := component.Path(one.Versions, three, []component.Release{one})
	if errs := fault.All(err); len(errs) != 2 || !strings.Contains(fault.Remedy(errs[1]), "v1.33, then v1.34.4") {
		t.Errorf("without a release in between: %v", err)
	}
}
