package look

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

const (
	// mostOfCluster is how many consoles are read for one cluster, mostOfProject how many
	// consoles and status trees for all clusters of a project together.
	mostOfCluster = 5
	mostOfProject = 40
	// detailsAtOnce is how many of them are read at the same time.
	detailsAtOnce = 8
	// projectsAtOnce is for how many projects.
	projectsAtOnce = 4
)

// detailed is a project with what was read one by one.
type detailed struct {
	// opened is a login to the project, wanted what is to be read with it.
	opened *cloud.Cloud
	wanted cause.Details
	cloud  *cause.Cloud
	// tried are the ids that were asked about.
	tried map[string]bool
	// late is why not all could be read.
	late error
	mu   sync.Mutex
}

// details reads what is worth a call of its own, for all questions about a project together.
// Projects of which nothing is wanted are left out.
func details(ctx context.Context, questions []Question, of []*visit, kept *open) map[*cause.Cloud]*detailed {
	all := map[*cause.Cloud]*detailed{}
	for i, q := range questions {
		v := of[i]
		if q.Closer == nil || kept.of[v.taken] == nil {
			continue
		}
		wanted := q.Closer(v.taken)
		if len(wanted.Consoles)+len(wanted.Balancers)+len(wanted.Shapes) == 0 {
			continue
		}
		if all[v.taken] == nil {
			all[v.taken] = &detailed{opened: kept.of[v.taken], tried: map[string]bool{}}
		}
		all[v.taken].want(wanted)
	}
	each(slices.Collect(maps.Keys(all)), projectsAtOnce, func(taken *cause.Cloud) {
		own := *taken // others read what is shared
		own.Servers, own.Balancers = slices.Clone(taken.Servers), slices.Clone(taken.Balancers)
		all[taken].cloud = own.Indexed()
		all[taken].read(ctx)
		all[taken].late = context.Cause(ctx)
	})
	return all
}

// want adds what one cluster wants, as long as there is room. Load balancers come first,
// because there is one at most.
func (d *detailed) want(w cause.Details) {
	w.Consoles = w.Consoles[:min(len(w.Consoles), mostOfCluster)]
	add := func(to *[]string, ids []string) {
		for _, id := range ids {
			if len(d.tried) < mostOfProject && !d.tried[id] {
				d.tried[id] = true
				*to = append(*to, id)
			}
		}
	}
	add(&d.wanted.Balancers, w.Balancers)
	add(&d.wanted.Consoles, w.Consoles)
	for _, s := range w.Shapes {
		if len(d.wanted.Shapes) < mostOfCluster && !slices.Contains(d.wanted.Shapes, s) {
			d.wanted.Shapes = append(d.wanted.Shapes, s)
		}
	}
}

// without counts the ids that were not asked about.
func (d *detailed) without(ids []string) (n int) {
	for _, id := range ids {
		if !d.tried[id] {
			n++
		}
	}
	return n
}

// read reads all that is wanted. What the cloud does not show is left out.
func (d *detailed) read(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	if len(d.wanted.Consoles) > 0 {
		if client, err := d.opened.Compute(); err == nil {
			each(d.wanted.Consoles, detailsAtOnce, func(id string) {
				text, err := servers.ShowConsoleOutput(ctx, client, id, servers.ShowConsoleOutputOpts{Length: consoleLines}).Extract()
				d.mu.Lock()
				defer d.mu.Unlock()
				if i := slices.IndexFunc(d.cloud.Servers, func(s cause.Server) bool { return s.ID == id }); err == nil && i >= 0 {
					d.cloud.Servers[i].Console = text
				}
			})
		}
	}
	d.rooms(ctx)
	if len(d.wanted.Balancers) > 0 {
		if client, err := d.opened.LoadBalancer(); err == nil {
			each(d.wanted.Balancers, detailsAtOnce, func(id string) {
				tree, err := loadbalancers.GetStatuses(ctx, client, id).Extract()
				d.mu.Lock()
				defer d.mu.Unlock()
				if i := slices.IndexFunc(d.cloud.Balancers, func(b cause.Balancer) bool { return b.ID == id }); err == nil && i >= 0 {
					d.cloud.Balancers[i].Members = members(tree)
				}
			})
		}
	}
}

// members are those of all pools of a load balancer.
func members(tree *loadbalancers.StatusTree) (all []cause.Member) {
	if tree.Loadbalancer == nil {
		return nil
	}
	for _, listener := range tree.Loadbalancer.Listeners {
		for _, pool := range listener.Pools {
			for _, m := range pool.Members {
				all = append(all, cause.Member{Name: m.Name, Address: m.Address, Operating: m.OperatingStatus})
			}
		}
	}
	return all
}
