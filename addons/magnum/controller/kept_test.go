package controller

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// upgradeOf upgrades a cluster whose OpenStackCluster has a spec to a changed template.
func (h *harness) upgradeOf(spec map[string]any, change func(*v1alpha1.TemplateValues)) {
	h.t.Helper()
	newer := &v1alpha1.ClusterTemplate{}
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: "t35"}, newer); err != nil {
		h.t.Fatal(err)
	}
	change(&newer.Spec.TemplateValues)
	h.update(newer)
	kept, err := slim(&unstructured.Unstructured{Object: map[string]any{"spec": spec}}) // as the cache has it
	if err != nil {
		h.t.Fatal(err)
	}
	o := h.object(infrastructure(), stack)
	o.Object["spec"] = kept.(*unstructured.Unstructured).Object["spec"]
	h.update(o)
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t35" })
	h.pass()
}

// TestUpgradeKeepsWhatCAPOHas: whether a template asks for something else, or the operator does for
// those that say nothing.
func TestUpgradeKeepsWhatCAPOHas(t *testing.T) {
	t.Parallel()
	runs := func() map[string]any {
		return map[string]any{"apiServerLoadBalancer": map[string]any{"enabled": true, "provider": "amphora", "allowedCIDRs": []any{"10.0.0.0/8"}},
			"managedSubnets": []any{map[string]any{"cidr": "10.0.0.0/24"}}}
	}
	same := func(*v1alpha1.TemplateValues) {}
	wants := map[string]any{"apiServer.enableLoadBalancer": true, "apiServer.loadBalancerProvider": "amphora", "apiServer.associateFloatingIP": true,
		"apiServer.loadBalancer.flavor": nil, "apiServer.loadBalancer.availabilityZone": nil, "tags": nil}
	for name, test := range map[string]struct {
		cluster  func(*v1alpha1.Cluster)
		operator func(*harness)
		template func(*v1alpha1.TemplateValues)
		want     map[string]any
		shows    func(*v1alpha1.Cluster) bool
	}{
		"no load balancer, of three control planes": {func(c *v1alpha1.Cluster) { c.Spec.MasterCount = 3 }, nil, func(v *v1alpha1.TemplateValues) { v.MasterLBEnabled = false }, nil,
			func(c *v1alpha1.Cluster) bool { return c.Spec.Template.MasterLBEnabled }},
		"nobody from outside": {nil, nil, func(v *v1alpha1.TemplateValues) { v.Labels = map[string]string{"api_master_lb_allowed_cidrs": "none"} },
			map[string]any{"apiServer.allowedCIDRs": []any{"10.0.0.0/8"}, "apiServer.allowedCidrs": []any{"10.0.0.0/8"}},
			func(c *v1alpha1.Cluster) bool {
				return c.Spec.Template.Labels["api_master_lb_allowed_cidrs"] == "10.0.0.0/8"
			}},
		"labels of the operator": {nil, func(h *harness) {
			h.r.Defaults.Labels = map[string]string{"octavia_provider": "ovn", "api_server_lb_flavor": "big", "api_server_lb_availability_zone": "az9"}
		}, same, nil, func(c *v1alpha1.Cluster) bool { return c.Spec.Template.Labels["octavia_provider"] == "amphora" }},
		"labels of the operator, to a cluster without any": {func(c *v1alpha1.Cluster) { c.Spec.NoLabels = true }, func(h *harness) {
			h.r.Defaults.Labels = map[string]string{"octavia_provider": "ovn", "api_server_lb_flavor": "big"}
		}, same, nil, func(c *v1alpha1.Cluster) bool { return len(c.EffectiveLabels()) == 0 }},
		"values of the operator": {nil, func(h *harness) {
			h.r.Defaults.Values = map[string]any{"tags": []any{"cheap"}, "apiServer": map[string]any{"loadBalancer": map[string]any{"flavor": "big"}}}
		}, same, nil, func(c *v1alpha1.Cluster) bool { return len(c.EffectiveLabels()) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*v1alpha1.Cluster)
			if test.cluster != nil {
				changes = append(changes, test.cluster)
			}
			h := ready(t, changes...)
			if test.operator != nil {
				test.operator(h)
			}
			h.upgradeOf(runs(), test.template)
			h.phases(v1alpha1.UpdateInProgress)
			if h.releases.last.Version != 2 || !test.shows(h.cluster()) {
				t.Errorf("revision %d, the cluster shows %+v", h.releases.last.Version, h.cluster().Spec.Template)
			}
			for _, want := range []map[string]any{wants, test.want} {
				for path, value := range want {
					if have, _, _ := unstructured.NestedFieldNoCopy(h.releases.last.Config, strings.Split(path, ".")...); !reflect.DeepEqual(have, value) {
						t.Errorf("%s is %v, want %v", path, have, value)
					}
				}
			}
		})
	}
}

// TestLabelsThatAreKept are written where those in force come from; the cluster's own by an upgrade alone.
func TestLabelsThatAreKept(t *testing.T) {
	t.Parallel()
	own := map[string]string{"b": "1"}
	for name, test := range map[string]struct {
		spec                v1alpha1.ClusterSpec
		template            map[string]string
		value               string
		upgrading           bool
		labels, ofTheCopied map[string]string
	}{
		"of a template without any":    {v1alpha1.ClusterSpec{}, nil, "x", false, nil, map[string]string{"a": "x"}},
		"of a template":                {v1alpha1.ClusterSpec{}, map[string]string{"a": "y", "c": "1"}, "x", false, nil, map[string]string{"a": "x", "c": "1"}},
		"taken away":                   {v1alpha1.ClusterSpec{}, map[string]string{"a": "y", "c": "1"}, "", true, nil, map[string]string{"c": "1"}},
		"taken away where none are":    {v1alpha1.ClusterSpec{}, nil, "", true, nil, nil},
		"merged":                       {v1alpha1.ClusterSpec{Labels: own, MergeLabels: true}, nil, "x", false, own, map[string]string{"a": "x"}},
		"its own":                      {v1alpha1.ClusterSpec{Labels: own}, nil, "x", false, own, nil},
		"its own, by an upgrade":       {v1alpha1.ClusterSpec{Labels: own}, nil, "x", true, map[string]string{"a": "x", "b": "1"}, nil},
		"none, as asked for":           {v1alpha1.ClusterSpec{NoLabels: true}, nil, "x", true, nil, nil},
		"none of the template's":       {v1alpha1.ClusterSpec{NoLabels: true, Labels: own}, nil, "x", true, map[string]string{"a": "x", "b": "1"}, nil},
		"none of the template's, else": {v1alpha1.ClusterSpec{NoLabels: true, Labels: own}, nil, "x", false, own, nil},
	} {
		spec := test.spec.DeepCopy()
		spec.Template = &v1alpha1.TemplateSnapshot{}
		spec.Template.Labels = maps.Clone(test.template)
		keepLabel(spec, "a", test.value, test.upgrading)
		if !maps.Equal(spec.Labels, test.labels) || !maps.Equal(spec.Template.Labels, test.ofTheCopied) {
			t.Errorf("%s: labels %v, those of the template %v", name, spec.Labels, spec.Template.Labels)
		}
	}
}
