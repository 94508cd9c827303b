package inventory

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// group is a group of a cluster that is written, and was created after the cluster.
func group(c *v1alpha1.Cluster, name, role string, at time.Duration) *v1alpha1.NodeGroup {
	g := v1alpha1.NewNodeGroup(c, name)
	g.Spec.Role, g.Spec.UUID, g.Spec.NodeCount = role, "uuid-of-"+name, 2
	g.UID, g.CreationTimestamp = "uid", metav1.NewTime(c.CreationTimestamp.Add(at))
	return g
}

// TestGroupsAreInOrder: the default group of the control plane, that of workers, and then others as
// they were created, a further one of the control plane too.
func TestGroupsAreInOrder(t *testing.T) {
	t.Parallel()
	c := cluster("c1", "p")
	master, worker := group(c, v1alpha1.DefaultMaster, v1alpha1.RoleMaster, 4*time.Hour), group(c, v1alpha1.DefaultWorker, v1alpha1.RoleWorker, 3*time.Hour)
	master.Spec.IsDefault, worker.Spec.IsDefault = true, true
	i := stocked(c, worker, master, group(c, "late", v1alpha1.RoleWorker, 2*time.Hour), group(c, "early", v1alpha1.RoleWorker, time.Hour), group(c, "earliest", v1alpha1.RoleMaster, time.Minute))
	v := i.Cluster(client.ObjectKeyFromObject(c))
	var names []string
	for _, g := range v.Groups {
		names = append(names, g.Title())
	}
	if want := []string{v1alpha1.DefaultMaster, v1alpha1.DefaultWorker, "earliest", "early", "late"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if masters, workers := v.Counts(); masters != 2+2 || workers != 2+2+2 {
		t.Errorf("%d of the control plane and %d workers", masters, workers)
	}
	if v.Default(true) != master || v.Default(false) != worker {
		t.Errorf("default groups %v and %v", v.Default(true), v.Default(false))
	}
	others := &View{Cluster: c, Groups: v.Groups[2:]}
	if master, worker := others.Default(true), others.Default(false); master != nil || worker != nil {
		t.Errorf("default groups of none: %v and %v", master, worker)
	}
}

// TestAgesOfGroups: a default group is as old as its cluster, unless it was moved in with an id of
// its own; any other is as old as it is.
func TestAgesOfGroups(t *testing.T) {
	t.Parallel()
	c := cluster("c1", "p")
	v := stocked(c).Cluster(client.ObjectKeyFromObject(c))
	written, moved, other := group(c, v1alpha1.DefaultWorker, v1alpha1.RoleWorker, time.Hour), group(c, v1alpha1.DefaultWorker, v1alpha1.RoleWorker, time.Hour), group(c, "other", v1alpha1.RoleWorker, time.Hour)
	written.Spec.IsDefault, moved.Spec.IsDefault = true, true
	moved.Annotations = map[string]string{v1alpha1.AnnotationFormerID: "42"}
	for name, test := range map[string]struct {
		group   *v1alpha1.NodeGroup
		created metav1.Time
		id      int64
	}{
		"default": {written, c.CreationTimestamp, sortID(c.CreationTimestamp, written.UUID())},
		"moved":   {moved, moved.CreationTimestamp, 42},
		"other":   {other, other.CreationTimestamp, SortID(other)},
	} {
		if created, id := v.Created(test.group), v.GroupID(test.group); created != test.created || id != test.id {
			t.Errorf("%s: %d of %s, want %d of %s", name, id, created, test.id, test.created)
		}
	}
}

// TestTextIsMadeOnce for each form of a view, and anew for the view after a change.
func TestTextIsMadeOnce(t *testing.T) {
	t.Parallel()
	made := 0
	write := func(*View) []byte {
		made++
		return []byte{byte(made)}
	}
	v := &View{}
	for _, form := range []Form{Short, Full} {
		if first, again := v.Text(form, write), v.Text(form, write); !slices.Equal(first, again) {
			t.Errorf("form %d: %v, and then %v", form, first, again)
		}
	}
	if made != 2 {
		t.Errorf("made %d times for two forms", made)
	}
}

// TestObjectsInForeignNamespaces are not served: who may write there must not put anything into
// another project.
func TestObjectsInForeignNamespaces(t *testing.T) {
	t.Parallel()
	c, g, q, tmpl := cluster("c1", "p"), group(cluster("c2", "p"), "other", v1alpha1.RoleWorker, 0), quota("p", 3), template("t-1", "u")
	for _, o := range []metav1.Object{c, g, q, tmpl} {
		o.SetNamespace(v1alpha1.Namespace("q"))
	}
	i := stocked(c, g, q, tmpl)
	if len(i.Clusters("")) != 0 || len(i.groups) != 0 || len(i.Quotas()) != 0 || i.Quota("p") != nil || len(i.Templates()) != 0 {
		t.Errorf("clusters %v, groups %v, quotas %v, templates %v", i.Clusters(""), i.groups, i.Quotas(), i.Templates())
	}
}

func quota(project string, limit int32) *v1alpha1.Quota {
	q := &v1alpha1.Quota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(project), Name: v1alpha1.QuotaName(v1alpha1.ResourceCluster)}}
	q.Spec = v1alpha1.QuotaSpec{ProjectID: project, Resource: v1alpha1.ResourceCluster, HardLimit: limit}
	return q
}

