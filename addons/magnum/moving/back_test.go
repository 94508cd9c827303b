package moving

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// server is Magnum's database in memory.
type server struct {
	image        *database.Image
	transactions int
	// before is asked before a transaction.
	before func() error
}

func (s *server) Read(context.Context) (*database.Image, error) { return s.image, nil }

func (s *server) Apply(_ context.Context, read *database.Image, work database.Work) error {
	if s.before != nil {
		if err := s.before(); err != nil {
			return err
		}
	}
	next, err := read.After(s.image, work)
	if err != nil {
		return err
	}
	s.image, s.transactions = next, s.transactions+1
	return nil
}

// adopted is a world whose database Slipway took over.
func adopted(t *testing.T, dump string) (*world, *server) {
	t.Helper()
	w := newWorld(t)
	text, err := os.ReadFile(filepath.Join("database", "testdata", dump))
	if err != nil {
		t.Fatal(err)
	}
	image, err := database.ParseImage(dump, string(text))
	if err != nil {
		t.Fatal(err)
	}
	w.db = image.Database
	if err := w.imported().Adopt(t.Context(), w.site(), func(string, bool) {}); err != nil {
		t.Fatal(err)
	}
	return w, &server{image: image}
}

const newestDump = "mariadb-b3e1cf4a2d5e.sql"

func (w *world) back(s *server, c Choices) *HandBack {
	w.t.Helper()
	plan, err := NewHandBack(w.t.Context(), s, w.site(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

func (w *world) handBack(s *server, c Choices) *HandBack {
	w.t.Helper()
	plan := w.back(s, c)
	if refused := plan.Refused(); len(refused) > 0 {
		w.t.Fatalf("refused: %+v", refused)
	}
	if err := plan.Run(w.t.Context(), s, w.site(), func(string, bool) {}); err != nil {
		w.t.Fatal(err)
	}
	return plan
}

func (w *world) cluster(name string) *v1alpha1.Cluster {
	w.t.Helper()
	o := &v1alpha1.Cluster{}
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: name}, o))
	return o
}

func (w *world) group(name string) *v1alpha1.NodeGroup {
	w.t.Helper()
	o := &v1alpha1.NodeGroup{}
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack + "-" + name}, o))
	return o
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) update(o client.Object) { w.t.Helper(); w.must(w.client.Update(w.t.Context(), o)) }

// machines are the resource versions of all that is not Slipway's own resource.
func (w *world) machines() map[string]string {
	all := w.written()
	for key := range all {
		if !strings.HasPrefix(key, "capi ") && !strings.HasPrefix(key, "secret ") {
			delete(all, key)
		}
	}
	return all
}

func item(h *HandBack, kind, name string) *Returned {
	for _, i := range h.Items {
		if i.Kind == kind && i.Name == name {
			return i
		}
	}
	return &Returned{}
}

func row(d *database.Database, uuid string) database.Cluster {
	return d.Clusters[slices.IndexFunc(d.Clusters, func(c database.Cluster) bool { return c.UUID == uuid })]
}

func groupRow(d *database.Database, cluster, name string) *database.NodeGroup {
	for n := range d.Groups {
		if g := &d.Groups[n]; g.ClusterID == cluster && g.Name == name {
			return g
		}
	}
	return nil
}

