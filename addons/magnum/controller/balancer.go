package controller

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// keepBalancer notes, in the copy of the template that asks for something else, what the driver lets
// a running cluster keep: its load balancer, addresses and networks. So the API shows what there is.
func (p *pass) keepBalancer(ctx context.Context) error {
	if p.trouble != nil || p.objects.Infrastructure == nil || p.leftAsItIs() {
		return nil
	}
	kept, err := p.overruled()
	if err != nil {
		return err
	}
	upgrading := p.betweenTemplates()
	keep := func(spec *v1alpha1.ClusterSpec) {
		for _, k := range kept {
			if label, is := strings.CutPrefix(k.Setting, "label "); is {
				keepLabel(spec, label, k.Value, upgrading)
			}
			if k.Setting == "property master_lb_enabled" {
				spec.Template.MasterLBEnabled = k.Value == "true"
			}
		}
	}
	next := p.cluster.DeepCopy()
	if keep(&next.Spec); equality.Semantic.DeepEqual(next.Spec, p.cluster.Spec) {
		return nil
	}
	return p.writeSpec(ctx, "the load balancer that the cluster keeps", keep)
}

// overruled are the settings that the next release has otherwise than asked for; none if the cluster's
// settings are refused, which bringInLine tells.
func (p *pass) overruled() ([]driver.Kept, error) {
	site, err := p.siteValues(p.betweenTemplates())
	if err != nil {
		return nil, err
	}
	in, err := p.input(site)
	if err != nil {
		return nil, err
	}
	out, err := driver.Values(in)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return out.Kept, nil
}

// input is what values of a release are made of, over the operator's.
func (p *pass) input(site *apiextensionsv1.JSON) (driver.Input, error) {
	in := driver.Input{Cluster: p.cluster, Groups: p.groups, Running: p.running(), Defaults: p.Defaults}
	in.Defaults.Values = nil
	if site != nil {
		if err := utiljson.Unmarshal(site.Raw, &in.Defaults.Values); err != nil {
			return driver.Input{}, fmt.Errorf("decoding the operator's values: %w", err)
		}
	}
	return in, nil
}

// running is what there is of the cluster; nothing of one that is left as it is.
func (p *pass) running() driver.Running {
	var r driver.Running
	if p.leftAsItIs() {
		return r
	}
	if p.objects.Cluster != nil {
		r.Cluster = p.objects.Cluster.Object
	}
	if p.objects.Infrastructure != nil {
		r.Infrastructure = p.objects.Infrastructure.Object
	}
	return r
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
