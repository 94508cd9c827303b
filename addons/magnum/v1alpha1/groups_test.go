package v1alpha1

import "testing"

func TestDefaultGroups(t *testing.T) {
	t.Parallel()
	c := cluster("", 1, 0, false)
	c.Namespace, c.Name = "magnum-p", "shop-abc"
	c.Spec.UUID, c.Spec.ProjectID, c.Spec.MasterCount, c.Spec.FlavorID = "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10", "p", 3, "m1"
	c.Spec.Labels = map[string]string{"min_node_count": "1"}
	c.Spec.Template = &TemplateSnapshot{TemplateValues: TemplateValues{ImageID: "ubuntu"}}
	groups := DefaultGroups(c)
	master, worker := groups[0], groups[1]
	if master.Name != "shop-abc-default-master" || master.Spec.Role != RoleMaster || master.Spec.NodeCount != 3 || !master.Spec.IsDefault {
		t.Errorf("%+v", master)
	}
	if worker.Spec.NodeCount != 1 || worker.Spec.MinNodeCount != 1 || worker.Spec.FlavorID != "m1" || worker.Spec.ImageID != "ubuntu" || worker.Spec.ClusterName != "shop-abc" {
		t.Errorf("%+v", worker)
	}
	if master.Spec.Labels != nil || worker.Spec.Labels != nil || worker.EffectiveLabels(c)["min_node_count"] != "1" {
		t.Errorf("labels %v and %v, want the cluster's without a copy", master.Spec.Labels, worker.Spec.Labels)
	}
	if again := DefaultGroups(c)[0]; again.Spec.UUID != master.Spec.UUID || again.Spec.UUID == worker.Spec.UUID || len(again.Spec.UUID) != 36 {
		t.Errorf("uuids %s %s %s", again.Spec.UUID, master.Spec.UUID, worker.Spec.UUID)
	}
	zero := int32(0)
	c.Spec.NodeCount = &zero
	if worker := DefaultGroups(c)[1]; worker.Spec.NodeCount != 0 || worker.Spec.MinNodeCount != 0 {
		t.Errorf("no workers: %+v", worker.Spec)
	}
}

// TestLeastSizesOfDefaultGroups: what is no size is none, and none is larger than the group.
func TestLeastSizesOfDefaultGroups(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]int32{"": 0, "1": 1, "9": 2, "0": 0, "-3": 0, "some": 0, "99999999999": 0} {
		c, nodes := cluster("", 1, 0, false), int32(2)
		c.Spec.NodeCount, c.Spec.Labels = &nodes, map[string]string{"min_node_count": label}
		if got := DefaultGroups(c)[1].Spec.MinNodeCount; got != want {
			t.Errorf("%q: %d, want %d", label, got, want)
		}
	}
}

// TestUUIDsOfDefaultGroups differ between clusters, and are the same each time.
func TestUUIDsOfDefaultGroups(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, id := range []string{"6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10", "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f11", "no uuid"} {
		c := cluster("", 1, 0, false)
		c.Namespace, c.Name, c.Spec.UUID = "magnum-p", "shop", id
		for _, name := range []string{DefaultMaster, DefaultWorker} {
			if got := GroupUUID(c, name); got != GroupUUID(c, name) || len(got) != 36 || seen[got] {
				t.Errorf("%s of %s: %s", name, id, got)
			}
			seen[GroupUUID(c, name)] = true
		}
	}
}
