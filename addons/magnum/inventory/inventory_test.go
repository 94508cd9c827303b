package inventory

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// stocked is an inventory without informers.
func stocked(objects ...any) *Inventory {
	i := newInventory()
	for _, o := range objects {
		i.put(o)
	}
	return i
}

func cluster(name, project string) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(project), Name: name, UID: types.UID("uid-of-" + name),
		ResourceVersion: "7", CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0))}}
	c.Spec.Identity = v1alpha1.Identity{UUID: "00000000-0000-4000-8000-0000000000" + name, ProjectID: project}
	return c
}

// Default groups are there from the cluster's creation to its end, and are the
// same before and after the controllers have written them.
func TestDefaultGroups(t *testing.T) {
	t.Parallel()
	c := cluster("c1", "p")
	i := stocked(c)
	before := i.Clusters("p")[0]
	if len(before.Groups) != 2 || before.Groups[0].Title() != v1alpha1.DefaultMaster || before.Groups[1].Title() != v1alpha1.DefaultWorker {
		t.Fatalf("groups before they are written: %v", before.Groups)
	}
	if before.Phase() != v1alpha1.CreateInProgress || before.Groups[1].EffectivePhase(c) != v1alpha1.CreateInProgress {
		t.Errorf("phases %s, %s", before.Phase(), before.Groups[1].EffectivePhase(c))
	}
	written := before.Groups[1].DeepCopy()
	written.UID, written.ResourceVersion, written.CreationTimestamp = "another", "9", metav1.NewTime(time.Unix(1700000042, 0))
	i.put(written)
	after := i.Clusters("p")[0]
	if len(after.Groups) != 2 || after.Groups[1] != written {
		t.Fatalf("groups when one is written: %v", after.Groups)
	}
	for n, g := range after.Groups {
		old := before.Groups[n]
		if after.GroupID(g) != before.GroupID(old) || after.Created(g) != before.Created(old) || g.UUID() != old.UUID() {
			t.Errorf("%s was %d of %s and is %d of %s", g.Title(), before.GroupID(old), before.Created(old), after.GroupID(g), after.Created(g))
		}
	}
	if id := after.GroupID(after.Groups[0]); id == after.GroupID(after.Groups[1]) {
		t.Errorf("both groups have the id %d", id)
	}
	i.drop(written)
	if left := i.Clusters("p")[0].Groups; len(left) != 2 || left[1].ResourceVersion != "" {
		t.Errorf("groups when the written one is gone: %v", left)
	}
}

func TestCountClusters(t *testing.T) {
	t.Parallel()
	first, second := cluster("c1", "p"), cluster("c2", "p")
	i := stocked(first, second, cluster("c3", "q"))
	i.put(first.DeepCopy()) // a change is no other cluster
	count := func(project string, coming ...string) int {
		uuids := map[string]bool{}
		for _, uuid := range coming {
			uuids[uuid] = true
		}
		return i.CountClusters(project, uuids)
	}
	for name, test := range map[string]struct{ got, want int }{
		"of a project":        {count("p"), 2},
		"of another":          {count("q"), 1},
		"of none":             {count("r"), 0},
		"with one that comes": {count("p", "coming"), 3},
		"one that has come":   {count("p", second.UUID(), "coming"), 3},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", name, test.got, test.want)
		}
	}
	i.drop(first)
	i.drop(second)
	if got := count("p"); got != 0 || i.counts["p"] != 0 || len(i.counts) != 1 {
		t.Errorf("after the deletion: %d, %v", got, i.counts)
	}
}

// Clusters of the same second are in the order of their creation.
func TestOrder(t *testing.T) {
	t.Parallel()
	i := newInventory()
	names := []string{"c3", "c1", "c4", "c2", "c0"}
	for n, name := range names {
		c := cluster(name, "p")
		c.Annotations = map[string]string{v1alpha1.AnnotationCreatedAt: c.CreationTimestamp.Add(time.Duration(n) * time.Millisecond).Format(time.RFC3339Nano)}
		i.put(c)
	}
	for n, v := range i.Clusters("p") {
		if v.Cluster.Name != names[n] {
			t.Errorf("place %d has %s, not %s", n, v.Cluster.Name, names[n])
		}
		if v.ID >= 1<<53 {
			t.Errorf("the id %d has more than 53 bits", v.ID)
		}
	}
	restored := cluster("c9", "p")
	restored.Annotations = map[string]string{v1alpha1.AnnotationFirstCreatedAt: restored.CreationTimestamp.Format(time.RFC3339)}
	restored.CreationTimestamp = metav1.NewTime(restored.CreationTimestamp.AddDate(1, 0, 0))
	if SortID(restored) != SortID(cluster("c9", "p")) {
		t.Error("a cluster that was restored has another place")
	}
	far := cluster("c9", "p")
	far.Annotations = map[string]string{v1alpha1.AnnotationCreatedAt: "2099-01-01T00:00:00Z"}
	if SortID(far) != SortID(cluster("c9", "p")) {
		t.Error("a time far from the API server's is believed")
	}
}