// TestHandBackUnchanged: of what nobody changed no row is written, in any schema, and
// the resources are copies again, which the next import takes as such.
func TestHandBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, dump := range []string{"mariadb-7da8489d6a68.sql", "mariadb-c0f832afc4fd.sql", "mariadb-d7e6a4d39fe4.sql", newestDump, "postgresql-b3e1cf4a2d5e.sql"} {
		t.Run(dump, func(t *testing.T) {
			t.Parallel()
			w, s := adopted(t, dump)
			before, rows := w.machines(), s.image.Database
			plan := w.handBack(s, Choices{})
			for kind, name := range map[string]string{KindCluster: "shop-prod", KindGroup: "gpu_1", KindTemplate: "old", KindQuota: "Cluster", KindCertificate: stack + "-ca"} {
				if i := item(plan, kind, name); i.Verdict != Unchanged {
					t.Errorf("%s %s: %+v", kind, name, i)
				}
			}
			for _, name := range []string{"half", "old-heat", "vex"} {
				if i := item(plan, KindCluster, name); i.Verdict != Magnums {
					t.Errorf("%s: %+v", name, i)
				}
			}
			if diff := cmp.Diff(rows, s.image.Database); diff != "" || s.transactions != 0 {
				t.Errorf("%d transactions: %s", s.transactions, diff)
			}
			if diff := cmp.Diff(before, w.machines()); diff != "" {
				t.Errorf("the hand-back wrote: %s", diff)
			}
			c := w.cluster(stack)
			if v1alpha1.Held(c) != v1alpha1.HeldByMagnum || len(c.Finalizers) > 0 || len(w.group("gpu-1").Finalizers) > 0 {
				t.Errorf("%v %v", c.Annotations, c.Finalizers)
			}
			if again := w.handBack(s, Choices{}); again.Pending() != 0 {
				t.Errorf("%d are handed back a second time", again.Pending())
			}
			if found := w.find(w.plan(), "shop-prod"); found.Verdict != Adopt || found.Rolls != 0 {
				t.Errorf("the next import: %+v", found)
			}
			records, err := w.site().records(t.Context())
			if err != nil || len(records) != 0 {
				t.Errorf("%d records are left, %v", len(records), err)
			}
		})
	}
}

// change does with Slipway what its users do.
func (w *world) change() {
	w.t.Helper()
	worker := w.group("default-worker")
	worker.Spec.NodeCount, worker.Spec.MinNodeCount = 4, 2
	w.update(worker)
	w.replicas("default-worker", 4)
	w.must(w.client.Delete(w.t.Context(), w.group("gpu-1")))
	if gpu := w.group("gpu-1"); gpu.DeletionTimestamp != nil {
		gpu.Finalizers = nil
		w.update(gpu)
	}
	c := w.cluster(stack)
	added := v1alpha1.NewNodeGroup(c, "batch")
	added.Spec.UUID, added.Spec.NodeCount, added.Spec.FlavorID, added.Spec.Role = "c6b1d7a4-0f0e-4a80-9d0b-0000000000bb", 2, "c1.xlarge", "batch"
	added.Spec.NodeLabels = map[string]string{"a": "b"}
	added.Status.Phase = v1alpha1.UpdateComplete
	added.Status.ObservedGeneration = 1
	status := added.Status
	w.create(added)
	added.Status = status
	w.must(w.client.Status().Update(w.t.Context(), added))
	w.object(capiKind("MachineDeployment"), c.Namespace, stack+"-batch", map[string]any{"replicas": int64(2)}, map[string]string{"capi.stackhpc.com/cluster": stack, "capi.stackhpc.com/node-group": "batch"})
	c.Status.Phase, c.Status.COEVersion = v1alpha1.UpdateComplete, "v1.34.2"
	w.must(w.client.Status().Update(w.t.Context(), c))
	t := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "0b7a9e0c-0d3c-4a51-8a41-0000000000aa"}}
	t.Spec = v1alpha1.ClusterTemplateSpec{Identity: v1alpha1.Identity{UUID: t.Name, Name: "new", ProjectID: shop, UserID: "u"},
		TemplateValues: v1alpha1.TemplateValues{COE: "kubernetes", ImageID: "i", ClusterDistro: "ubuntu", DNSNameservers: []string{"192.0.2.1", "192.0.2.2"}}, Tags: "x"}
	w.create(t)
	w.must(w.client.Delete(w.t.Context(), &v1alpha1.Quota{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "cluster"}}))
}

func (w *world) replicas(group string, n int64) {
	w.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(capiKind("MachineDeployment"))
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack + "-" + group}, o))
	w.must(unstructured.SetNestedField(o.Object, n, "spec", "replicas"))
	w.update(o)
}

