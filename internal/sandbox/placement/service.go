// Package placement is Placement: which resources there are and who uses
// them. What compute hosts have and use is read from Nova's records; other
// providers are what administrators make.
package placement

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

type service struct {
	env   *api.Env
	model *model.Model
}

// New returns the placement service.
func New(env *api.Env) *api.Service {
	s := &service{env: env, model: env.Model}
	return &api.Service{
		Name: "placement", Type: "placement", Prefix: "/placement", Catalog: "/placement", Errors: api.PlacementErrors,
		Microversions: &api.Microversions{Service: "placement", Min: api.Microversion{Major: 1}, Max: api.Microversion{Major: 1, Minor: 39}},
		Routes: slices.Concat([]api.Route{
			{Pattern: "GET /{$}", Role: api.Public, Handle: versions},
			{Pattern: "GET /usages", Role: api.Reader, Handle: s.projectUsages},
			{Pattern: "GET /traits", Role: api.Admin, Handle: s.listTraits},
			{Pattern: "GET /resource_classes", Role: api.Admin, Handle: s.listClasses},
			{Pattern: "GET /allocations/{consumer}", Role: api.Admin, Handle: s.showConsumer},
			{Pattern: "GET /allocation_candidates", Role: api.Admin, Handle: s.candidates},
		}, s.providerRoutes(), s.detailRoutes()),
	}
}

func versions(c *api.Call) error {
	m := c.Service.Microversions
	return c.Reply(http.StatusOK, map[string]any{"versions": []any{map[string]any{
		"id": "v1.0", "status": "CURRENT", "min_version": m.Min.String(), "max_version": m.Max.String(),
		"links": []api.Link{{Rel: "self", Href: ""}},
	}}})
}
