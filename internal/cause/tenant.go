package cause

import (
	"regexp"
	"strings"
)

// Identifiers that may belong to somebody else: UUIDs, ids of projects, addresses of
// endpoints that only the management cluster uses.
var (
	foreignID  = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`)
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
	add := func(id string) { own[strings.ToLower(id)] = true }
	add(c.Project)
	for _, s := range c.Servers {
		add(s.ID)
	}
	for _, b := range c.Balancers {
		add(b.ID)
	}
	for _, p := range c.Ports {
		add(p.ID)
	}
	for _, v := range c.Volumes {
		add(v.ID)
	}
	for _, i := range c.Images {
		add(i.ID)
	}
	for _, n := range c.Networks {
		add(n.ID)
	}
	for _, r := range c.Routers {
		add(r.ID)
	}
	for _, g := range c.SecurityGroups {
		add(g.ID)
	}
	for _, f := range c.FloatingIPs {
		add(f.ID)
	}
	for _, f := range c.Flavors {
		add(f.ID)
	}
	return own
}
