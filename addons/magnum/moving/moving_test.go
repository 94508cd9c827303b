package moving

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

const shopProd = "6c9f3a52-5c0e-4b9f-9a5c-000000000001"

// TestPlan has the verdict on everything in the database, and changes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.written()
	p := w.plan()
	got := map[string]Verdict{}
	for _, list := range [][]Item{p.Templates, p.Quotas} {
		for _, i := range list {
			got[i.Name] = i.Verdict
		}
	}
	for _, c := range p.Clusters {
		got[c.Name+" "+c.StackID] = c.Verdict
	}
	want := map[string]Verdict{"k8s-1-34": Adopt, "old": Adopt, "swarm": Refuse, "Cluster": Adopt, "shop-prod " + stack: Adopt,
		"old-heat 7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b": Show, "vex kube-abc12": Show, "twin twin-aaaaaaaaaaaa": Adopt, "twin twin-bbbbbbbbbbbb": Refuse,
		"orphan orphan-cccccccccccc": Refuse, "half ": Refuse}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c := w.find(p, "shop-prod")
	if c.Rolls != 0 || c.Machines != 6 || c.Driver != CAPIHelm || len(c.AtUpgrade) == 0 {
		t.Errorf("%+v", c)
	}
	for name, words := range map[string]string{"half": "never began", "orphan": "project " + gone, "twin": "still working on it (UPDATE_IN_PROGRESS)", "swarm": "coe is swarm"} {
		said := false
		for _, r := range p.Refused() {
			said = said || strings.Contains(r.Object, name) && strings.Contains(r.What, words)
		}
		if !said {
			t.Errorf("of %s nobody says %q: %v", name, words, p.Refused())
		}
	}
	if diff := cmp.Diff(before, w.written()); diff != "" {
		t.Errorf("a plan changed something: %s", diff)
	}
}

// written are the resource versions of all there is.
func (w *world) written() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	note := func(o client.Object, kind string) {
		all[kind+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
	}
	clusters, groups, templates, quotas, secrets := &v1alpha1.ClusterList{}, &v1alpha1.NodeGroupList{}, &v1alpha1.ClusterTemplateList{}, &v1alpha1.QuotaList{}, &corev1.SecretList{}
	for _, list := range []client.ObjectList{clusters, groups, templates, quotas, secrets} {
		if err := w.client.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range clusters.Items {
		note(&clusters.Items[i], "cluster")
	}
	for i := range groups.Items {
		note(&groups.Items[i], "group")
	}
	for i := range templates.Items {
		note(&templates.Items[i], "template")
	}
	for i := range quotas.Items {
		note(&quotas.Items[i], "quota")
	}
	for i := range secrets.Items {
		note(&secrets.Items[i], "secret")
	}
	for _, kind := range []string{"Cluster", "MachineDeployment", "Machine"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(capiKind(kind + "List"))
		if err := w.client.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			note(&list.Items[i], "capi "+kind)
		}
	}
	return all
}

func (w *world) imported() *Plan {
	w.t.Helper()
	p := w.plan()
	if err := p.Import(w.t.Context(), w.site(), func(string, bool) {}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// TestImportAgain: a second import writes nothing, a third only what Magnum changed.
func TestImportAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.imported()
	before := w.written()
	w.imported()
	if diff := cmp.Diff(before, w.written()); diff != "" {
		t.Errorf("the second import wrote: %s", diff)
	}
	w.row(shopProd, func(c *database.Cluster) { c.Name, c.Status = "renamed", "UPDATE_COMPLETE" })
	w.db.Clusters = w.db.Clusters[:3] // the twins and the rest are deleted
	w.imported()
	c := &v1alpha1.Cluster{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack}, c); err != nil {
		t.Fatal(err)
	}
	if c.Spec.Name != "renamed" || c.Status.Phase != "UPDATE_COMPLETE" || c.Status.ObservedGeneration != c.Generation {
		t.Errorf("%+v", c.Status)
	}
	err := w.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(other), Name: "twin-aaaaaaaaaaaa"}, &v1alpha1.Cluster{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the copy of a deleted cluster: %v", err)
	}
}

