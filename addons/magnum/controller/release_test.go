package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestWorkersWaitForTheControlPlane as they are, those of the cluster's image that know what they are.
func TestWorkersWaitForTheControlPlane(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plane  observe.Group
		change func(*pass, *v1alpha1.NodeGroup)
		held   bool
	}{
		"while it is upgraded":   {observe.Group{Exists: true, Version: "v1.35.0"}, nil, true},
		"until it is":            {observe.Group{Exists: true, Settled: true, Version: "v1.35.0"}, nil, false},
		"before it is":           {observe.Group{Exists: true, Settled: true, Version: "v1.34.2"}, nil, true},
		"without one":            {observe.Group{}, nil, false},
		"those that were let go": {observe.Group{Exists: true}, func(p *pass, _ *v1alpha1.NodeGroup) { p.state.Workers["gpu"] = observe.Group{Version: "v1.35.0"} }, false},
		"not masters":            {observe.Group{Exists: true}, func(_ *pass, g *v1alpha1.NodeGroup) { g.Spec.Role = v1alpha1.RoleMaster }, false},
		"not those with their own": {observe.Group{Exists: true}, func(_ *pass, g *v1alpha1.NodeGroup) {
			g.Spec.ImageID, g.Spec.Image = "own", &v1alpha1.ResolvedImage{ID: "x"}
		}, false},
		"not new ones":                  {observe.Group{Exists: true}, func(_ *pass, g *v1alpha1.NodeGroup) { g.Status.ImageID = "" }, false},
		"not those without a version":   {observe.Group{Exists: true}, func(_ *pass, g *v1alpha1.NodeGroup) { g.Status.Version = "" }, false},
		"not those of the same image":   {observe.Group{Exists: true}, func(_ *pass, g *v1alpha1.NodeGroup) { g.Status.ImageID = "image-35" }, false},
		"not those of the same version": {observe.Group{Exists: true}, func(_ *pass, g *v1alpha1.NodeGroup) { g.Status.Version = "v1.35.0" }, false},
	} {
		p, g := wellPass(), newGroup("gpu")
		p.cluster.Spec.Template, p.cluster.Spec.Resolved = &v1alpha1.TemplateSnapshot{TemplateValues: template("t35").Spec.TemplateValues}, resolved("image-35", "1.35.0")
		g.Status.ImageID, g.Status.Version = "image-34", "v1.34.2"
		p.groups, p.state.Master, p.state.Workers = []*v1alpha1.NodeGroup{g}, test.plane, map[string]observe.Group{"gpu": {Version: "v1.34.2"}}
		if test.change != nil {
			test.change(p, g)
		}
		want := map[string]driver.Software{}
		if test.held {
			want[g.Name] = driver.Software{ImageID: "image-34", KubernetesVersion: "1.34.2"}
		}
		if p.hold(); !maps.Equal(p.held, want) {
			t.Errorf("%s: %v", name, p.held)
		}
	}
}

// TestSizesOfAForeignRelease are no change of it: they are set without Helm. Of Slipway's own they are.
func TestSizesOfAForeignRelease(t *testing.T) {
	t.Parallel()
	values := func(masters, workers int, image string) map[string]any {
		return map[string]any{"controlPlane": map[string]any{"machineCount": masters, "image": image}, "nodeGroups": []any{map[string]any{"name": "a", "machineCount": workers}, "no group"}}
	}
	given := values(1, 1, "x")
	for name, test := range map[string]struct {
		other      map[string]any
		same, ours bool
	}{
		"the same":      {values(1, 1, "x"), true, true},
		"more masters":  {values(3, 1, "x"), true, false},
		"more workers":  {values(1, 4, "x"), true, false},
		"another image": {values(1, 1, "y"), false, false},
		"no masters":    {map[string]any{"nodeGroups": given["nodeGroups"]}, false, false},
		"nothing":       {map[string]any{}, false, false},
	} {
		if same := digest(given, "chart", true) == digest(test.other, "chart", true); same != test.same {
			t.Errorf("%s, of another program: %t", name, same)
		}
		if same := digest(given, "chart", false) == digest(test.other, "chart", false); same != test.ours {
			t.Errorf("%s, of Slipway: %t", name, same)
		}
	}
	if text := fmt.Sprint(given); text != fmt.Sprint(values(1, 1, "x")) || digest(given, "a", true) == digest(given, "b", true) || digest(map[string]any{"x": make(chan int)}, "", false) != "" {
		t.Errorf("the values became %s", text)
	}
}

