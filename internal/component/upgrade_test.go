package component_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

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
		"four of Cluster API":  {map[string]string{"cluster-api": "v1.8.4"}, map[string]string{"cluster-api": "v1.12.3"}, []string{"in 2 steps, each with a Slipway and its bundle: first to one with cluster-api v1.11, then to this one"}},
		"two minors":           {map[string]string{"kubernetes": "v1.31.5"}, map[string]string{"kubernetes": "v1.34.4"}, []string{"first to one with kubernetes v1.32, first to one with kubernetes v1.33, then"}},
		"all at once": {map[string]string{"kubernetes": "v1.32.5", "infrastructure-openstack": "v0.12.1"}, map[string]string{"kubernetes": "v1.34.4", "infrastructure-openstack": "v0.14.2"},
			[]string{"one with infrastructure-openstack v0.13 and kubernetes v1.33, then", "one with infrastructure-openstack v0.13 and kubernetes v1.33, then"}},
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

// TestSkippedReleasesArePlanned: an appliance that is several releases behind comes here step by
// step; what has to stop less often stops late, and no step is longer than one may be.
//
// proves: S-68
func TestSkippedReleasesArePlanned(t *testing.T) {
	t.Parallel()
	from := map[string]string{"kubernetes": "v1.31.2", "cluster-api": "v1.7.4", "infrastructure-openstack": "v0.12.1", "openstack-resource-controller": "v1.0.2"}
	to := map[string]string{"kubernetes": "v1.34.4", "cluster-api": "v1.12.3", "infrastructure-openstack": "v0.14.2", "openstack-resource-controller": "v2.4.0", "cert-manager": "v1.21.2"}
	got := component.Steps(from, to)
	want := []map[string]string{
		{"kubernetes": "v1.32"},
		{"kubernetes": "v1.33", "cluster-api": "v1.10", "infrastructure-openstack": "v0.13"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if component.CheckUpgrade(from, to) == nil {
		t.Error("all in one step is not refused")
	}
	at := from
	for _, step := range append(got, to) {
		next := maps.Clone(at)
		for part, version := range step {
			next[part] = semver.Canonical(version)
		}
		if err := component.CheckUpgrade(at, next); err != nil {
			t.Errorf("the step %v: %v", step, err)
		}
		at = next
	}
	if left := component.Steps(at, to); len(left) != 0 {
		t.Errorf("steps are left at the end: %v", left)
	}
}