// TestRefused: nothing of a cluster that is refused is written.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.imported()
	list := &v1alpha1.ClusterList{}
	if err := w.client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range list.Items {
		names = append(names, c.Name)
		if v1alpha1.Held(&c) == "" || len(c.Finalizers) > 0 {
			t.Errorf("%s is not held", c.Name)
		}
	}
	if diff := cmp.Diff([]string{"7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b", stack, "kube-abc12", "twin-aaaaaaaaaaaa"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestHandChanges: what is not as the database says is told by name.
func TestHandChanges(t *testing.T) {
	t.Parallel()
	namespace := v1alpha1.Namespace(shop)
	config := func(w *world) map[string]any { return w.releases[namespace+"/"+stack].Config }
	for name, test := range map[string]struct {
		change func(*world)
		says   string
		rolls  int
	}{
		"release with another size": {func(w *world) { config(w)["controlPlane"].(map[string]any)["machineCount"] = float64(1) }, "controlPlane.machineCount 1, the database 3", 0},
		"release with another flavor": {func(w *world) {
			config(w)["controlPlane"].(map[string]any)["machineFlavor"] = "m1.huge"
		}, "controlPlane.machineFlavor m1.huge, the database m1.medium", 0},
		"release with another key": {func(w *world) { config(w)["machineSSHKeyName"] = "mine" }, "machineSSHKeyName mine", 0},
		"release with a group more": {func(w *world) {
			config(w)["nodeGroups"] = append(config(w)["nodeGroups"].([]any), map[string]any{"name": "more"})
		}, "has a node group more", 0},
		"release without groups": {func(w *world) { config(w)["nodeGroups"] = []any{} }, "no node group gpu-1", 0},
		"release that failed":    {func(w *world) { w.releases[namespace+"/"+stack].Info.Status = helmrelease.StatusFailed }, "failed, not deployed", 0},
		"no release":             {func(w *world) { delete(w.releases, namespace+"/"+stack) }, "no Helm release", 0},
		"scaled by hand":         {func(w *world) { w.scale(stack+"-default-worker", 5) }, "has 5 machines and the database says 2", 3},
		"no machine deployment": {func(w *world) {
			w.object(capiKind("MachineDeployment"), "x", "x", nil, nil)
			w.remove(capiKind("MachineDeployment").Kind, stack+"-gpu-1")
		}, "no MachineDeployment of node group gpu_1", 0},
		"no authority": {func(w *world) {
			if err := w.client.Delete(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stack + "-etcd"}}); err != nil {
				w.t.Fatal(err)
			}
		}, "Secret " + stack + "-etcd is missing", 0},
		"rotated authority": {func(w *world) {
			w.row(shopProd, func(c *database.Cluster) { c.CARef = "5a1b1f4f-6a2f-4c10-8000-000000000001" })
			w.put(namespace, stack+"-ca", "tls.crt", w.db.KeyPairs["5a1b1f4f-6a2f-4c10-8000-000000000002"].Certificate)
		}, "another authority than the cluster trusts", 0},
		"no credential":            {func(w *world) { w.put(namespace, stack+"-cloud-credentials", "clouds.yaml", "{") }, "names no application credential", 0},
		"half-copied: no template": {func(w *world) { w.db.Templates = w.db.Templates[1:] }, "its template 0b7a9e0c-0d3c-4a51-8a41-000000000001 is missing", 0},
		"half-copied: no groups":   {func(w *world) { w.db.Groups = nil }, "its node group default-master is missing", 3},
		"an even control plane": {func(w *world) {
			for i := range w.db.Groups {
				if g := &w.db.Groups[i]; g.ClusterID == shopProd && g.Name == v1alpha1.DefaultMaster {
					g.NodeCount = 2
				}
			}
		}, "its control plane default-master has 2 machines, and Slipway takes odd numbers only", 1},
		"same stack": {func(w *world) {
			w.row("6c9f3a52-5c0e-4b9f-9a5c-000000000007", func(c *database.Cluster) { c.StackID = stack })
		}, "2 clusters have its stack id", 0},
		"same uuid": {func(w *world) {
			w.row("6c9f3a52-5c0e-4b9f-9a5c-000000000007", func(c *database.Cluster) { c.UUID = shopProd })
		}, "2 clusters have its UUID", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			test.change(w)
			p := w.plan()
			c := p.Find(shopProd)[0]
			said := false
			for _, problem := range c.Problems {
				said = said || strings.Contains(problem.What, test.says) && problem.Remedy != ""
			}
			if !said || c.Verdict != Refuse || c.Rolls != test.rolls {
				t.Errorf("%s, %d machines: %v", c.Verdict, c.Rolls, c.Problems)
			}
		})
	}
}

