package cloud

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	balancerquotas "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
)

func volumeQuotas(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	q, err := volumequotas.GetUsage(ctx, client, s.Token.ProjectID).Extract()
	if err == nil {
		s.Quotas = wholeVolumeQuotas(q)
	}
	return err
}

func wholeVolumeQuotas(q volumequotas.QuotaUsageSet) []Quota {
	return []Quota{volumeQuota("volumes", q.Volumes), volumeQuota("gigabytes", q.Gigabytes)}
}

func volumeQuota(name string, u volumequotas.QuotaUsage) Quota {
	return Quota{Volume, name, u.Limit, u.InUse + u.Reserved}
}

// everyVolumeQuota adds the quotas of volume types that have a limit, as Cinder names them:
// volumes_TYPE and gigabytes_TYPE.
func everyVolumeQuota(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	answer := volumequotas.GetUsage(ctx, client, s.Token.ProjectID)
	q, err := answer.Extract()
	if err != nil {
		return err
	}
	var body struct {
		Set map[string]json.RawMessage `json:"quota_set"`
	}
	if err := answer.ExtractInto(&body); err != nil {
		return err
	}
	s.Quotas = wholeVolumeQuotas(q)
	whole := len(s.Quotas)
	for _, name := range slices.Sorted(maps.Keys(body.Set)) {
		if !strings.HasPrefix(name, "volumes_") && !strings.HasPrefix(name, "gigabytes_") {
			continue
		}
		var u volumequotas.QuotaUsage
		if err := json.Unmarshal(body.Set[name], &u); err != nil {
			return err
		}
		if u.Limit >= 0 {
			s.Quotas = append(s.Quotas, volumeQuota(name, u))
		}
	}
	if len(s.Quotas) == whole {
		return nil
	}
	return defaultVolumeType(ctx, client, s)
}

// defaultVolumeType asks for the type of volumes that name none; a cloud may have none, and not tell
// it everybody.
func defaultVolumeType(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	found, err := volumetypes.Get(ctx, client, "default").Extract()
	if err != nil {
		return context.Cause(ctx) // without it, volumes of no type count for no type
	}
	s.DefaultVolumeType = found.Name
	return nil
}

func balancerQuotas(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	q, err := balancerquotas.Get(ctx, client, s.Token.ProjectID).Extract()
	if err == nil {
		s.Quotas = []Quota{{LoadBalancer, balancersQuota, q.Loadbalancer, 0}}
	}
	return err
}

// balancersQuota is the quota whose use is the number of load balancers that are listed.
const balancersQuota = "load_balancers"

// everyBalancerQuota adds the quotas of what load balancers are made of, if they have a limit. Octavia
// does not say how much of them is used, and most clouds have no limit: only then they are counted.
// What cannot be counted is not compared; the quota of load balancers is.
func everyBalancerQuota(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	limit, err := balancerLimits(balancerquotas.Get(ctx, client, s.Token.ProjectID))
	if err != nil {
		return err
	}
	s.Quotas = []Quota{{LoadBalancer, balancersQuota, limit("loadbalancer", "load_balancer"), 0}}
	if most := limit("listener"); most >= 0 {
		counted := Snapshot{Token: s.Token}
		if err := listListeners(ctx, client, &counted); err == nil {
			s.Quotas = append(s.Quotas, Quota{LoadBalancer, "listeners", most, len(counted.Listeners)})
		}
	}
	parts := []Quota{{LoadBalancer, "pools", limit("pool"), 0}, {LoadBalancer, "members", limit("member"), 0},
		{LoadBalancer, "health_monitors", limit("healthmonitor", "health_monitor"), 0}}
	if parts = slices.DeleteFunc(parts, func(q Quota) bool { return q.Limit < 0 }); len(parts) == 0 {
		return context.Cause(ctx)
	}
	used, err := countPools(ctx, client, s.Token.ProjectID)
	if err != nil {
		return context.Cause(ctx)
	}
	for _, part := range parts {
		part.Used = map[string]int{"pools": used.pools, "members": used.members, "health_monitors": used.monitors}[part.Resource]
		s.Quotas = append(s.Quotas, part)
	}
	return nil
}

// balancerLimits are the limits of an answer, by either of a resource's names. What the answer
// leaves out, as services do that only look like Octavia, has no limit: gophercloud reads it as 0.
func balancerLimits(answer balancerquotas.GetResult) (limit func(names ...string) int, err error) {
	var body struct{ Quota map[string]*int }
	err = answer.ExtractInto(&body)
	return func(names ...string) int {
		for _, name := range names {
			if most := body.Quota[name]; most != nil {
				return *most
			}
		}
		return -1
	}, err
}

// poolCount is how many pools there are, and what belongs to them.
type poolCount struct{ pools, members, monitors int }

func countPools(ctx context.Context, client *gophercloud.ServiceClient, project string) (n poolCount, err error) {
	all, err := every(ctx, pools.List(client, pools.ListOpts{ProjectID: project}), pools.ExtractPools, func(p pools.Pool) pools.Pool { return p })
	for _, p := range all {
		n.pools++
		n.members += len(p.Members)
		if p.MonitorID != "" {
			n.monitors++
		}
	}
	return n, err
}
