// Package loadbalancer is Octavia: load balancers, what is below them, and
// the flavors and zones that they are made in.
package loadbalancer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// How long operations usually take in a cloud.
const (
	createTime = 30 * time.Second
	updateTime = 2 * time.Second
	deleteTime = 5 * time.Second
)

// lastMinor is the newest version of the API, 2.27. Clients take the last
// entry of the version list for the cloud's version.
const lastMinor = 27

type service struct {
	env    *api.Env
	model  model.LoadBalancing
	ports  Ports
	quotas quota.Set

	mu      sync.Mutex
	applied map[string]bool // balancers that this process gave to the driver
}

// New returns the service; ports is the networking that VIPs come from.
func New(env *api.Env, ports Ports) *api.Service {
	s := &service{env: env, model: env.Model.LoadBalancing, ports: ports, applied: map[string]bool{},
		quotas: quota.Set{Service: "load-balancer", Defaults: unlimited(), Quotas: env.Model.Quotas, Faults: env.Faults}}
	return &api.Service{
		Name: "octavia", Type: "load-balancer", Prefix: "/load-balancer", Catalog: "/load-balancer",
		Errors: api.OctaviaErrors, Run: s.provision,
		Routes: append(versions().Routes(), everyPath(slices.Concat(s.balancerRoutes(), s.listenerRoutes(), s.poolRoutes(),
			s.memberRoutes(), s.monitorRoutes(), s.policyRoutes(), s.quotaRoutes(), s.providerRoutes(), s.offerRoutes(),
			s.amphoraRoutes()))...),
	}
}

// versions is the list of all minor versions, oldest first.
func versions() api.Versions {
	v := api.Versions{Status: http.StatusOK}
	for minor := range lastMinor + 1 {
		status := "SUPPORTED"
		if minor == lastMinor {
			status = "CURRENT"
		}
		v.List = append(v.List, api.Version{ID: fmt.Sprintf("v2.%d", minor), Status: status,
			Updated: "2023-05-04T00:00:00Z", Path: "/v2"})
	}
	return v
}

// everyPath serves every route below /v2 and /v2.0, with and without the
// "lbaas" that Neutron's extension had; amphorae are below "octavia" too.
func everyPath(routes []api.Route) []api.Route {
	all := make([]api.Route, 0, 4*len(routes))
	for _, route := range routes {
		method, path, _ := strings.Cut(route.Pattern, " ")
		bases := []string{"/v2", "/v2.0", "/v2/lbaas", "/v2.0/lbaas"}
		if strings.HasPrefix(path, "/amphorae") {
			bases = append(bases, "/v2/octavia", "/v2.0/octavia")
		}
		for _, base := range bases {
			route.Pattern = method + " " + base + path
			all = append(all, route)
		}
	}
	return all
}

func (s *service) now() string { return s.env.Timing.Now().Format(model.BalancerTime) }

// projectOf is whose the new resource is: an administrator may name another
// project than the token's.
func projectOf(c *api.Call, asked api.Optional[string]) (string, error) {
	project := asked.Or("")
	if project == "" {
		project = c.Principal.ProjectID
	}
	if project == "" {
		return "", validation("Missing project ID in request where one is required.")
	}
	if !c.Principal.Owns(project) {
		return "", forbidden()
	}
	return project, nil
}

// visible reports whether the caller may see the project's resources in a
// list: an administrator sees all.
func visible(c *api.Call, projectID string) bool { return c.Principal.Owns(projectID) }

// exceeded refuses one more resource of a kind if the quota is met.
func (s *service) exceeded(r store.Reader, projectID, resource, label string, used, more int) error {
	if _, over := s.quotas.Exceeded(r, projectID, resource, used, more); over {
		return api.Forbidden("Quota has been met for resources: %s", label)
	}
	return nil
}
