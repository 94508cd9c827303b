// Package quota answers how much of a resource a project may have.
package quota

import (
	"maps"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Set is the quotas of one service. Defaults name every resource that the
// service counts, with OpenStack's default limit; -1 is without limit.
type Set struct {
	Service  string
	Defaults map[string]int
	Quotas   model.Quotas
	Faults   *faultinject.Rules
}

// Limits returns every limit of the project.
func (s Set) Limits(r store.Reader, projectID string) map[string]int {
	limits := maps.Clone(s.Defaults)
	if q, ok := s.Quotas.Set.Get(r, model.QuotaID(s.Service, projectID)); ok {
		maps.Copy(limits, q.Limits)
	}
	return limits
}

// Set changes limits of the project; the others stay.
func (s Set) Set(tx *store.Tx, projectID string, limits map[string]int) {
	q := model.Quota{ProjectID: projectID, Service: s.Service, Limits: map[string]int{}}
	if old, ok := s.Quotas.Set.Get(tx, model.QuotaID(s.Service, projectID)); ok {
		maps.Copy(q.Limits, old.Limits)
	}
	maps.Copy(q.Limits, limits)
	s.Quotas.Set.Put(tx, q)
}

// Reset gives the project the default limits again.
func (s Set) Reset(tx *store.Tx, projectID string) {
	s.Quotas.Set.Delete(tx, model.QuotaID(s.Service, projectID))
}

// Exceeded reports whether the project, which uses so much of the resource,
// may not have more, and its limit. A fault rule of kind quota counts as a
// limit that is reached; its resource name is the resource ("cores").
func (s Set) Exceeded(r store.Reader, projectID, resource string, used, more int) (limit int, exceeded bool) {
	limit = s.Limits(r, projectID)[resource]
	if s.Faults.Hit(faultinject.Quota, s.Service, resource) {
		return used, true
	}
	return limit, limit >= 0 && used+more > limit
}
