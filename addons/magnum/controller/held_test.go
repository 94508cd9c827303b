package controller

import (
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestHeld: a copy of what somebody else manages is touched by nothing, whatever is
// changed in it.
func TestHeld(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationHeld: v1alpha1.HeldByMagnum}
		c.Finalizers = nil
	})
	before := h.cluster()
	h.pass()
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.Labels = map[string]string{"a": "b"} })
	h.pass()
	after := h.cluster()
	if h.releases.ensured != 0 || len(after.Finalizers) != 0 || after.Status.Phase != before.Status.Phase {
		t.Errorf("%d releases, %+v", h.releases.ensured, after)
	}
	if err := h.client.Delete(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	h.pass()
}

// movedIn is a cluster as an import leaves it: complete, with a release of another
// program whose values are not those that Slipway would make.
func movedIn(t *testing.T) *harness {
	t.Helper()
	h := ready(t)
	foreign := testChart("0.23.0")
	h.releases.last = &helmrelease.Release{Name: stack, Version: 7, Chart: foreign, Config: map[string]any{"made": "elsewhere"}, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}
	c := h.cluster()
	c.Status.Release = &v1alpha1.ReleaseStatus{Revision: 7, Chart: "openstack-cluster-0.23.0", TemplateUUID: c.Spec.Template.UUID, Foreign: true}
	if err := h.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.releases.ensured = 0
	h.restart()
	return h
}

// TestMovedIn: the release stays as it is, sizes are changed without Helm, and the
// next upgrade makes it Slipway's.
func TestMovedIn(t *testing.T) {
	t.Parallel()
	h := movedIn(t)
	h.pass()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
	if r := h.cluster().Status.Release; h.releases.ensured != 0 || r.Digest == "" || !r.Foreign {
		t.Fatalf("%d releases, %+v", h.releases.ensured, r)
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 4 })
	h.pass()
	if n := h.replicas("default-worker"); n != 4 || h.releases.ensured != 0 {
		t.Errorf("%d workers, %d releases", n, h.releases.ensured)
	}
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE")
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	h.pass()
	if h.releases.ensured == 0 || h.cluster().Status.Release.Foreign {
		t.Error("the upgrade did not make the release Slipway's")
	}
}

// TestMovedInScaled: a release that is moved in is not rendered for sizes that an
// operator sets in Cluster API; the size that is asked for comes back.
func TestMovedInScaled(t *testing.T) {
	t.Parallel()
	h := movedIn(t)
	h.pass()
	o := h.object(deployment(), stack+"-default-worker")
	if err := unstructured.SetNestedField(o.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	o.SetGeneration(o.GetGeneration() + 1)
	h.update(o)
	h.pass()
	g := h.group("default-worker")
	if n := h.replicas("default-worker"); n != int64(g.Spec.NodeCount) || h.releases.ensured != 0 {
		t.Errorf("%d workers for %d, %d releases", n, g.Spec.NodeCount, h.releases.ensured)
	}
}