// TestOneQuotaOfAProject: it has the name of its resource; one of another name would be a second.
func TestOneQuotaOfAProject(t *testing.T) {
	t.Parallel()
	second := quota("p", 9)
	second.Name = "mine"
	i := stocked(quota("p", 3), second, quota("q", 5))
	if q := i.Quota("p"); q == nil || q.Spec.HardLimit != 3 || len(i.Quotas()) != 2 {
		t.Errorf("%v of %v", q, i.Quotas())
	}
	foreign := quota("p", 3)
	foreign.Namespace = v1alpha1.Namespace("q")
	i.drop(foreign) // it was never served
	if i.Quota("p") == nil {
		t.Error("a quota is gone with one in another namespace")
	}
	i.drop(toolscache.DeletedFinalStateUnknown{Obj: quota("p", 3)})
	if i.Quota("p") != nil || i.Quota("q") == nil {
		t.Errorf("after one was deleted: %v", i.Quotas())
	}
}

// TestDeletionsAreSeen also by who waits with a version that is no number, and groups of a cluster
// leave nothing behind.
func TestDeletionsAreSeen(t *testing.T) {
	t.Parallel()
	c := cluster("c1", "p")
	first, second := group(c, "first", v1alpha1.RoleWorker, 0), group(c, "second", v1alpha1.RoleWorker, 0)
	first.ResourceVersion = "a"
	i := stocked(c, first, second)
	i.drop(first)
	if !i.Await(t.Context(), first, true, 10*time.Millisecond) {
		t.Error("the deletion of a group is not seen")
	}
	if len(i.groups) != 1 || len(i.Cluster(client.ObjectKeyFromObject(c)).Groups) != 3 {
		t.Errorf("with one of two deleted: %v", i.groups)
	}
	if i.drop(second); len(i.groups) != 0 {
		t.Errorf("with both deleted: %v", i.groups)
	}
}

// TestFoundByNameUnlessThereIsAnUUID, and a list of one project has no other's.
func TestFoundByNameUnlessThereIsAnUUID(t *testing.T) {
	t.Parallel()
	one, other := cluster("c1", "p"), cluster("c2", "q")
	one.Spec.Name, other.Spec.Name = "shop", "shop"
	i := stocked(one, other)
	if byName := i.FindClusters("", "shop"); len(byName) != 2 {
		t.Errorf("%d have the name", len(byName))
	}
	if byUUID := i.FindClusters(one.UUID(), "shop"); len(byUUID) != 1 || byUUID[0].Cluster != one {
		t.Errorf("by uuid: %v", byUUID)
	}
	if of, all := i.Clusters("q"), i.Clusters(""); len(of) != 1 || of[0].Cluster != other || len(all) != 2 {
		t.Errorf("%d of a project, %d of all", len(of), len(all))
	}
}

// TestPlacesOfObjectsWithoutUID: they have one by their names, which does not change, and a time
// as far from the API server's as clocks must not be is not believed.
func TestPlacesOfObjectsWithoutUID(t *testing.T) {
	t.Parallel()
	bare, again, other := cluster("c1", "p"), cluster("c1", "p"), cluster("c2", "p")
	for _, c := range []*v1alpha1.Cluster{bare, again, other} {
		c.UID = ""
	}
	if SortID(bare) != SortID(again) || SortID(bare) == SortID(other) {
		t.Errorf("%d, %d and another %d", SortID(bare), SortID(again), SortID(other))
	}
	if SortID(cluster("c1", "p")) == SortID(bare) {
		t.Error("the uid does not count")
	}
	apart := cluster("c1", "p")
	apart.Annotations = map[string]string{v1alpha1.AnnotationCreatedAt: apart.CreationTimestamp.Add(clocksApart).Format(time.RFC3339Nano)}
	if SortID(apart) != SortID(cluster("c1", "p")) {
		t.Error("a time too far from the API server's is believed")
	}
}
