package model

import "github.com/slipway-sh/slipway/internal/sandbox/store"

// Quota is what a project may have of a service's resources, where that
// differs from the default. -1 is without limit.
type Quota struct {
	ProjectID string         `json:"project_id"`
	Service   string         `json:"service"`
	Limits    map[string]int `json:"limits"`
}

// QuotaID is the id of a quota record.
func QuotaID(service, projectID string) string { return service + "/" + projectID }

// Quotas are the quota tables.
type Quotas struct {
	Set *store.Table[Quota]
}

func newQuotas(s *store.Store) Quotas {
	return Quotas{Set: store.NewTable(s, "quotas", func(q Quota) string { return QuotaID(q.Service, q.ProjectID) })}
}
