package compute

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// errNoHost returns the scheduler's error when it finds no host.
func errNoHost() error {
	return api.Errorf(http.StatusInternalServerError, "", "No valid host was found. There are not enough hosts available.")
}

// schedule chooses the host of a new server.
func (s *service) schedule(_ context.Context, v model.Server) (time.Duration, error) {
	refused := s.env.Faults.Hit(faultinject.NoValidHost, "compute", v.Name)
	var failed error
	err := s.advance(v, func(tx *store.Tx, n *model.Server) error {
		host, ok := s.pick(tx, *n, n.Flavor, "")
		if refused || !ok {
			failed = errNoHost()
			return nil
		}
		n.Host, n.Zone = host, s.zone(tx, host)
		s.start(n, taskNetworking, time.Second)
		return nil
	})
	if err == nil && failed != nil {
		err = s.fail(v, failed)
	}
	return 0, err
}

// candidate is a host that passed the filters.
type candidate struct {
	host    string
	members int // of the server's group
	load    load
}

// pick returns the best host for a server of a flavor; it never returns the excluded host.
func (s *service) pick(r store.Reader, v model.Server, f model.Flavor, except string) (string, bool) {
	group, grouped := s.model.Groups.Get(r, v.GroupID)
	var found []candidate
	for h := range s.model.Hosts.All(r) {
		if h.Name == except || !s.allows(r, v, h) {
			continue
		}
		c := candidate{host: h.Name}
		for other := range s.model.ServersOn.Each(r, h.Name) {
			if other.ID == v.ID {
				continue
			}
			c.load.add(other.Flavor)
			if grouped && other.GroupID == group.ID {
				c.members++
			}
		}
		if roomy(h, c.load, f) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.load.ram - b.load.ram })
	if grouped {
		found = s.byPolicy(r, v, group, found)
	}
	if len(found) == 0 {
		return "", false
	}
	return found[0].host, true
}

// roomy reports whether a flavor fits on a host in addition to its servers.
func roomy(h model.ComputeHost, used load, f model.Flavor) bool {
	used.add(f)
	return used.vcpus <= h.VCPUs*cpuRatio && used.ram <= h.RAM && used.disk <= h.Disk
}

// allows applies the filters that need no counting.
func (s *service) allows(r store.Reader, v model.Server, h model.ComputeHost) bool {
	if !usable(h) || (v.ForcedHost != "" && v.ForcedHost != h.Name) {
		return false
	}
	if v.PinnedZone != "" && s.zone(r, h.Name) != v.PinnedZone {
		return false
	}
	on := func(id string) bool {
		other, ok := s.model.Servers.Get(r, id)
		return ok && other.Host == h.Name
	}
	if slices.ContainsFunc(v.Hints["different_host"], on) {
		return false
	}
	return len(v.Hints["same_host"]) == 0 || slices.ContainsFunc(v.Hints["same_host"], on)
}

// byPolicy removes the hosts that a server group rules out and puts the hosts that it prefers
// first; equal ones keep their order.
func (s *service) byPolicy(r store.Reader, v model.Server, g model.ServerGroup, found []candidate) []candidate {
	most := max(1, g.Rules["max_server_per_host"])
	elsewhere := false
	for member := range s.model.ServersIn.Each(r, g.ID) {
		elsewhere = elsewhere || member.ID != v.ID && member.Host != ""
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return g.Policy == antiAffinity && c.members >= most || g.Policy == affinity && elsewhere && c.members == 0
	})
	slices.SortStableFunc(found, func(a, b candidate) int {
		switch g.Policy {
		case antiAffinity, softAntiAffinity:
			return a.members - b.members
		default:
			return b.members - a.members
		}
	})
	return found
}