// TestChartsThatCannotBeRenderedAgain have subcharts that Helm did not keep.
func TestChartsThatCannotBeRenderedAgain(t *testing.T) {
	t.Parallel()
	needs := &chart.Chart{Metadata: &chart.Metadata{Dependencies: []*chart.Dependency{{Name: "x"}}}}
	has := &chart.Chart{Metadata: needs.Metadata}
	has.AddDependency(&chart.Chart{Metadata: &chart.Metadata{Name: "x"}})
	if !incomplete(needs) || incomplete(has) || incomplete(testChart("1.0.0")) {
		t.Errorf("%t, %t, %t", incomplete(needs), incomplete(has), incomplete(testChart("1.0.0")))
	}
}

// TestWhatHelmRefuses is final where only a change of the cluster helps; a process that ends is no refusal.
func TestWhatHelmRefuses(t *testing.T) {
	t.Parallel()
	for text, final := range map[string]bool{"execution error at (x)": true, "template: x": true, "values don't meet the schema": true, `OpenStackCluster "x" is invalid: y`: true, "connection refused": false, "is invalid": false} {
		p := wellPass()
		if err := p.refused(errors.New(text)); err != nil || p.trouble.final != final || !strings.Contains(explain(p.trouble.err), text) {
			t.Errorf("%s: %v, %+v", text, err, p.trouble)
		}
	}
	p := wellPass()
	if err := p.refused(fmt.Errorf("helm: %w", context.Canceled)); !errors.Is(err, context.Canceled) || p.trouble != nil {
		t.Errorf("%v, %+v", err, p.trouble)
	}
}

// TestVersionsThatKubernetesGoesTo are the same minor version and the next.
func TestVersionsThatKubernetesGoesTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		runs, wants string
		allowed     bool
	}{{"", "1.36.0", true}, {"v1.34.2", "", true}, {"v1.34.2", "1.34.2", true}, {"v1.34.2", "1.35.0", true}, {"v1.34.2", "1.36.0", false}, {"v1.34.2", "1.33.0", false}} {
		p := wellPass()
		p.cluster.Spec.Template, p.cluster.Spec.Resolved, p.state.Version, p.upgrading = &v1alpha1.TemplateSnapshot{}, resolved("x", test.wants), test.runs, true
		if got := p.upgradeAllowed(); got != test.allowed || p.upgrading != test.allowed || (p.trouble == nil) != test.allowed || p.trouble != nil && !p.trouble.final {
			t.Errorf("%+v: %t, %+v", test, got, p.trouble)
		}
	}
}

// blind cannot read releases.
type blind struct {
	*fakeReleases
	err error
}

func (b blind) Last(context.Context, string, string) (*helmrelease.Release, error) { return nil, b.err }

// TestAReleaseThatCannotBeReadIsNotMade again: it may be another program's.
func TestAReleaseThatCannotBeReadIsNotMade(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.r.Releases = blind{h.releases, errors.New("secrets is forbidden")}
	if _, err := h.reconcile(); err == nil {
		t.Error("it is not tried again")
	}
	if reason := h.cluster().Status.StatusReason; h.releases.ensured > 0 || !strings.Contains(reason, "secrets is forbidden; check the cluster's labels") {
		t.Errorf("%d releases, reason %q", h.releases.ensured, reason)
	}
	h.r.Releases = h.releases
	h.r.Chart = func() (*chart.Chart, error) { return nil, errors.New("no file") }
	if _, err := h.reconcile(); err == nil || !strings.Contains(err.Error(), "loading the chart: no file") {
		t.Errorf("%v", err)
	}
}

// TestAReleaseThatIsNotDeployedIsNotAdopted: it is made anew, of Slipway's chart; so is one that Slipway
// knows, whatever Helm kept of its chart.
func TestAReleaseThatIsNotDeployedIsNotAdopted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status  helmrelease.Status
		known   *v1alpha1.ReleaseStatus
		adopted bool
	}{
		"deployed": {helmrelease.StatusDeployed, nil, true},
		"failed":   {helmrelease.StatusFailed, nil, false},
		"known":    {helmrelease.StatusDeployed, &v1alpha1.ReleaseStatus{Revision: 7, TemplateUUID: template("t34").UUID()}, false},
	} {
		h := start(t, func(c *v1alpha1.Cluster) { c.Spec.StackID = stack })
		upstream := &chart.Chart{Metadata: &chart.Metadata{Name: "openstack-cluster", Version: "0.10.1", Dependencies: []*chart.Dependency{{Name: "cluster-addons"}}}}
		h.releases.last = &helmrelease.Release{Name: stack, Version: 7, Chart: upstream, Info: &helmrelease.Info{Status: test.status}}
		c := h.cluster()
		c.Status.Release = test.known
		if err := h.client.Status().Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		h.pass()
		if r := h.cluster().Status.Release; r == nil || r.Foreign != test.adopted || (h.releases.ensured == 0) != test.adopted || (h.releases.last.Chart == upstream) != test.adopted {
			t.Errorf("%s: %d releases, %+v", name, h.releases.ensured, r)
		}
	}
}

