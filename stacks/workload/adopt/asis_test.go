package adopt

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/stacks/workload"
)

// bare is a cluster without a release.
func bare(t *testing.T) *world {
	t.Helper()
	w := shop(t)
	delete(w.releases.last, "shops/shop")
	return w
}

// classed makes it one of a ClusterClass.
func (w *world) classed(owned ...string) {
	w.t.Helper()
	reference := func(kind, name string) map[string]any {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGroupVersionKind(cloudKind.WithKind(kind))
		o.SetNamespace("shops")
		o.SetName(name)
		w.create(o)
		return map[string]any{"templateRef": map[string]any{"apiVersion": cloudKind.String(), "kind": kind, "name": name}}
	}
	class := w.object("cluster.x-k8s.io", "v1beta2", "ClusterClass", "shops", "shop")
	must(w.t, unstructured.SetNestedMap(class.Object, reference("OpenStackClusterTemplate", "shop-geno01"), "spec", "infrastructure"))
	must(w.t, w.site.Client.Update(w.t.Context(), class))
	w.edit(clusterKind.WithKind("Cluster"), "shop", set(map[string]any{"classRef": map[string]any{"name": "shop"}}, "spec", "topology"))
	own := func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{labelOwned: ""}) }
	for _, name := range owned {
		if strings.HasSuffix(name, "control-plane") {
			w.edit(planes(), name, own)
		} else {
			w.edit(deployments(), name, own)
		}
	}
}

// TestAsItIs: a cluster of clusterctl is recorded, once, and with its Cluster the record goes.
func TestAsItIs(t *testing.T) {
	t.Parallel()
	w := bare(t)
	p := w.plan("shop", "")
	c := p.Clusters[0]
	if c.Verdict != AsItIs || c.MadeBy != "clusterctl, or by hand" || c.Rolls != 0 {
		t.Fatalf("%+v", c)
	}
	for range 2 {
		must(t, p.Take(t.Context(), w.site, func(*Cluster, bool) {}))
	}
	record := &corev1.Secret{}
	must(t, w.site.Client.Get(t.Context(), client.ObjectKey{Namespace: "shops", Name: workload.RecordName("shop")}, record))
	if record.Labels[workload.LabelCluster] != "shop" || record.Type != workload.RecordType || record.OwnerReferences[0].Kind != "Cluster" {
		t.Errorf("%+v", record)
	}
	if again := w.plan("shop", "").Clusters[0]; again.Verdict != Ours {
		t.Errorf("%+v", again)
	}
}

// TestALoginFromElsewhere: who logs in by an OpenStackClusterIdentity needs no Secret of its name.
func TestALoginFromElsewhere(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.remove(secretKind(), "shop-cloud-credentials")
	w.edit(cloudKind.WithKind("OpenStackCluster"), "shop", set("ClusterIdentity", "spec", "identityRef", "type"))
	if c := w.plan("shop", "").Clusters[0]; c.Verdict != AsItIs {
		t.Errorf("%+v", c)
	}
}

// TestTopology: a cluster of a ClusterClass is adopted as it is if all of it is of its
// topology. One that was converted half-way is refused.
//
// proves: S-69
func TestTopology(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.classed("shop-control-plane", "shop-md-0", "shop-gpu")
	c := w.plan("shop", "").Clusters[0]
	if c.Verdict != AsItIs || c.MadeBy != "ClusterClass shop" {
		t.Errorf("%+v", c)
	}
	w = bare(t)
	w.classed("shop-control-plane", "shop-gpu")
	c = w.plan("shop", "").Clusters[0]
	if c.Verdict != Refuse || c.Rolls != 2 || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].What, "MachineDeployment shop-md-0 is not of its topology") {
		t.Errorf("%+v", c)
	}
	w = bare(t)
	w.classed("shop-control-plane", "shop-md-0", "shop-gpu")
	w.remove(cloudKind.WithKind("OpenStackClusterTemplate"), "shop-geno01")
	if err := w.plan("shop", "").Refused(); err == nil || !strings.Contains(err.Error(), "OpenStackClusterTemplate shop-geno01 of its ClusterClass is missing") {
		t.Error(err)
	}
	w.remove(clusterKind.WithKind("ClusterClass"), "shop")
	if err := w.plan("shop", "").Refused(); err == nil || !strings.Contains(err.Error(), "its ClusterClass shops/shop is missing") {
		t.Error(err)
	}
}

// TestAsItIsRefused: clusters of other clouds, and broken ones.
func TestAsItIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spoil func(*world)
		want  string
	}{
		{func(w *world) {
			w.edit(clusterKind.WithKind("Cluster"), "shop", set("DockerCluster", "spec", "infrastructureRef", "kind"))
		}, "its infrastructure is DockerCluster, not OpenStackCluster"},
		{func(w *world) { w.remove(cloudKind.WithKind("OpenStackCluster"), "shop") }, "its OpenStackCluster shop is missing"},
		{func(w *world) { w.remove(planes(), "shop-control-plane") }, "Cluster API has no KubeadmControlPlane of it"},
		{func(w *world) { w.remove(secretKind(), "shop-cloud-credentials") }, "its Secret shop-cloud-credentials is missing"},
	} {
		w := bare(t)
		test.spoil(w)
		p := w.plan("shop", "")
		if err := p.Refused(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.want, err)
		}
		must(t, p.Take(t.Context(), w.site, func(*Cluster, bool) { t.Error("taken") }))
	}
}

// TestGitOps: what Argo CD or Flux declares stays theirs.
func TestGitOps(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.edit(clusterKind.WithKind("Cluster"), "shop", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{argoInstance: "shops"}) })
	c := w.plan("shop", "").Clusters[0]
	if c.Verdict != AsItIs || c.MadeBy != "Argo CD (application shops)" || !strings.Contains(c.Notes[0], "still manages its objects") {
		t.Errorf("%+v", c)
	}
	w = shop(t)
	w.edit(clusterKind.WithKind("Cluster"), "shop", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{fluxKustomization: "shops"}) })
	if err := w.plan("shop", "").Refused(); err == nil || !strings.Contains(err.Error(), "writes its objects, and so does its release") {
		t.Error(err)
	}
}
