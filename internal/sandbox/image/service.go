// Package image is Glance: images, their bytes, and who may use them.
package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// storeID is the name of the only store, which keeps images as files.
const storeID = "file"

type service struct {
	env   *api.Env
	model *model.Model
}

// New returns the service. What was being written when the process ended is
// queued again.
func New(env *api.Env) *api.Service {
	s := &service{env: env, model: env.Model}
	s.recover()
	routes := slices.Concat(s.imageRoutes(), s.dataRoutes(), s.memberRoutes(), s.actionRoutes(),
		s.taskRoutes(), s.infoRoutes(), schemaRoutes())
	for i := range routes {
		routes[i].Handle = inJSON(routes[i].Handle)
	}
	return &api.Service{
		Name: "glance", Type: "image", Prefix: "/image", Catalog: "/image",
		Errors: api.HTMLErrors, Run: s.run, Routes: append(routes, versions().Routes()...),
	}
}

func versions() api.Versions {
	v := api.Versions{Status: http.StatusMultipleChoices}
	for _, minor := range []int{16, 15, 9, 7, 6, 5, 4, 3, 2, 1, 0} {
		status := "SUPPORTED"
		if len(v.List) == 0 {
			status = "CURRENT"
		}
		v.List = append(v.List, api.Version{ID: fmt.Sprintf("v2.%d", minor), Status: status,
			Updated: "2023-08-01T00:00:00Z", Path: "/v2/"})
	}
	return v
}

// run does imports.
func (s *service) run(ctx context.Context) {
	reconcile.Loop{Name: "images", Feed: s.model.Image.Images.Subscribe(), Clock: s.env.Timing.Clock,
		Events: s.env.Events, Work: s.doImport, Workers: 4}.Run(ctx)
}

// inJSON answers errors as webob does to a client that asks for JSON; all
// others get the page.
func inJSON(handle api.Handler) api.Handler {
	return func(c *api.Call) error {
		err := handle(c)
		var e *api.Error
		accept := c.Request.Header.Get("Accept")
		if !errors.As(err, &e) || e.Status == http.StatusUnauthorized ||
			!strings.Contains(accept, "application/json") || strings.Contains(accept, "text/html") {
			return err
		}
		for name, values := range e.Header {
			c.Writer.Header()[name] = values
		}
		title := http.StatusText(e.Status)
		text, _ := json.Marshal(map[string]string{"message": e.Message + "<br /><br />\n\n\n",
			"code": fmt.Sprintf("%d %s", e.Status, title), "title": title})
		c.Writer.Header().Set("Content-Type", "application/json")
		c.Writer.WriteHeader(e.Status)
		_, _ = c.Writer.Write(text) // the client may have gone
		return nil
	}
}

// own returns the image in the path if the caller may change it; what it may
// only see is refused with a 403 that names the action.
func (s *service) own(c *api.Call, r store.Reader, action string) (model.Image, error) {
	v, err := Get(r, s.model, c.Principal, c.Path("id"))
	if err == nil && !c.Principal.Owns(v.ProjectID) {
		err = api.Forbidden("You are not permitted to %s this image.", action)
	}
	return v, err
}

func (s *service) limits() quota.Set {
	return quota.Set{Service: "image", Quotas: s.model.Quotas, Faults: s.env.Faults,
		Defaults: map[string]int{"image_size_total": -1, "image_stage_total": -1, "image_count_total": 1000, "image_count_uploading": 100}}
}