// TestABadClusterIsNotAdopted: what the driver refuses is told, and the release stays another's.
func TestABadClusterIsNotAdopted(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.StackID = stack })
	h.create(newGroup("g1"))
	h.releases.last = &helmrelease.Release{Name: stack, Version: 7, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "openstack-cluster", Dependencies: []*chart.Dependency{{Name: "cluster-addons"}}}}}
	h.pass()
	if h.phases(v1alpha1.CreateFailed); h.cluster().Status.Release != nil || h.releases.ensured > 0 {
		t.Errorf("%+v, %d releases", h.cluster().Status.Release, h.releases.ensured)
	}
}

// TestAReleaseIsUnsettledBeforeHelmChangesIt, so that what is half made is made again.
func TestAReleaseIsUnsettledBeforeHelmChangesIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known *v1alpha1.ReleaseStatus
		want  string
	}{"made": {&v1alpha1.ReleaseStatus{Digest: "d"}, ""}, "another's": {&v1alpha1.ReleaseStatus{Digest: "d", Foreign: true}, "d"}, "none": {nil, "none"}} {
		h := ready(t)
		p := h.look()
		p.cluster.Status.Release = test.known
		if err := p.client.Status().Update(t.Context(), p.cluster); err != nil {
			t.Fatal(err)
		}
		p.stored = p.cluster.Status.DeepCopy()
		if err := p.unsettle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.cluster().Status.Release; got == nil && test.known != nil || got != nil && got.Digest != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAClusterThatIsGoneIsMadeAgain, although nothing else is asked for than before.
func TestAClusterThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	h := ready(t)
	ensured := h.releases.ensured
	if err := h.client.DeleteAllOf(t.Context(), capiCluster().object(), client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if h.pass(); h.releases.ensured != ensured+1 {
		t.Errorf("Helm was asked %d times", h.releases.ensured-ensured)
	}
}

// TestTheAddressOfKeystone is in the values where the cluster, or the operator, wants logins by Keystone.
func TestTheAddressOfKeystone(t *testing.T) {
	t.Parallel()
	yes := map[string]string{"keystone_auth_enabled": "true"}
	for name, test := range map[string]struct {
		cluster, operator map[string]string
		want              bool
	}{"the cluster": {yes, nil, true}, "the operator": {nil, yes, true}, "nobody": {nil, nil, false}} {
		h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Labels = test.cluster })
		h.r.Defaults.Labels = test.operator
		h.pass()
		text, err := json.Marshal(h.releases.last.Config)
		if got := strings.Contains(string(text), "https://k/v3"); err != nil || got != test.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
		h.lose()
		p := h.look()
		if out, err := p.values(t.Context(), nil); err != nil || (p.trouble != nil) != test.want || (out.Values == nil) != test.want {
			t.Errorf("%s, without a Secret: %v, %+v", name, err, p.trouble)
		}
	}
}

// TestAForeignReleaseOfTheSameTemplate is left as it is, until it is upgraded.
func TestAForeignReleaseOfTheSameTemplate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known         *v1alpha1.ReleaseStatus
		left, between bool
	}{
		"none":               {nil, false, false},
		"another's":          {&v1alpha1.ReleaseStatus{Foreign: true, TemplateUUID: "t"}, true, false},
		"another's, upgrade": {&v1alpha1.ReleaseStatus{Foreign: true, TemplateUUID: "s"}, false, true},
		"Slipway's":          {&v1alpha1.ReleaseStatus{TemplateUUID: "t"}, false, false},
		"Slipway's, upgrade": {&v1alpha1.ReleaseStatus{TemplateUUID: "s"}, false, true},
	} {
		p := wellPass()
		p.cluster.Spec.Template, p.cluster.Status.Release = &v1alpha1.TemplateSnapshot{UUID: "t"}, test.known
		if p.leftAsItIs() != test.left || p.betweenTemplates() != test.between {
			t.Errorf("%s: %t, %t", name, p.leftAsItIs(), p.betweenTemplates())
		}
		p.objects.Cluster, p.objects.Infrastructure = capiCluster().object(), infrastructure().object()
		if r := p.running(); (r.Cluster == nil) != test.left || (r.Infrastructure == nil) != test.left {
			t.Errorf("%s: %+v", name, r)
		}
	}
	p := wellPass()
	if r := p.running(); r.Cluster != nil || r.Infrastructure != nil || slices.Contains(p.specified(), nil) {
		t.Errorf("%+v of a cluster that is not there", r)
	}
}
