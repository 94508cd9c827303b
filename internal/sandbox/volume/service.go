// Package volume is Cinder: block devices, their snapshots and backups, and
// what they are attached to.
package volume

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const (
	// prefix is where the service is on the listener, kind its type in the
	// catalog, which all clients know.
	prefix, kind = "/volume", "volumev3"
	// host and pool are the only backend.
	host, pool = "sandbox@files", "sandbox@files#files"
	// zone is the only availability zone.
	zone = "nova"
	// defaultType is the name of the type of volumes that ask for none.
	defaultType = "__DEFAULT__"
)

type service struct {
	env   *api.Env
	model model.Volumes
}

// New returns the service; at the first start it makes the default type.
func New(env *api.Env) *api.Service {
	s := &service{env: env, model: env.Model.Volume}
	s.seed()
	routes := slices.Concat(s.volumeRoutes(), s.metadataRoutes(), s.actionRoutes(), s.attachmentRoutes(), s.snapshotRoutes(),
		s.backupRoutes(), s.typeRoutes(), s.typeAccessRoutes(), s.encryptionRoutes(), s.qosRoutes(), s.transferRoutes(),
		s.quotaRoutes(), s.infoRoutes(), s.messageRoutes(), s.manageRoutes())
	for i := range routes {
		routes[i].Handle = inProject(routes[i].Handle)
	}
	return &api.Service{
		Name: "cinder", Type: kind, Prefix: prefix, Catalog: prefix + "/v3/%(project_id)s", Errors: api.NovaErrors,
		Microversions: &api.Microversions{Service: "volume", Min: api.Microversion{Major: 3}, Max: api.Microversion{Major: 3, Minor: 70}},
		Rewrite:       withoutProject, Run: s.run, Routes: append(routes, versions().Routes()...),
	}
}

func versions() api.Versions {
	return api.Versions{Status: http.StatusMultipleChoices, List: []api.Version{{ID: "v3.0", Status: "CURRENT",
		Updated: "2023-08-31T00:00:00Z", Path: "/v3/", Micro: true, MediaType: "application/vnd.openstack.volume+json;version=3"}}}
}

func (s *service) seed() {
	err := s.env.Store.Update(func(tx *store.Tx) error {
		if s.model.Types.Len(tx) == 0 {
			s.model.Types.Put(tx, model.VolumeType{ID: model.NewID(), Name: defaultType, Description: "Default Volume Type",
				Public: true, ExtraSpecs: map[string]string{}})
		}
		return nil
	})
	if err != nil {
		s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Note, Step: "volumes", Error: err.Error()})
	}
}

func (s *service) run(ctx context.Context) {
	loop := func(name string, feed *store.Feed, work reconcile.Work) reconcile.Loop {
		return reconcile.Loop{Name: name, Feed: feed, Work: work, Workers: 4, Clock: s.env.Timing.Clock, Events: s.env.Events}
	}
	var loops sync.WaitGroup
	loops.Go(func() { loop("volumes", s.model.Volumes.Subscribe(), s.workVolume).Run(ctx) })
	loops.Go(func() { loop("snapshots", s.model.Snapshots.Subscribe(), s.workSnapshot).Run(ctx) })
	loops.Go(func() { loop("backups", s.model.Backups.Subscribe(), s.workBackup).Run(ctx) })
	loops.Wait()
}

// collection reports whether a path element below the version is one of the
// API, and not the id of a project.
func collection(name string) bool {
	switch name {
	case "volumes", "snapshots", "attachments", "backups", "types", "qos-specs", "os-quota-sets", "os-quota-class-sets",
		"limits", "os-availability-zone", "os-services", "os-hosts", "scheduler-stats", "messages", "extensions",
		"os-volume-transfer", "volume-transfers", "manageable_volumes", "manageable_snapshots", "capabilities", "groups",
		"group_types", "group_snapshots", "clusters", "resource_filters", "default-types", "workers":
		return true
	}
	return false
}

// project returns the id of the project in a path below the prefix.
func project(path string) (id string, ok bool) {
	parts := strings.SplitN(path, "/", 5) // "", "v3", project, collection, rest
	if len(parts) < 4 || parts[1] != "v3" || collection(parts[2]) {
		return "", false
	}
	return parts[2], true
}

// withoutProject takes the project out of a path: clients write it or not.
func withoutProject(path string) string {
	if id, ok := project(path); ok {
		return "/v3" + strings.TrimPrefix(path, "/v3/"+id)
	}
	return path
}

// inProject refuses paths of another project than the token's.
func inProject(handle api.Handler) api.Handler {
	return func(c *api.Call) error {
		path, _, _ := strings.Cut(c.Request.RequestURI, "?")
		id, ok := project(strings.TrimPrefix(path, prefix))
		if ok && id != c.Principal.ProjectID {
			return api.BadRequest("Malformed request url")
		}
		return handle(c)
	}
}

// since makes a handler unknown before a microversion.
func since(minor int, handle api.Handler) api.Handler {
	return func(c *api.Call) error {
		if !c.Version.AtLeast(3, minor) {
			return api.NotFound("The resource could not be found.")
		}
		return handle(c)
	}
}
