package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// keptLabels are labels whose values CAPO never changes once a cluster has them, by the paths of what
// they set: a value of the chart, and the field of the OpenStackCluster that comes of it.
func keptLabels() []keptLabel {
	return []keptLabel{
		{"octavia_provider", []string{"apiServer", "loadBalancerProvider"}, []string{"spec", "apiServerLoadBalancer", "provider"}},
		{"api_server_lb_flavor", []string{"apiServer", "loadBalancer", "flavor"}, []string{"spec", "apiServerLoadBalancer", "flavor"}},
		{"api_server_lb_availability_zone", []string{"apiServer", "loadBalancer", "availabilityZone"}, []string{"spec", "apiServerLoadBalancer", "availabilityZone"}},
		{"api_server_floating_ip", []string{"apiServer", "floatingIP"}, []string{"spec", "apiServerFloatingIP"}},
	}
}

type keptLabel struct {
	name         string
	value, field []string
}

// keepBalancer holds a cluster to the load balancer and the addresses that CAPO has for it, as
// keepFixed does to networks and port: of them, its webhook lets only allowed CIDRs, the monitor and DNS
// servers be changed (pkg/webhooks/openstackcluster_webhook.go).
func (p *pass) keepBalancer(ctx context.Context) error {
	if p.trouble != nil || p.objects.Infrastructure == nil || p.leftAsItIs() {
		return nil
	}
	has := p.objects.Infrastructure.Object
	balanced, known, _ := unstructured.NestedBool(has, "spec", "apiServerLoadBalancer", "enabled")
	if !known {
		return nil
	}
	asks, err := p.nextValues()
	if err != nil || asks == nil {
		return err
	}
	keep := func(spec *v1alpha1.ClusterSpec) {
		if on, _, _ := unstructured.NestedBool(asks, "apiServer", "enableLoadBalancer"); on != balanced {
			spec.Template.MasterLBEnabled = balanced
		}
		if floating, differs := keptFloating(has, asks); differs {
			keepLabel(spec, "master_lb_floating_ip_enabled", strconv.FormatBool(floating), p.betweenTemplates())
		}
		if cidr := nodeRange(has); cidr != "" && cidr != words(asks, "clusterNetworking", "internalNetwork", "nodeCidr") {
			keepLabel(spec, "fixed_subnet_cidr", cidr, p.betweenTemplates())
		}
		for _, l := range keptLabels() {
			ofBalancer := slices.Contains(l.field, "apiServerLoadBalancer")
			if value := words(has, l.field...); value != words(asks, l.value...) && (balanced || !ofBalancer) {
				keepLabel(spec, l.name, value, p.betweenTemplates())
			}
		}
	}
	next := p.cluster.DeepCopy()
	if keep(&next.Spec); equality.Semantic.DeepEqual(next.Spec, p.cluster.Spec) {
		return nil
	}
	return p.writeSpec(ctx, "the load balancer that the cluster keeps", keep)
}

// leftAsItIs reports whether the release is another program's and not yet upgraded.
func (p *pass) leftAsItIs() bool {
	known := p.cluster.Status.Release
	return known != nil && known.Foreign && known.TemplateUUID == p.cluster.Spec.Template.UUID
}

// betweenTemplates reports whether the release is of another template than the cluster is to have.
func (p *pass) betweenTemplates() bool {
	known := p.cluster.Status.Release
	return known != nil && known.TemplateUUID != p.cluster.Spec.Template.UUID
}

// nextValues are those of the next release; none if the cluster's settings are refused, which
// bringInLine tells.
func (p *pass) nextValues() (map[string]any, error) {
	site, err := p.siteValues(p.betweenTemplates())
	if err != nil {
		return nil, err
	}
	in := driver.Input{Cluster: p.cluster, Groups: p.groups, Defaults: p.Defaults}
	in.Defaults.Values = nil
	if site != nil {
		if err := utiljson.Unmarshal(site.Raw, &in.Defaults.Values); err != nil {
			return nil, fmt.Errorf("decoding the operator's values: %w", err)
		}
	}
	out, err := driver.Values(in)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // see above
	}
	return out.Values, nil
}

// keptFloating is whether the API has a floating IP, and whether another answer is asked for. Allowed
// CIDRs of "none" ask for none, whatever the label says.
func keptFloating(has, asks map[string]any) (floating, differs bool) {
	without, _, _ := unstructured.NestedBool(has, "spec", "disableAPIServerFloatingIP")
	wanted, _, _ := unstructured.NestedBool(asks, "apiServer", "associateFloatingIP")
	allowed, _, _ := unstructured.NestedFieldNoCopy(asks, "apiServer", "allowedCIDRs")
	list, _ := allowed.([]any)
	return !without, wanted == without && !slices.Contains(list, any("none"))
}

// nodeRange is the range of a network that CAPO made for a cluster.
func nodeRange(has map[string]any) string {
	made, _, _ := unstructured.NestedSlice(has, "spec", "managedSubnets")
	if len(made) == 0 {
		return ""
	}
	subnet, _ := made[0].(map[string]any)
	return words(subnet, "cidr")
}

func words(o map[string]any, path ...string) string {
	text, _, _ := unstructured.NestedString(o, path...)
	return text
}

// keepLabel gives a label a value, or takes it away, where the labels in force come from: the copy of
// the template, or the cluster if it has labels instead of the template's. Its own are changed by an
// upgrade alone: else who keeps them elsewhere, as in Git, would write them back for ever.
func keepLabel(spec *v1alpha1.ClusterSpec, name, value string, upgrading bool) {
	from := &spec.Template.Labels
	own := len(spec.Labels) > 0 && !spec.MergeLabels
	switch {
	case spec.NoLabels && len(spec.Labels) == 0, own && !upgrading:
		return
	case own:
		from = &spec.Labels
	}
	if value == "" {
		delete(*from, name)
		return
	}
	if *from == nil {
		*from = map[string]string{}
	}
	(*from)[name] = value
}
