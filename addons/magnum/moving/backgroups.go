package moving

import (
	"fmt"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// groupsOf judges the node groups of a cluster. Rows that go are first: their names may
// be used again.
func (j *returning) groupsOf(u *unit, o *v1alpha1.Cluster, then *record, was map[string]*database.NodeGroup, l *look) {
	base, seen, rows := map[string]*database.NodeGroup{}, map[string]bool{}, map[string]*database.NodeGroup{}
	if then != nil {
		for n := range then.Groups {
			base[then.Groups[n].UUID] = &then.Groups[n]
		}
	}
	for _, g := range u.groups {
		seen[g.UUID()] = g.DeletionTimestamp == nil
	}
	changes := u.work.Changes
	u.work.Changes = nil
	for n := range j.image.Groups {
		switch g := &j.image.Groups[n]; {
		case g.ClusterID != o.UUID():
		case seen[g.UUID]:
			rows[g.UUID] = g
		default:
			j.removedGroup(u, o, base[g.UUID], g)
		}
	}
	u.work.Changes = append(u.work.Changes, changes...)
	for _, g := range u.groups {
		if !seen[g.UUID()] {
			continue // it is going, and its cluster is in progress
		}
		part := &Returned{Kind: KindGroup, Cluster: u.Name, Item: Item{UUID: g.UUID(), Name: g.Title(), ProjectID: u.ProjectID, Verdict: Unchanged}}
		u.parts = append(u.parts, part)
		j.sized(part, o, g, l)
		if row := rows[g.UUID()]; row != nil {
			outcome(j, u, part, "nodegroup", row.ID, database.GroupColumns(), database.Versions[database.NodeGroup]{Then: base[g.UUID()], Now: row, Was: was[g.UUID()], Is: rowOfGroup(g, o)})
			continue
		}
		if base[g.UUID()] != nil && !j.mine(u, o) {
			part.problem("Magnum deleted its row since it was moved in", "delete it in Slipway, or have the row made again with --overwrite "+handle(u.Item))
		}
		inserted(j, u, part, "nodegroup", database.GroupColumns(), rowOfGroup(g, o), g)
	}
}

// mine reports whether Slipway's state of a cluster wins, whatever Magnum has.
func (j *returning) mine(u *unit, o *v1alpha1.Cluster) bool {
	return v1alpha1.Held(o) == v1alpha1.HeldByHandBack || j.overwrites(u.Item)
}

// removedGroup is a row of a group that Slipway does not have.
func (j *returning) removedGroup(u *unit, o *v1alpha1.Cluster, then, row *database.NodeGroup) {
	part := &Returned{Kind: KindGroup, Cluster: u.Name, Item: Item{UUID: row.UUID, Name: row.Name, ProjectID: u.ProjectID, Verdict: Delete}}
	u.parts = append(u.parts, part)
	switch {
	case j.mine(u, o):
	case then == nil:
		part.problem("somebody made it in Magnum since the cluster was moved in", "delete it in Magnum, or have the row deleted with --overwrite "+handle(u.Item))
	default:
		undisturbed(u, part, database.GroupColumns(), then, row)
	}
	u.delete("nodegroup", row.ID)
}

// sized compares what Magnum will want with what there is: a difference would be
// machines that its driver makes or deletes.
func (j *returning) sized(part *Returned, o *v1alpha1.Cluster, g *v1alpha1.NodeGroup, l *look) {
	has, what := l.deployments[v1alpha1.Sanitise(g.Title())], "MachineDeployment"
	if g.Spec.Role == v1alpha1.RoleMaster {
		has, what = l.plane, "control plane"
	}
	switch {
	case has == nil:
		part.problem("Cluster API has no "+what+" of it", "see slipway why "+o.Namespace+"/"+o.Stack())
	case driver.Autoscaled(o, g, j.site.Defaults): // the size is the autoscaler's
	case replicas(has) != int64(g.Spec.NodeCount):
		part.problem(fmt.Sprintf("its %s has %d machines, and it is to have %d", what, replicas(has), g.Spec.NodeCount), "wait until Slipway has resized it, and run the command again")
	}
}
