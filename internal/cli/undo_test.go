package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
)

// controllersOf are controllers of a version, as slipway up applies them; nobody runs them.
func controllersOf(version, more string) string {
	return strings.NewReplacer("VERSION", version).Replace(`
apiVersion: v1
kind: Namespace
metadata: {name: capi-system, labels: {provider: cluster-api}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: capi-controller-manager, namespace: capi-system}
spec:
  replicas: 0
  selector: {matchLabels: {app: capi}}
  template:
    metadata: {labels: {app: capi}}
    spec: {containers: [{name: manager, image: "registry.k8s.io/capi:VERSION"}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: capi-manager}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`) + more
}

// clusterDefinition is that of Cluster API's Cluster, as far as an undo looks at it.
const clusterDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {kind: Cluster, plural: clusters, singular: cluster, listKind: ClusterList}
  versions:
  - name: v1beta2
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

// undoData is what undo prints.
type undoData struct {
	Backup                         string
	Nothing                        bool
	Clusters, Busy, Made, Restored []string
	CannotBeUndone                 []string
	Undone                         time.Time
	Controllers                    struct {
		Versions []struct{ Deployment, From, To string }
		Removed  []string
	}
	Parts []struct{ Name string }
}

// undoWorld is an environment whose management cluster is a real API server, with a backup
// from before an upgrade.
type undoWorld struct {
	*testing.T
	file string
	on   *kube.Cluster
	id   string
}

