// Package keymanager is Barbican: secrets, containers of secrets, and orders
// for keys. Payloads are encrypted before they reach the state file.
package keymanager

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type service struct {
	env    *api.Env
	model  model.Keys
	vault  *vault
	quotas quota.Set
}

// New returns the service. The key that payloads are encrypted with is made
// at the first use, in a file of mode 0600 below env.Dir.
func New(env *api.Env) *api.Service {
	s := &service{env: env, model: env.Model.Keys, vault: newVault(env.Dir),
		quotas: quota.Set{Service: "key-manager", Quotas: env.Model.Quotas, Faults: env.Faults,
			Defaults: map[string]int{"secrets": -1, "orders": -1, "containers": -1, "consumers": -1, "cas": -1}}}
	v1 := api.Version{ID: "v1", Status: "CURRENT", Updated: "2021-02-10T00:00:00Z", Path: "/v1/",
		MediaType: "application/vnd.openstack.key-manager-v1+json"}
	versions := api.Versions{List: []api.Version{v1}, Status: http.StatusOK, Values: true}
	return &api.Service{
		Name: "barbican", Type: "key-manager", Prefix: "/key-manager", Catalog: "/key-manager",
		Errors: api.BarbicanErrors,
		Routes: slices.Concat(versions.Routes(), s.secretRoutes(), s.payloadRoutes(), s.metadataRoutes(), s.containerRoutes(),
			s.consumerRoutes(), s.orderRoutes(), s.aclRoutes(), s.quotaRoutes()),
	}
}

func (s *service) now() string { return s.env.Timing.Now().Format(model.KeyTime) }

func (s *service) newMeta(c *api.Call, name string) model.KeyMeta {
	now := s.now()
	return model.KeyMeta{ID: model.NewID(), ProjectID: c.Principal.ProjectID, CreatorID: c.Principal.UserID(), Name: name,
		Status: "ACTIVE", Created: now, Updated: now}
}

// named is the name of a resource, which is its id when it has none.
func named(m model.KeyMeta) string {
	if m.Name == "" {
		return m.ID
	}
	return m.Name
}

// exceeded refuses one more of a resource if the quota is met.
func (s *service) exceeded(c *api.Call, r store.Reader, resource string, used int) error {
	if limit, over := s.quotas.Exceeded(r, c.Principal.ProjectID, resource, used, 1); over {
		return api.Forbidden("Quota reached for project %s. Only %d %s are allowed", c.Principal.ProjectID, limit, resource)
	}
	return nil
}

// mismatch is what a body is answered that does not fit its schema.
func mismatch(kind, property, format string, args ...any) error {
	return api.BadRequest("Provided object does not match schema '%s': %s. Invalid property: '%s'", kind, fmt.Sprintf(format, args...), property)
}

func notFound(kind string) error {
	return api.NotFound("Not Found. Sorry but your %s is in another castle.", kind)
}

func denied(kind, action string) error {
	return api.Forbidden("%s %s attempt not allowed - please review your user/project privileges", kind, action)
}