func (w *world) scale(deployment string, size int64) {
	w.t.Helper()
	o, err := w.site().object(w.t.Context(), capiKind("MachineDeployment"), v1alpha1.Namespace(shop), deployment)
	if err != nil || o == nil {
		w.t.Fatal(err)
	}
	o.Object["spec"] = map[string]any{"replicas": size}
	if err := w.client.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(kind, name string) {
	w.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(capiKind(kind))
	o.SetNamespace(v1alpha1.Namespace(shop))
	o.SetName(name)
	if err := w.client.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(namespace, secret, key, value string) {
	w.t.Helper()
	o := &corev1.Secret{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: secret}, o); err != nil {
		w.t.Fatal(err)
	}
	o.Data[key] = []byte(value)
	if err := w.client.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// TestInterrupted: whichever write of an import fails, what is there is held, and
// the next import completes it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for lost := 1; lost <= 12; lost++ {
		w := newWorld(t)
		whole, n := w.client, 0
		fail := func() error {
			if n++; n == lost {
				return errors.New("the server is gone")
			}
			return nil
		}
		w.client = interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.SubResource(sub).Update(ctx, o, opts...)
			}})
		if err := w.plan().Import(t.Context(), w.site(), func(string, bool) {}); err == nil {
			t.Fatalf("the loss of write %d went unnoticed", lost)
		}
		w.client = whole
		w.imported()
		before := w.written()
		w.imported()
		if diff := cmp.Diff(before, w.written()); diff != "" {
			t.Errorf("after the loss of write %d: %s", lost, diff)
		}
	}
}

// TestAdopt: the hold goes, the generation stays, and what was adopted is
// left alone by later imports.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.imported()
	canary := w.find(p, "shop-prod")
	if err := p.AdoptOne(t.Context(), w.site(), canary, func(string, bool) {}); err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.Cluster{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack}, c); err != nil {
		t.Fatal(err)
	}
	if v1alpha1.Held(c) != "" || len(c.Finalizers) != 1 || c.Generation != c.Status.ObservedGeneration || !c.Status.Release.Foreign {
		t.Errorf("%+v", c)
	}
	w.row(shopProd, func(c *database.Cluster) { c.Name = "changed in Magnum" })
	p = w.imported()
	if canary = w.find(p, shopProd); canary.Verdict != Ours {
		t.Errorf("verdict %s", canary.Verdict)
	}
	if err := p.Adopt(t.Context(), w.site(), func(string, bool) {}); err != nil {
		t.Fatal(err)
	}
	list := &v1alpha1.ClusterList{}
	if err := w.client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, c := range list.Items {
		held[c.Spec.Name] = v1alpha1.Held(&c)
	}
	if diff := cmp.Diff(map[string]string{"shop-prod": "", "twin": "", "old-heat": "heat", "vex": "magnum-cluster-api"}, held); diff != "" {
		t.Error(diff)
	}
	before := w.written()
	p = w.imported()
	if err := p.Adopt(t.Context(), w.site(), func(string, bool) {}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, w.written()); diff != "" {
		t.Errorf("adopting twice wrote: %s", diff)
	}
}

type noStore struct{}

func (noStore) Pair(context.Context, string) (database.KeyPair, error) {
	return database.KeyPair{}, errors.New("connection refused")
}

// TestStoreDoesNotAnswer: only the clusters that need it are left out.
func TestStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store = noStore{}
	p := w.plan()
	c := w.find(p, "old-heat")
	if c.Verdict != Refuse || !strings.Contains(c.Problems[0].What, "connection refused") {
		t.Errorf("%s %v", c.Verdict, c.Problems)
	}
	if w.find(p, "shop-prod").Verdict != Adopt {
		t.Error("a cluster that does not need the store is left out")
	}
}
