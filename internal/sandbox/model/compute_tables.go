package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// KeyPair is a public key of a user.
type KeyPair struct {
	Number      int       `json:"number"`
	Name        string    `json:"name"`
	UserID      string    `json:"user_id"`
	Type        string    `json:"type"`
	PublicKey   string    `json:"public_key"`
	Fingerprint string    `json:"fingerprint"`
	CreatedAt   time.Time `json:"created_at"`
}

// KeyPairID is the id of a key pair record: users have namespaces of their own.
func KeyPairID(userID, name string) string { return userID + "/" + name }

// ServerGroup says how servers are spread over hosts.
type ServerGroup struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	ProjectID string            `json:"project_id"`
	UserID    string            `json:"user_id"`
	Policy    string            `json:"policy"`
	Rules     map[string]int    `json:"rules"`
	Metadata  map[string]string `json:"metadata"`
}

// Aggregate is a set of hosts; one with the metadata availability_zone makes
// a zone of them.
type Aggregate struct {
	ID        int               `json:"id"`
	UUID      string            `json:"uuid"`
	Name      string            `json:"name"`
	Hosts     []string          `json:"hosts"`
	Metadata  map[string]string `json:"metadata"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt *time.Time        `json:"updated_at"`
}

// ComputeHost is a hypervisor of the simulated cloud with its service.
type ComputeHost struct {
	Name   string `json:"name"`
	ID     string `json:"id"`
	Number int    `json:"number"`
	// VCPUs counts physical ones, RAM is in MiB, Disk in GiB.
	VCPUs int `json:"vcpus"`
	RAM   int `json:"ram"`
	Disk  int `json:"disk"`

	ServiceID      string    `json:"service_id"`
	Disabled       bool      `json:"disabled"`
	DisabledReason string    `json:"disabled_reason,omitempty"`
	ForcedDown     bool      `json:"forced_down"`
	StartedAt      time.Time `json:"started_at"`
}

// Compute is Nova's tables.
type Compute struct {
	Servers   *store.Table[Server]
	ServersOf *store.Index[Server] // by project
	ServersOn *store.Index[Server] // by host
	ServersIn *store.Index[Server] // by server group
	// ServersWith is by port.
	ServersWith *store.Index[Server]

	Payloads  *store.Table[ServerPayload]
	Actions   *store.Table[ServerAction]
	ActionsOf *store.Index[ServerAction] // by server

	Flavors    *store.Table[Flavor]
	KeyPairs   *store.Table[KeyPair]
	KeyPairsOf *store.Index[KeyPair] // by user

	Groups     *store.Table[ServerGroup]
	GroupsOf   *store.Index[ServerGroup] // by project
	Aggregates *store.Table[Aggregate]
	Hosts      *store.Table[ComputeHost]
}

func newCompute(s *store.Store) Compute {
	var c Compute
	c.Servers = store.NewTable(s, "compute.servers", func(v Server) string { return v.ID })
	c.ServersOf = c.Servers.Index(func(v Server) string { return v.ProjectID })
	c.ServersOn = c.Servers.Index(func(v Server) string { return v.Host })
	c.ServersIn = c.Servers.Index(func(v Server) string { return v.GroupID })
	c.ServersWith = c.Servers.IndexEach(serverPorts)
	c.Payloads = store.NewTable(s, "compute.payloads", func(v ServerPayload) string { return v.ServerID })
	c.Actions = store.NewTable(s, "compute.actions", func(v ServerAction) string { return v.ID })
	c.ActionsOf = c.Actions.Index(func(v ServerAction) string { return v.ServerID })
	c.Flavors = store.NewTable(s, "compute.flavors", func(v Flavor) string { return v.ID })
	c.KeyPairs = store.NewTable(s, "compute.key_pairs", func(v KeyPair) string { return KeyPairID(v.UserID, v.Name) })
	c.KeyPairsOf = c.KeyPairs.Index(func(v KeyPair) string { return v.UserID })
	c.Groups = store.NewTable(s, "compute.server_groups", func(v ServerGroup) string { return v.ID })
	c.GroupsOf = c.Groups.Index(func(v ServerGroup) string { return v.ProjectID })
	c.Aggregates = store.NewTable(s, "compute.aggregates", func(v Aggregate) string { return v.UUID })
	c.Hosts = store.NewTable(s, "compute.hosts", func(v ComputeHost) string { return v.Name })
	return c
}

func serverPorts(s Server) []string {
	ids := make([]string, 0, len(s.Ports))
	for _, p := range s.Ports {
		ids = append(ids, p.PortID)
	}
	return ids
}
