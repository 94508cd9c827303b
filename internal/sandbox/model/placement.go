package model

import "github.com/slipway-sh/slipway/internal/sandbox/store"

// ResourceProvider is something that has resources to give. The compute hosts
// are providers too; their records here hold only what was set by hand.
type ResourceProvider struct {
	ID          string               `json:"uuid"`
	Name        string               `json:"name"`
	ParentID    string               `json:"parent_provider_uuid"`
	RootID      string               `json:"root_provider_uuid"`
	Generation  int                  `json:"generation"`
	Inventories map[string]Inventory `json:"inventories"`
	Traits      []string             `json:"traits"`
	Aggregates  []string             `json:"aggregates"`
}

// Inventory is how much of a resource class a provider has.
type Inventory struct {
	Total    int     `json:"total"`
	Reserved int     `json:"reserved"`
	MinUnit  int     `json:"min_unit"`
	MaxUnit  int     `json:"max_unit"`
	StepSize int     `json:"step_size"`
	Ratio    float64 `json:"allocation_ratio"`
}

// Placement is Placement's tables.
type Placement struct {
	Providers *store.Table[ResourceProvider]
}

func newPlacement(s *store.Store) Placement {
	return Placement{Providers: store.NewTable(s, "placement.providers", func(v ResourceProvider) string { return v.ID })}
}
