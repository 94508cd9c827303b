package controller

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// siteValues are an operator's values with one mirror; without an address none.
func siteValues(mirror string) map[string]any {
	if mirror == "" {
		return nil
	}
	// What JSON and a status have otherwise: a number, a sign of HTML, null.
	return map[string]any{"registryMirrors": map[string]any{"docker.io": map[string]any{"ca": nil, "mirrors": []any{
		map[string]any{"url": mirror, "capabilities": []any{"pull", "<&>"}}}}}, "etcd": map[string]any{"quota": 2}}
}

// mirror is the address that the release has; none is empty.
func (h *harness) mirror() string {
	h.t.Helper()
	list, _, _ := unstructured.NestedSlice(h.releases.last.Config, "registryMirrors", "docker.io", "mirrors")
	if len(list) == 0 {
		return ""
	}
	return list[0].(map[string]any)["url"].(string)
}

// TestSiteValuesStay: other values of the operator replace no machine; they come
// with the next upgrade, also if it is interrupted.
func TestSiteValuesStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after string }{
		"there were none": {"", "https://two"},
		"others":          {"https://one", "https://two"},
		"there are none":  {"https://one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			h.r.Defaults.Values = siteValues(test.before)
			h.pass()
			h.settle()
			h.pass()
			h.phases(v1alpha1.CreateComplete)
			ensured := h.releases.ensured
			h.restart()
			h.r.Defaults.Values = siteValues(test.after)
			if h.pass(); h.releases.ensured != ensured || h.mirror() != test.before {
				t.Errorf("mirror %q after Helm was asked %d times", h.mirror(), h.releases.ensured-ensured)
			}
			h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 2 })
			if h.pass(); h.mirror() != test.before || h.replicas("default-worker") != 2 {
				t.Errorf("mirror %q after a resize", h.mirror())
			}
			h.settle()
			h.pass()
			h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
			h.edit(upgradeTo("image-35", "1.35.0"))
			h.loseStatus(func() bool { return h.mirror() == test.after })
			for range 3 {
				h.pass()
				h.settle()
			}
			if h.phases(v1alpha1.UpdateComplete); h.mirror() != test.after || h.version("default-worker") != "v1.35.0" {
				t.Errorf("mirror %q after an upgrade", h.mirror())
			}
		})
	}
}

// loseStatus ends passes before they can tell what became of the release, until
// it is as it is to be, and starts the process anew.
func (h *harness) loseStatus(done func() bool) {
	h.t.Helper()
	resolver, values := h.r.Resolver, h.r.Defaults.Values
	h.intercept(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		if done() {
			return errors.New("killed")
		}
		return c.SubResource(sub).Patch(ctx, o, patch, opts...)
	}})
	if _, err := h.reconcile(); err == nil {
		h.t.Error("the status was written")
	}
	h.restart()
	h.r.Resolver, h.r.Defaults.Values = resolver, values
}

// TestInterruptedSiteValues: a first pass that is repeated makes the release once.
func TestInterruptedSiteValues(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.r.Defaults.Values = siteValues("https://one")
	h.loseStatus(func() bool { return h.releases.last != nil })
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete)
	if h.releases.last.Version != 1 || h.mirror() != "https://one" || h.cluster().Status.Release.SiteValues == nil {
		t.Errorf("revision %d with mirror %q", h.releases.last.Version, h.mirror())
	}
}

// TestSiteValuesAreNotTheClustersOwn: the external network and the port that come of the operator's
// values are not written into the cluster, also while it is made. CAPO keeps them when they change.
func TestSiteValuesAreNotTheClustersOwn(t *testing.T) {
	t.Parallel()
	reached := func(network string, port int) map[string]any {
		return map[string]any{"clusterNetworking": map[string]any{"externalNetworkId": network}, "apiServer": map[string]any{"port": port}}
	}
	h := start(t)
	h.r.Defaults.Values = reached("net-9", 8443)
	h.pass()
	runs := h.object(infrastructure(), stack)
	runs.Object["spec"] = map[string]any{"externalNetwork": map[string]any{"id": "net-9"}, "apiServerPort": int64(8443)}
	h.update(runs)
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete)
	if c := h.cluster(); c.Spec.Template.APIServerPort != 0 || c.Spec.Resolved.ExternalNetworkID != "" || h.releases.last.Version != 1 {
		t.Errorf("revision %d, port %d, network %q", h.releases.last.Version, c.Spec.Template.APIServerPort, c.Spec.Resolved.ExternalNetworkID)
	}
	h.r.Defaults.Values = reached("net-8", 6444)
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	h.pass()
	port, _, _ := unstructured.NestedFieldNoCopy(h.releases.last.Config, "apiServer", "port")
	network, _, _ := unstructured.NestedString(h.releases.last.Config, "clusterNetworking", "externalNetworkId")
	if port != 8443.0 || network != "net-9" || h.releases.last.Version != 2 {
		t.Errorf("revision %d has port %v and network %q", h.releases.last.Version, port, network)
	}
}