// changed checks the rows after change.
func changed(t *testing.T, d *database.Database) {
	t.Helper()
	worker, batch := groupRow(d, shopProd, "default-worker"), groupRow(d, shopProd, "batch")
	if worker.NodeCount != 4 || worker.MinNodeCount != 2 || *worker.MaxNodeCount != 5 || worker.UUID != "c6b1d7a4-0f0e-4a80-9d0b-000000000011" || worker.ID != 18 {
		t.Errorf("%+v", worker)
	}
	if groupRow(d, shopProd, "gpu_1") != nil || batch == nil || batch.NodeCount != 2 || batch.StackID != stack || batch.NodeLabels["a"] != "b" || batch.Status != "UPDATE_COMPLETE" ||
		batch.ImageID != "ubuntu-kube-v1.34.2" || batch.Role != "batch" || batch.Labels["boot_volume_size"] != "40" {
		t.Errorf("%+v", batch)
	}
	c := row(d, shopProd)
	if c.Status != "UPDATE_COMPLETE" || c.TemplateID == "" || c.CARef != "http://barbican/v1/containers/1" || c.Name != "shop-prod" || c.ID != 17 {
		t.Errorf("%+v", c)
	}
	at := slices.IndexFunc(d.Templates, func(t database.Template) bool { return t.Name == "new" })
	if at < 0 || d.Templates[at].DNSNameserver != "192.0.2.1,192.0.2.2" || d.Templates[at].Driver != helmDriver || d.Templates[at].Created == nil {
		t.Errorf("%d: %+v", at, d.Templates)
	}
	if len(d.Quotas) != 0 || len(d.Clusters) != 7 {
		t.Errorf("%+v, %d clusters", d.Quotas, len(d.Clusters))
	}
}

// TestHandBack: what users changed is in Magnum's rows, one transaction for the
// cluster; a second run writes nothing.
func TestHandBack(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	w.change()
	before := w.machines()
	plan := w.handBack(s, Choices{})
	want := map[string]Verdict{"template new": Create, "quota Cluster": Delete, "cluster shop-prod": Write, "node group default-worker": Write, "node group gpu_1": Delete,
		"node group batch": Create, "credential " + stack + "-cloud-credentials": Unchanged, "template k8s-1-34": Unchanged, "node group default-master": Unchanged}
	for key, verdict := range want {
		found := false
		for _, i := range plan.Items {
			if i.Kind+" "+i.Name == key && (i.Cluster == "" || i.Cluster == "shop-prod") {
				found = true
				if i.Verdict != verdict {
					t.Errorf("%s: %s", key, i.Verdict)
				}
			}
		}
		if !found {
			t.Errorf("nothing is said of %s", key)
		}
	}
	changed(t, s.image.Database)
	if s.transactions != 3 { // the template, the quota, the cluster
		t.Errorf("%d transactions", s.transactions)
	}
	if diff := cmp.Diff(before, w.machines()); diff != "" {
		t.Errorf("the hand-back wrote: %s", diff)
	}
	if again := w.handBack(s, Choices{}); again.Pending() != 0 || s.transactions != 3 {
		t.Errorf("a second run wrote: %d pending, %d transactions", again.Pending(), s.transactions)
	}
}

// TestHandBackKilled: interrupted before any of its writes, the next run completes it,
// and the rows are the same. An import in between writes over nothing. Every third write
// is enough where there is little time.
func TestHandBackKilled(t *testing.T) {
	t.Parallel()
	killed, step := errors.New("killed"), 3
	if os.Getenv("SLIPWAY_PROOFS") != "" {
		step = 1
	}
	for at := 2; ; at += step {
		w, s := adopted(t, newestDump)
		w.change()
		writes, real := 0, w.client
		die := func() error {
			if writes++; writes >= at {
				return killed
			}
			return nil
		}
		s.before = die
		w.client = interceptor.NewClient(real.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := die(); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := die(); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			}})
		err := w.back(s, Choices{}).Run(t.Context(), s, w.site(), func(string, bool) {})
		w.client, s.before, w.db = real, nil, s.image.Database
		if err == nil {
			if at < 15 {
				t.Errorf("only %d writes", at)
			}
			changed(t, s.image.Database)
			return
		}
		if !errors.Is(err, killed) {
			t.Fatalf("at %d: %v", at, err)
		}
		p := w.imported() // of what is on its way nothing is copied
		if c := w.find(p, "shop-prod"); v1alpha1.Held(w.cluster(stack)) == v1alpha1.HeldByHandBack && (c.Verdict != Refuse || !strings.Contains(c.Problems[0].What, "begun and not completed")) {
			t.Errorf("at %d, an import: %+v", at, c.Item)
		}
		w.handBack(s, Choices{})
		changed(t, s.image.Database)
		if t.Failed() {
			t.Fatalf("killed at write %d", at)
		}
	}
}
