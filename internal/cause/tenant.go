package cause

import (
	"regexp"
	"strings"
)

// Identifiers that may belong to somebody else: UUIDs, ids of projects, addresses of
// endpoints that only the management cluster uses.
var (
	foreignID  = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`)
	nameServer = regexp.MustCompile(`(lookup \S+) on \S+:53`)
	foreignURL = regexp.MustCompile(`https?://[^\s"'\])]+`)
)

// ForTenant is the cause as a tenant may read it, object and words: without ids that are
// not of the tenant's own project, without addresses of endpoints, and without details of
// what only the operator can see and fix.
func (f Finding) ForTenant(c *Cloud) (object, words string) {
	if f.rule != nil && f.rule.Operator {
		return "the service", "its operator must fix a problem: " + strings.TrimSuffix(f.rule.Meaning, ".") + " (reason " + f.Reason + ")"
	}
	own := c.ids()
	words = foreignURL.ReplaceAllString(f.Cause, "[address]")
	if f.Layer() == layerIdentity { // the management cluster asked: it is its name server
		words = nameServer.ReplaceAllString(words, "$1")
	}
	words = foreignID.ReplaceAllStringFunc(words, func(id string) string {
		if own[strings.ToLower(id)] {
			return id
		}
		return "[id]"
	})
	return f.Object.String(), words
}

// ids are those of everything that the project is known to own.
func (c *Cloud) ids() map[string]bool {
	own := map[string]bool{}
	if c == nil {
		return own
	}
	own[strings.ToLower(c.Project)] = true
	collect(own, c.Servers, func(s Server) string { return s.ID })
	collect(own, c.Balancers, func(b Balancer) string { return b.ID })
	collect(own, c.Ports, func(p Port) string { return p.ID })
	collect(own, c.Volumes, func(v Volume) string { return v.ID })
	collect(own, c.Images, func(i Image) string { return i.ID })
	collect(own, c.Networks, func(n Network) string { return n.ID })
	collect(own, c.Subnets, func(s Subnet) string { return s.ID })
	collect(own, c.Routers, func(r Router) string { return r.ID })
	collect(own, c.SecurityGroups, func(g SecurityGroup) string { return g.ID })
	collect(own, c.FloatingIPs, func(f FloatingIP) string { return f.ID })
	collect(own, c.Flavors, func(f Flavor) string { return f.ID })
	return own
}

// collect adds the ids of a list.
func collect[T any](to map[string]bool, list []T, id func(T) string) {
	for _, one := range list {
		to[strings.ToLower(id(one))] = true
	}
}
