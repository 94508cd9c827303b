package adopt

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
)

// flux is a HelmRelease that made the release.
func (w *world) flux(suspended bool) {
	w.t.Helper()
	o := w.object("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "flux", "shop")
	must(w.t, unstructured.SetNestedField(o.Object, suspended, "spec", "suspend"))
	must(w.t, w.site.Client.Update(w.t.Context(), o))
	w.edit(clusterKind.WithKind("Cluster"), "shop", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{fluxRelease: "shop", fluxReleaseNamespace: "flux"})
	})
}

func (w *world) object(group, version, kind, namespace, name string) *unstructured.Unstructured {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	o.SetNamespace(namespace)
	o.SetName(name)
	w.create(o)
	return o
}

// TestSuspended: Flux that was told to let go does not keep a cluster from being adopted.
func TestSuspended(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.flux(true)
	c := w.plan("shop", "").Clusters[0]
	if c.Verdict != Adopt || len(c.Notes) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestTwins: of two clusters of one name none is adopted, unless the namespace is given;
// others go on.
func TestTwins(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.install("other", "shop", like(t, "0.10.1"), original())
	w.install("other", "lab", like(t, "0.27.0"), original())
	p := w.plan("", "")
	verdicts := map[string]Verdict{}
	for _, c := range p.Clusters {
		verdicts[c.Key().String()] = c.Verdict
	}
	if verdicts["shops/shop"] != Refuse || verdicts["other/shop"] != Refuse || verdicts["other/lab"] != Adopt {
		t.Error(verdicts)
	}
	if !strings.Contains(p.Refused().Error(), "2 clusters have its name: in namespaces other, shops") {
		t.Error(p.Refused())
	}
	must(t, p.Take(t.Context(), w.site, func(*Cluster, bool) {}))
	if len(w.releases.taken) != 1 {
		t.Error(len(w.releases.taken))
	}
	if one := w.plan("shop", "other"); len(one.Clusters) != 1 || one.Clusters[0].Verdict != Adopt {
		t.Errorf("%+v", one.Refused())
	}
}

// TestMeanwhile: what changes between the plan and the adoption keeps a cluster from it.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	w := shop(t)
	p := w.plan("shop", "")
	w.edit(deployments(), "shop-md-0", func(o *unstructured.Unstructured) {
		o.SetGeneration(7)
		_ = unstructured.SetNestedField(o.Object, int64(3), "spec", "replicas")
	})
	if err := p.Take(t.Context(), w.site, func(*Cluster, bool) {}); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Error(err)
	}
	w = shop(t)
	p = w.plan("shop", "")
	w.releases.takeover = helm.ErrMoved
	if err := p.Take(t.Context(), w.site, func(*Cluster, bool) {}); !errors.Is(err, helm.ErrMoved) {
		t.Error(err)
	}
}

// TestOthers: clusters of the Magnum APIs are not this command's.
func TestOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	namespace := "magnum-3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11"
	w.install(namespace, "one", like(t, "0.10.1"), original())
	if err := w.plan("one", "").Refused(); err == nil || !strings.Contains(err.Error(), "OpenStack's Magnum manages it") {
		t.Error(err)
	}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{v1alpha1.LabelProject: "3f1d"}}})
	if c := w.plan("one", "").Clusters[0]; c.Verdict != Ours {
		t.Errorf("%+v", c)
	}
	if _, err := New(t.Context(), w.site, "none", ""); err == nil || fault.ExitCode(err) != fault.ExitUsage {
		t.Error(err)
	}
}
