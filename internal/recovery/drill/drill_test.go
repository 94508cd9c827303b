package drill_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/kube/throwaway"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/drill"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// sink is where a capture goes.
type sink struct{ *backup.Writer }

func (s sink) Begin(context.Context) error { s.Restart(); return nil }

// taken makes a management cluster with the clusters of a graph, backs it up as an
// operator does, and reads the backup.
func taken(t *testing.T, g *recoverytest.Graph) *snapshot.Snapshot {
	t.Helper()
	server := kubetest.Start(t)
	definitions, err := magnum.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(definitions, addons.Definitions())
	server.Define(t, slices.Collect(maps.Values(definitions))...)
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := recovery.NewPlan(g.Snapshot, recovery.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (restore.Restorer{To: on}).Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	reader, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	r, err := backup.Open(t.Context(), backuptest.NewMemory(time.Now()), backup.Options{Environment: "demo", Key: key, Recipients: []string{reader.Recipient().String()}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read, err := capture.Read(t.Context(), server.Config, capture.Options{}, sink{w})
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Commit(t.Context(), &snapshot.Snapshot{Environment: "demo", Taken: read.Ended, Controllers: g.Snapshot.Controllers, Cloud: g.Snapshot.Cloud})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Read(t.Context(), b.ID, reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// practise runs a drill on a server of its own.
func practise(t *testing.T, s *snapshot.Snapshot) (drill.Result, error) {
	t.Helper()
	server, stop, err := throwaway.Start(t.Context(), filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "bin", "k3s"), t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	return drill.Drill{Snapshot: s, Own: "default/demo"}.Run(t.Context(), on)
}

// changed is a copy of a snapshot with one object changed, or gone where change is nil.
func changed(t *testing.T, s *snapshot.Snapshot, kind, name string, change func(*unstructured.Unstructured)) *snapshot.Snapshot {
	t.Helper()
	copied := *s
	copied.Objects = nil
	found := false
	for _, o := range s.Objects {
		if o.GetKind() == kind && o.GetName() == name {
			found = true
			if change == nil {
				continue
			}
			o = o.DeepCopy()
			change(o)
		}
		copied.Objects = append(copied.Objects, o)
	}
	if !found {
		t.Fatalf("the backup has no %s %s", kind, name)
	}
	return &copied
}

// TestADrillRestoresAndProves: a good backup passes, and of a bad one the object is
// named.
func TestADrillRestoresAndProves(t *testing.T) {
	t.Parallel()
	s := taken(t, recoverytest.New("a", "b"))
	r, err := practise(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil || len(r.Failed()) != 0 {
		t.Errorf("a good backup: %v", err)
	}
	if !slices.Equal(r.Clusters, []string{"a/a", "b/b"}) || len(r.Checks) != 7 || len(r.Parts) != 4 {
		t.Errorf("clusters %v, %d checks, parts %v", r.Clusters, len(r.Checks), r.Parts)
	}
	for _, c := range r.Checks {
		if c.Checked == 0 || c.State != recovery.Passed {
			t.Errorf("%s is %s, %d objects: %v", c.ID, c.State, c.Checked, c.Findings)
		}
	}
	text, err := json.Marshal(r.Parts)
	t.Logf("%d objects in %s, %v", r.Objects, text, err)

	lost, err := practise(t, changed(t, s, "OpenStackMachineTemplate", "a-md", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := lost.Err(); err == nil || !strings.Contains(err.Error(), "a-md") || len(lost.Failed()) == 0 || !strings.Contains(strings.Join(lost.Failed(), ";"), "references: ") {
		t.Errorf("a template is lost: %v, %v", err, lost.Failed())
	}
	wrong := changed(t, s, "Machine", "a-md-1", func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterName")
	})
	if _, err := practise(t, wrong); err == nil || !strings.Contains(err.Error(), "a-md-1") {
		t.Errorf("an object that no API server takes: %v", err)
	}
	// These are seen before a server is asked.
	undefined := drill.Drill{Snapshot: changed(t, s, "CustomResourceDefinition", "machines.cluster.x-k8s.io", nil)}
	if _, err := undefined.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no definition of its kind Machine") {
		t.Errorf("a definition is lost: %v", err)
	}
	if _, err := (drill.Drill{Snapshot: &snapshot.Snapshot{Environment: "demo"}}).Run(t.Context(), nil); err == nil {
		t.Error("an empty backup passes")
	}
}
