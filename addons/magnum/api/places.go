package api

import (
	"sync"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// places are the clusters that this replica is creating: each counts toward its project's quota
// before reads have it, so that creations at the same moment cannot exceed a quota and need not
// wait for each other.
type places struct {
	mu sync.Mutex
	// coming has uuids by project.
	coming map[string]map[string]bool
}

// takePlace refuses a cluster above its project's quota; clusters of every status count. The place
// is released when reads have the cluster, or when it could not be created.
func (c *call) takePlace(cluster *v1alpha1.Cluster) (giveBack func(), err error) {
	project, uuid := c.caller.ProjectID, cluster.UUID()
	limit := c.s.o.Quota
	if own := c.s.o.Inventory.Quota(project); own != nil {
		limit = own.Spec.HardLimit
	}
	p := &c.s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if int32(c.s.o.Inventory.CountClusters(project, p.coming[project])) >= limit {
		return nil, forbidden("You have reached the maximum clusters per project, %d. You may delete a cluster to make room for a new one.", limit)
	}
	if p.coming == nil {
		p.coming = map[string]map[string]bool{}
	}
	if p.coming[project] == nil {
		p.coming[project] = map[string]bool{}
	}
	p.coming[project][uuid] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(p.coming[project], uuid); len(p.coming[project]) == 0 {
			delete(p.coming, project)
		}
	}, nil
}