func newUndoWorld(t *testing.T) undoWorld {
	server := kubetest.Start(t)
	_, file := project(t)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(key, []byte(identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLIPWAY_AGE_KEY_FILE", key)
	upToTheSeed(t, file)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "  managementCluster: {controlPlane: {count: 3}, image: debian}\n  backup: {target: file://./backups, recipients: ["+identity.Recipient().String()+"]}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	withManagement(t, file, server.Kubeconfig)
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	w := undoWorld{t, file, on, ""}
	server.Serve(t, []byte(clusterDefinition))
	return w
}

func (w undoWorld) apply(text string) {
	w.Helper()
	if err := w.on.Apply(w.Context(), []byte(text)); err != nil {
		w.Fatal(err)
	}
}

// image is that of the controller now.
func (w undoWorld) image() string {
	w.Helper()
	d, err := w.on.Typed.AppsV1().Deployments("capi-system").Get(w.Context(), "capi-controller-manager", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

// refused wants an undo to be refused with these words, and nothing changed.
func (w undoWorld) refused(words string) {
	w.Helper()
	if code, stdout, stderr := run(w.Context(), "undo", "--yes", "-f", w.file); code != fault.ExitUsage || !strings.Contains(stderr, words) {
		w.Errorf("exit code %d, not because of %q\n%s%s", code, words, stdout, stderr)
	}
}

func (w undoWorld) cluster() (*unstructured.Unstructured, error) {
	kind := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	return w.on.Dynamic.Resource(kind).Namespace("shop").Get(w.Context(), "shop", metav1.GetOptions{})
}

// TestAnUpgradeIsUndone: by the command, from the backup before it, with a tenant's cluster
// that is paused meanwhile; killed in the middle, the next run goes on.
func TestAnUpgradeIsUndone(t *testing.T) {
	w := newUndoWorld(t)
	w.refused("no slipway up has changed controllers")
	w.apply(controllersOf("v1.12.2", ""))
	w.id = data[struct{ ID string }](t, "backup", "create", "-f", w.file, "-o", "json").ID
	if _, err := w.on.Typed.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	point := undo.Point{Backup: w.id, Taken: now, Until: now.Add(-time.Minute), Complete: now}
	for _, p := range []struct {
		point undo.Point
		words string
	}{{point, "the window is over"}, {undo.Point{}, "without a backup"}} {
		if err := undo.WritePoint(t.Context(), w.on, p.point); err != nil {
			t.Fatal(err)
		}
		w.refused(p.words)
	}
	point.Until = now.Add(time.Hour)
	if err := undo.WritePoint(t.Context(), w.on, point); err != nil {
		t.Fatal(err)
	}
	if got := data[undoData](t, "undo", "--yes", "-f", w.file, "-o", "json"); !got.Nothing || len(got.Parts) > 0 {
		t.Errorf("nothing was changed: %+v", got)
	}
	w.apply(controllersOf("v1.13.0", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: brought, namespace: capi-system}\ndata: {a: b}\n"))
	// A cluster that was made since, of which the cloud cannot be asked: it has no login.
	w.apply("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: shop, namespace: shop}\nspec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: shop}}\n")
	w.foreseen()
	w.looksFirst()
	w.endsInTheMiddle()
	got := data[undoData](t, "undo", "--yes", "-f", w.file, "-o", "json")
	if got.Undone.IsZero() || len(got.Parts) == 0 || w.image() != "registry.k8s.io/capi:v1.12.2" {
		t.Errorf("undone: %+v; the controller is %s", got, w.image())
	}
	w.pinned(false)
	if _, err := w.on.Typed.CoreV1().ConfigMaps("capi-system").Get(t.Context(), "brought", metav1.GetOptions{}); !kube.Absent(err) {
		t.Errorf("what came with the upgrade: %v", err)
	}
	if o, err := w.cluster(); err != nil || len(o.GetAnnotations()) > 0 || o.Object["spec"].(map[string]any)["paused"] != nil {
		t.Errorf("the tenant's cluster is %v, %v", o, err)
	}
	if again := data[undoData](t, "undo", "--yes", "-f", w.file, "-o", "json"); !again.Undone.Equal(got.Undone) || len(again.Parts) > 0 {
		t.Errorf("once more: %+v", again)
	}
}

// foreseen wants a plan to say what it replaces: the seed does not answer, so that all of
// the management cluster may be; of the tenant's cluster nothing is.
func (w undoWorld) foreseen() {
	w.Helper()
	plan := data[struct {
		Changes  []any
		Forecast struct {
			Clusters []struct {
				Name, Reason       string
				Management, AtMost bool
				Machines, Replaced int
				Kubernetes, Image  *struct{ From, To string }
			}
			Surge    []struct{ Need, Left int }
			Duration struct{ Basis string }
			Unknown  []string
		}
	}](w.T, "plan", "-f", w.file, "--skip-check", "bundle", "-o", "json")
	f := plan.Forecast
	if len(plan.Changes) == 0 || len(f.Clusters) != 2 || len(f.Unknown) != 1 || len(f.Surge) == 0 || !strings.Contains(f.Duration.Basis, "an estimate") {
		w.Fatalf("%d changes, forecast %+v", len(plan.Changes), f)
	}
	if own := f.Clusters[0]; !own.Management || !own.AtMost || own.Machines != 3 || own.Replaced != 3 || own.Image == nil {
		w.Errorf("the management cluster: %+v", own)
	}
	if shop := f.Clusters[1]; shop.Name != "shop/shop" || shop.Replaced != 0 || !strings.Contains(shop.Reason, "until their owner upgrades them") {
		w.Errorf("the tenant's cluster: %+v", shop)
	}
}

// looksFirst wants the dry run, and an answer that is no, to tell all and change nothing.
func (w undoWorld) looksFirst() {
	w.Helper()
	dry := data[undoData](w.T, "undo", "--dry-run", "-f", w.file, "-o", "json")
	if dry.Backup != w.id || len(dry.Controllers.Versions) != 1 || dry.Controllers.Versions[0].From != "v1.13.0" || dry.Controllers.Versions[0].To != "v1.12.2" ||
		strings.Join(dry.Controllers.Removed, ",") != "ConfigMap capi-system/brought" || strings.Join(dry.Clusters, ",") != "shop/shop" || strings.Join(dry.Busy, ",") != "shop/shop" || strings.Join(dry.Made, ",") != "shop/shop" {
		w.Errorf("the dry run: %+v", dry)
	}
	code, _, stderr := run(w.Context(), "undo", "-f", w.file)
	for _, words := range []string{"take capi-system/capi-controller-manager from v1.13.0 to v1.12.2", "cannot be undone:", "the management cluster's machines and their image stay", "clusters that were made since stay: shop/shop", "not confirmed"} {
		if code != fault.ExitUsage || !strings.Contains(stderr, words) {
			w.Errorf("unconfirmed: exit code %d, no %q in\n%s", code, words, stderr)
		}
	}
	if p, err := undo.ReadPoint(w.Context(), w.on); err != nil || !p.Undoing.IsZero() || w.image() != "registry.k8s.io/capi:v1.13.0" {
		w.Errorf("it began: %+v, %v, %s", p, err, w.image())
	}
}

// endsInTheMiddle interrupts an undo when the cluster is paused.
func (w undoWorld) endsInTheMiddle() {
	w.Helper()
	ctx, interrupt := context.WithCancelCause(w.Context())
	defer interrupt(nil)
	go func() {
		for ctx.Err() == nil {
			if o, err := w.cluster(); err == nil && o.Object["spec"].(map[string]any)["paused"] == true {
				interrupt(fault.ErrInterrupted)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if code, stdout, stderr := run(ctx, "undo", "--yes", "-f", w.file); code != fault.ExitInterrupted {
		w.Errorf("interrupted: exit code %d\n%s%s", code, stdout, stderr)
	}
	if p, err := undo.ReadPoint(w.Context(), w.on); err != nil || p.Undoing.IsZero() || !p.Undone.IsZero() {
		w.Errorf("the record is %+v, %v", p, err)
	}
	w.pinned(true)
}

// pinned wants the backup to be kept from prune, or not any more.
func (w undoWorld) pinned(want bool) {
	w.Helper()
	pin := filepath.Join(filepath.Dir(w.file), "backups", "pins", w.id)
	_, err := os.Stat(pin)
	_, over := os.Stat(pin + ".done")
	if err != nil || (over != nil) != want {
		w.Errorf("the pin: %v, its end: %v", err, over)
	}
}
