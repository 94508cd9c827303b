package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

// bringInLine makes the release what the cluster asks for. The same values and
// chart again ask Helm nothing at all.
func (p *pass) bringInLine(ctx context.Context) error {
	if p.trouble != nil {
		return nil
	}
	known := p.cluster.Status.Release
	p.upgrading = known != nil && known.TemplateUUID != p.cluster.Spec.Template.UUID
	if !p.upgradeAllowed() {
		return nil
	}
	p.hold()
	site, err := p.siteValues(p.upgrading)
	if err != nil {
		return err
	}
	out, err := p.values(ctx, site)
	if err != nil || p.trouble != nil {
		return err
	}
	p.warnings = append(p.warnings, out.Warnings...)
	if known != nil && known.Foreign && known.Digest == "" && !p.upgrading {
		// It was just moved in: as it is, it is what is asked for.
		known.Digest = digest(out.Values, known.Chart, true)
		return nil
	}
	if known != nil && !p.upgrading && p.state.Exists && known.Digest == digest(out.Values, known.Chart, known.Foreign) {
		return nil
	}
	if err := p.groupsStay(out.Values); err != nil || p.trouble != nil {
		return err
	}
	if secret, err := p.secret(ctx); err != nil || secret == nil {
		return err
	}
	if known != nil && known.Foreign && !p.upgrading {
		p.stay(fault.New("cluster "+p.cluster.Title(), fmt.Errorf("it uses chart %s, with which only node counts can be changed", known.Chart),
			"upgrade the cluster to a template first, which replaces its machines"), true)
		return nil
	}
	ours, err := p.Chart()
	if err != nil {
		return fmt.Errorf("loading the chart: %w", err)
	}
	return p.makeRelease(ctx, ours, out.Values, site)
}

// upgradeAllowed refuses versions that Kubernetes cannot go to.
func (p *pass) upgradeAllowed() bool {
	running, wanted := p.state.Version, p.resolved().Image.KubernetesVersion
	if running == "" || wanted == "" || strings.TrimPrefix(running, "v") == wanted {
		return true
	}
	if err := kubeversion.CheckUpgrade(running, wanted); err != nil {
		p.stay(fault.New("template "+p.cluster.Spec.Template.Name, err, "upgrade to a template with the same minor version of Kubernetes or the next; nothing was changed"), true)
		p.upgrading = false
		return false
	}
	return true
}

// groupsStay refuses another policy of server groups that are there, which no cloud changes.
func (p *pass) groupsStay(values map[string]any) error {
	is := openstackcluster.Release{Name: p.cluster.Stack(), Namespace: p.key.Namespace, Values: values}
	err := openstackcluster.CheckServerGroups(is, openstackcluster.Policies(p.objects.ServerGroups), "")
	if fault.Remedy(err) == "" {
		return err
	}
	p.stay(fault.New("cluster "+p.cluster.Title(), err, "choose labels, or a template, with the policy in server_group_policies that the cluster has; nothing was changed"), true)
	p.upgrading = false
	return nil
}

// hold keeps worker groups on their version while the control plane is upgraded
// before them (kubernetes.io/releases/version-skew-policy). A group that was let go
// does not come back, whatever becomes of the control plane meanwhile: its new
// machines would be replaced by old ones.
func (p *pass) hold() {
	wanted, plane := p.resolved().Image, p.state.Master
	p.held = map[string]driver.Software{}
	if !plane.Exists || plane.Settled && plane.Version == "v"+wanted.KubernetesVersion {
		return
	}
	for _, g := range p.groups {
		version := strings.TrimPrefix(g.Status.Version, "v")
		if p.group(g).Version == "v"+wanted.KubernetesVersion {
			continue
		}
		if g.Spec.Role == v1alpha1.RoleMaster || driver.OwnImage(p.cluster, g) || g.Status.ImageID == "" || version == "" ||
			g.Status.ImageID == wanted.ID || version == wanted.KubernetesVersion {
			continue
		}
		p.held[g.Name] = driver.Software{ImageID: g.Status.ImageID, KubernetesVersion: version}
	}
}

// siteValues are the operator's values for the release. A cluster keeps those
// that it was made with until it is upgraded, for the reason that it keeps its
// chart.
func (p *pass) siteValues(upgrading bool) (*apiextensionsv1.JSON, error) {
	if known := p.cluster.Status.Release; known != nil && !upgrading {
		return known.SiteValues, nil
	}
	if len(p.Defaults.Values) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(p.Defaults.Values)
	if err != nil {
		return nil, fmt.Errorf("encoding the operator's values: %w", err)
	}
	return &apiextensionsv1.JSON{Raw: text}, nil
}

// values are those of the cluster over the operator's, which are always read
// from JSON: the numbers of today's are then those of a status.
func (p *pass) values(ctx context.Context, site *apiextensionsv1.JSON) (driver.Output, error) {
	in, err := p.input(site)
	if err != nil {
		return driver.Output{}, err
	}
	in.Held, in.Credential = p.held, p.restart()
	if p.cluster.EffectiveLabels()["keystone_auth_enabled"] != "" || p.Defaults.Labels["keystone_auth_enabled"] != "" {
		secret, err := p.secret(ctx)
		if err != nil || secret == nil {
			return driver.Output{}, err
		}
		in.AuthURL = authURL(secret)
	}
	out, err := driver.Values(in)
	if err != nil {
		p.stay(err, true)
	}
	return out, nil
}

