package network

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// zone is the only availability zone, host the only host.
const (
	zone = "nova"
	host = "sandbox"
)

// zoneView is an availability zone of one kind of resource.
type zoneView struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`
	State    string `json:"state"`
}

func (n *Core) listZones(c *api.Call) error {
	zones := []zoneView{{zone, "network", "available"}, {zone, "router", "available"}}
	return api.List[zoneView]{Key: "availability_zones", ID: func(z zoneView) string { return z.Resource }, Strict: true}.
		Reply(c, slices.Values(zones))
}

// checkZones refuses hints that name no zone.
func (n *Core) checkZones(hints []string, _ string) error {
	for _, hint := range hints {
		if hint != zone {
			return api.Errorf(http.StatusNotFound, "AvailabilityZoneNotFound", "AvailabilityZone %s could not be found.", hint)
		}
	}
	return nil
}

// agentTime is how agents tell times, unlike everything else.
const agentTime = "2006-01-02 15:04:05"

// agentView is an agent: OVN's controller and its metadata agent.
type agentView struct {
	ID             string         `json:"id"`
	Type           string         `json:"agent_type"`
	Binary         string         `json:"binary"`
	Topic          string         `json:"topic"`
	Host           string         `json:"host"`
	Zone           string         `json:"availability_zone"`
	AdminStateUp   bool           `json:"admin_state_up"`
	Alive          bool           `json:"alive"`
	Synced         *bool          `json:"resources_synced"`
	Description    string         `json:"description"`
	CreatedAt      string         `json:"created_at"`
	StartedAt      string         `json:"started_at"`
	HeartbeatAt    string         `json:"heartbeat_timestamp"`
	Configurations map[string]any `json:"configurations"`
}

func (n *Core) agents() []agentView {
	now := n.now().Format(agentTime)
	agent := func(id, kind, binary, topic string) agentView {
		return agentView{ID: id, Type: kind, Binary: binary, Topic: topic, Host: host, Zone: zone, AdminStateUp: true, Alive: true,
			CreatedAt: now, StartedAt: now, HeartbeatAt: now, Configurations: map[string]any{"bridge-mappings": "public:br-ex"}}
	}
	return []agentView{
		agent("8c0ce2f0-0f5c-4d5c-8d0e-8f3a0d0c6b01", "OVN Controller Gateway agent", "ovn-controller", "n/a"),
		agent("8c0ce2f0-0f5c-4d5c-8d0e-8f3a0d0c6b02", "OVN Metadata agent", "neutron-ovn-metadata-agent", "n/a"),
	}
}

func (n *Core) listAgents(c *api.Call) error {
	return api.List[agentView]{Key: "agents", ID: func(a agentView) string { return a.ID }, Links: api.BothLinks, Strict: true}.
		Reply(c, slices.Values(n.agents()))
}

func (n *Core) showAgent(c *api.Call) error {
	for _, agent := range n.agents() {
		if agent.ID == c.Path("id") {
			return c.Reply(http.StatusOK, map[string]any{"agent": api.Select(c, agent)})
		}
	}
	return api.Errorf(http.StatusNotFound, "AgentNotFound", "Agent %s could not be found.", c.Path("id"))
}
