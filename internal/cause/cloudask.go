package cause

import "slices"

// knows reports whether a list was read.
func (c *Cloud) knows(list string) bool {
	return c != nil && c.Refused == nil && !slices.ContainsFunc(c.Missing, func(u Unseen) bool { return u.What == list })
}

// balancer returns the load balancer with an id, or else with a name.
func (c *Cloud) balancer(id, name string) *Balancer {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Balancers, func(b Balancer) bool { return id != "" && b.ID == id })
	if i < 0 {
		i = slices.IndexFunc(c.Balancers, func(b Balancer) bool { return b.Name == name })
	}
	if i < 0 {
		return nil
	}
	return &c.Balancers[i]
}

// room reports whether a quota is known and has room for so much.
func (c *Cloud) room(resource string, amount int) bool {
	if !c.knows(ListQuotas) {
		return false
	}
	i := slices.IndexFunc(c.Quotas, func(q Quota) bool { return q.Resource == resource })
	return i >= 0 && (c.Quotas[i].Limit < 0 || c.Quotas[i].Used+amount <= c.Quotas[i].Limit)
}