// digest is of what a release is made of. Of a release of others, sizes are
// left out: they are changed without Helm.
func digest(values map[string]any, chart string, foreign bool) string {
	if foreign {
		values = withoutSizes(values)
	}
	text, err := json.Marshal(values) // maps are sorted
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append(text, chart...))
	return hex.EncodeToString(sum[:12])
}

func withoutSizes(values map[string]any) map[string]any {
	sizeless := maps.Clone(values)
	if plane, ok := values["controlPlane"].(map[string]any); ok {
		plane = maps.Clone(plane)
		delete(plane, "machineCount")
		sizeless["controlPlane"] = plane
	}
	groups, _ := values["nodeGroups"].([]any)
	var all []any
	for _, entry := range groups {
		group := map[string]any{}
		switch g := entry.(type) {
		case map[string]any:
			maps.Copy(group, g)
		default:
			continue
		}
		delete(group, "machineCount")
		all = append(all, group)
	}
	sizeless["nodeGroups"] = all
	return sizeless
}

// chartName tells charts apart, also those that changed without their version.
func chartName(c *chart.Chart) string {
	sum := helm.Digest(c)
	return fmt.Sprintf("%s-%s-%s", c.Metadata.Name, c.Metadata.Version, hex.EncodeToString(sum[:4]))
}

// makeRelease installs or upgrades the release, of values that have site's in
// them. A cluster keeps the chart it was made of until it is upgraded: a new chart
// may render machines otherwise, and nobody asked for new ones.
func (p *pass) makeRelease(ctx context.Context, ours *chart.Chart, values map[string]any, site *apiextensionsv1.JSON) error {
	namespace, name := p.key.Namespace, p.cluster.Stack()
	last, err := p.Releases.Last(ctx, namespace, name)
	if err != nil {
		return p.refused(err)
	}
	use := ours
	if last != nil && !p.upgrading && chartName(last.Chart) != chartName(ours) {
		if incomplete(last.Chart) && p.cluster.Status.Release == nil && deployed(last) {
			return p.adopt(ctx, last)
		}
		if !incomplete(last.Chart) {
			use = last.Chart
		}
	}
	if err := p.unsettle(ctx); err != nil {
		return err
	}
	chart := chartName(use)
	made, changed, err := p.Releases.Ensure(ctx, namespace, helm.Wanted{Name: name, Chart: use, Values: values, Resume: true,
		Labels: map[string]string{v1alpha1.LabelCluster: v1alpha1.LabelValue(p.cluster.UUID())}})
	if err != nil {
		return p.refused(err)
	}
	p.cluster.Status.Release = &v1alpha1.ReleaseStatus{Revision: made.Version, Chart: chart, Digest: digest(values, chart, false),
		TemplateUUID: p.cluster.Spec.Template.UUID, SiteValues: site}
	if !changed {
		return nil
	}
	p.applied = true
	return p.lookAgain(ctx)
}

// unsettle notes that the release may be anything from now on: Helm can fail, or be killed, when it has
// changed a part of the cluster. If the cluster is then to be as it was before, that would seem to be
// done already, and it would stay between the two.
func (p *pass) unsettle(ctx context.Context) error {
	known := p.cluster.Status.Release
	if known == nil || known.Foreign || known.Digest == "" {
		return nil
	}
	return p.writeCluster(ctx, func(s *v1alpha1.ClusterStatus) { s.Release.Digest = "" })
}

// lookAgain reads what was just written, around the cache.
func (p *pass) lookAgain(ctx context.Context) error {
	if err := p.observe(ctx, p.live); err != nil {
		return err
	}
	p.remember()
	return nil
}

func deployed(r *helmrelease.Release) bool { return r.Info.Status == helmrelease.StatusDeployed }

// incomplete charts cannot be rendered again: Helm keeps no subcharts.
func incomplete(c *chart.Chart) bool {
	return len(c.Metadata.Dependencies) > 0 && len(c.Dependencies()) == 0
}

// adopt takes over a release as it is, which has none of the operator's values:
// no machine is replaced for it.
func (p *pass) adopt(ctx context.Context, last *helmrelease.Release) error {
	chart := chartName(last.Chart)
	p.cluster.Status.Release = &v1alpha1.ReleaseStatus{Revision: last.Version, Chart: chart, Foreign: true, TemplateUUID: p.cluster.Spec.Template.UUID}
	out, err := p.values(ctx, nil) // as those of later passes are, see leftAsItIs
	if err != nil || p.trouble != nil {
		p.cluster.Status.Release = nil
		return err
	}
	p.cluster.Status.Release.Digest = digest(out.Values, chart, true)
	return nil
}

// rendering are Helm's words where the chart itself refuses values.
var rendering = regexp.MustCompile(`execution error at|template: |values don't meet|YAML parse error|error validating|unknown field|strict decoding| is invalid: `)

// refused notes why Helm did not make the release. What the chart or the API
// server refuses as it is will not do better by itself.
func (p *pass) refused(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	p.stay(fault.New("release "+p.cluster.Stack(), err, "check the cluster's labels and node groups; see helm history in its namespace"), rendering.MatchString(err.Error()))
	return nil
}
