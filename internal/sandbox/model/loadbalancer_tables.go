package model

import "github.com/slipway-sh/slipway/internal/sandbox/store"

// Offer is a flavor or an availability zone of Octavia; a zone has no ID.
type Offer struct {
	ID          string `json:"id,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	ProfileID   string `json:"profile_id"`
}

// OfferProfile is what a provider makes of an offer; Data is JSON.
type OfferProfile struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	ProviderName string `json:"provider_name"`
	Data         string `json:"data"`
}

// LoadBalancing is the tables of Octavia.
type LoadBalancing struct {
	Balancers    *store.Table[LoadBalancer]
	BalancersOf  *store.Index[LoadBalancer] // by project
	Listeners    *store.Table[Listener]
	ListenersOf  *store.Index[Listener] // by load balancer
	ListenersFor *store.Index[Listener] // by default pool
	Pools        *store.Table[Pool]
	PoolsOf      *store.Index[Pool] // by load balancer
	Members      *store.Table[Member]
	MembersOf    *store.Index[Member] // by pool
	Monitors     *store.Table[HealthMonitor]
	MonitorsOf   *store.Index[HealthMonitor] // by pool

	Flavors        *store.Table[Offer]
	FlavorProfiles *store.Table[OfferProfile]
	Zones          *store.Table[Offer]
	ZoneProfiles   *store.Table[OfferProfile]
}

func newLoadBalancing(s *store.Store) LoadBalancing {
	profileID := func(p OfferProfile) string { return p.ID }
	m := LoadBalancing{
		Balancers:      store.NewTable(s, "loadbalancer.balancers", func(v LoadBalancer) string { return v.ID }),
		Listeners:      store.NewTable(s, "loadbalancer.listeners", func(v Listener) string { return v.ID }),
		Pools:          store.NewTable(s, "loadbalancer.pools", func(v Pool) string { return v.ID }),
		Members:        store.NewTable(s, "loadbalancer.members", func(v Member) string { return v.ID }),
		Monitors:       store.NewTable(s, "loadbalancer.monitors", func(v HealthMonitor) string { return v.ID }),
		Flavors:        store.NewTable(s, "loadbalancer.flavors", func(v Offer) string { return v.ID }),
		FlavorProfiles: store.NewTable(s, "loadbalancer.flavorprofiles", profileID),
		Zones:          store.NewTable(s, "loadbalancer.zones", func(v Offer) string { return v.Name }),
		ZoneProfiles:   store.NewTable(s, "loadbalancer.zoneprofiles", profileID),
	}
	m.BalancersOf = m.Balancers.Index(func(v LoadBalancer) string { return v.ProjectID })
	m.ListenersOf = m.Listeners.Index(func(v Listener) string { return v.LoadBalancerID })
	m.ListenersFor = m.Listeners.IndexEach(func(v Listener) []string {
		if v.DefaultPoolID == nil {
			return nil
		}
		return []string{*v.DefaultPoolID}
	})
	m.PoolsOf = m.Pools.Index(func(v Pool) string { return v.LoadBalancerID })
	m.MembersOf = m.Members.Index(func(v Member) string { return v.PoolID })
	m.MonitorsOf = m.Monitors.Index(func(v HealthMonitor) string { return v.PoolID })
	return m
}
