// Package compute is Nova: servers on simulated hosts, with the resources that belong to them.
// Handlers change records; the loop in loop.go reconciles the machines with them.
package compute

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
)

// The formats of times in answers: created and updated have no fractions of a second.
const (
	seconds = "2006-01-02T15:04:05Z"
	micros  = "2006-01-02T15:04:05.000000"
)

type service struct {
	env   *api.Env
	model model.Compute
	quota quota.Set
	ports *network.Core

	mu sync.Mutex
	// restored are the servers whose machines this process has checked.
	restored map[string]bool
}

// New returns the compute service. On an empty store it adds the usual flavors
// and the hosts.
func New(env *api.Env) *api.Service {
	s := &service{env: env, model: env.Model.Compute, restored: map[string]bool{}, ports: network.NewCore(env),
		quota: quota.Set{Service: "compute", Defaults: defaultQuota(), Quotas: env.Model.Quotas, Faults: env.Faults}}
	if err := env.Store.Update(s.seed); err != nil {
		env.Events.Emit(event.Event{Time: env.Timing.Now(), State: event.Note, Step: "nova", Message: "seeding", Error: err.Error()})
	}
	v20 := api.Version{ID: "v2.0", Status: "SUPPORTED", Updated: "2011-01-21T11:33:21Z", Path: "/v2/",
		MediaType: "application/vnd.openstack.compute+json;version=2"}
	v21 := api.Version{ID: "v2.1", Status: "CURRENT", Updated: "2013-07-23T11:33:21Z", Path: "/v2.1/", Micro: true,
		MediaType: "application/vnd.openstack.compute+json;version=2.1"}
	versions := api.Versions{List: []api.Version{v20, v21}, Status: http.StatusOK}
	return &api.Service{
		Name: "nova", Type: "compute", Prefix: "/compute", Catalog: "/compute/v2.1",
		Errors: api.NovaErrors, Run: s.run,
		Microversions: &api.Microversions{Service: "compute", Legacy: "X-OpenStack-Nova-API-Version",
			Min: api.Microversion{Major: 2, Minor: 1}, Max: api.Microversion{Major: 2, Minor: 96}},
		Routes: slices.Concat(versions.Routes(), s.serverRoutes(), s.metadataRoutes(), s.interfaceRoutes(),
			s.attachmentRoutes(), s.actionRoutes(), s.flavorRoutes(), s.flavorSpecRoutes(), s.keyPairRoutes(),
			s.zoneRoutes(), s.hypervisorRoutes(), s.serviceRoutes(), s.aggregateRoutes(), s.quotaRoutes(),
			s.groupRoutes(), s.usageRoutes(), s.extensionRoutes()),
	}
}

// run runs the service's loops.
func (s *service) run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { s.servers(ctx) })
	loops.Go(func() { s.followPorts(ctx) })
	loops.Wait()
}

// text returns a time in the format of the answers, or null.
func text(at *time.Time, form string) *string {
	if at == nil {
		return nil
	}
	t := at.UTC().Format(form)
	return &t
}
