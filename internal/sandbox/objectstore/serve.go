package objectstore

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

const (
	maxContainerName = 256
	maxObjectName    = 1024
)

// place is what a path names. An empty object is a container, an empty
// container an account.
type place struct{ project, container, object string }

func (p place) bucket() string { return model.BucketKey(p.project, p.container) }
func (p place) at() string     { return p.bucket() + "/" + p.object }

// parse reads the path of a request as it was sent: slashes inside names
// count, and a container's name may not hold any.
func parse(escaped string) (place, error) {
	rest := strings.TrimPrefix(escaped, prefix)
	parts := strings.SplitN(strings.TrimPrefix(rest, "/"), "/", 4)
	if len(parts) < 2 || (parts[0] != "v1" && parts[0] != "v1.0") {
		return place{}, api.NotFound("The resource could not be found.")
	}
	names := []string{"", "", ""}
	for i, part := range parts[1:] {
		name, err := url.PathUnescape(part)
		if err != nil || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return place{}, api.Errorf(http.StatusPreconditionFailed, "", "Invalid UTF8 or contains NULL")
		}
		names[i] = name
	}
	project, ok := strings.CutPrefix(names[0], accountPrefix)
	if !ok || project == "" || strings.Contains(project, "/") {
		return place{}, api.Forbidden("Access was denied to this resource.")
	}
	p := place{project, names[1], names[2]}
	switch {
	case p.container == "" && p.object != "":
		return p, api.NotFound("The resource could not be found.")
	case strings.Contains(p.container, "/") || len(p.container) > maxContainerName:
		return p, api.BadRequest("Container name length of %d longer than %d, or it has a slash", len(p.container), maxContainerName)
	case len(p.object) > maxObjectName:
		return p, api.BadRequest("Object name length of %d longer than %d", len(p.object), maxObjectName)
	}
	return p, nil
}

// serve is every call but /info.
func (s *service) serve(c *api.Call) error {
	p, err := parse(c.Request.URL.EscapedPath())
	if err != nil {
		return err
	}
	c.Writer.Header().Set("X-Trans-Id", "tx"+strings.ReplaceAll(strings.TrimPrefix(c.ID, "req-"), "-", ""))
	query := c.Request.URL.Query()
	switch {
	case query.Has("bulk-delete") && (c.Request.Method == http.MethodPost || c.Request.Method == http.MethodDelete):
		return s.bulkDelete(c, p)
	case p.container == "":
		return dispatch(c, p, map[string]func(*api.Call, place) error{
			"GET": s.listContainers, "HEAD": s.headAccount, "POST": s.postAccount})
	case p.object == "":
		return dispatch(c, p, map[string]func(*api.Call, place) error{"GET": s.listObjects, "HEAD": s.headContainer,
			"PUT": s.putContainer, "POST": s.postContainer, "DELETE": s.deleteContainer})
	}
	return dispatch(c, p, map[string]func(*api.Call, place) error{"GET": s.getObject, "HEAD": s.getObject,
		"PUT": s.putObject, "POST": s.postObject, "DELETE": s.deleteObject, "COPY": s.copyObject})
}

func dispatch(c *api.Call, p place, methods map[string]func(*api.Call, place) error) error {
	handle, ok := methods[c.Request.Method]
	if !ok {
		e := api.Errorf(http.StatusMethodNotAllowed, "", "The method is not allowed for this resource.")
		e.Header = http.Header{"Allow": {}}
		for method := range methods {
			e.Header.Add("Allow", method)
		}
		return e
	}
	return handle(c, p)
}

func missing() error { return api.NotFound("The resource could not be found.") }

// refuse is 401 for a stranger, who may come back with a token, and 403 for
// others.
func refuse(c *api.Call) error {
	if c.Principal == nil {
		return api.Unauthorized()
	}
	return api.Forbidden("Access was denied to this resource.")
}
