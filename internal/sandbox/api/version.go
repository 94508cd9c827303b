package api

import "net/http"

// Version is one version in a service's version document.
type Version struct {
	ID, Status, Updated string
	// Path is below the service's prefix ("/v2.1/").
	Path string
	// Micro adds the service's microversions.
	Micro     bool
	MediaType string
}

// Versions says how a service lists its versions.
type Versions struct {
	List []Version
	// Status of the list: 200 or 300.
	Status int
	// Values puts the list in {"versions": {"values": […]}}.
	Values bool
}

// Routes returns the routes of the version documents: the list at "/", and each version at its
// path.
func (v Versions) Routes() []Route {
	routes := []Route{{"GET /{$}", Public, v.all}}
	seen := map[string]bool{"/": true}
	for _, version := range v.List {
		path := version.Path
		for path != "/" && path[len(path)-1] == '/' {
			path = path[:len(path)-1] // the server takes the slash off requests too
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		routes = append(routes, Route{"GET " + path, Public, func(c *Call) error {
			return c.Reply(http.StatusOK, map[string]any{"version": version.document(c)})
		}})
	}
	return routes
}

func (v Versions) all(c *Call) error {
	list := make([]any, 0, len(v.List))
	for _, version := range v.List {
		list = append(list, version.document(c))
	}
	body := map[string]any{"versions": list}
	if v.Values {
		body = map[string]any{"versions": map[string]any{"values": list}}
	}
	return c.Reply(v.Status, body)
}

func (v Version) document(c *Call) map[string]any {
	doc := map[string]any{
		"id": v.ID, "status": v.Status, "updated": v.Updated,
		"links": []Link{{Rel: "self", Href: c.URL(v.Path)}},
	}
	if v.MediaType != "" {
		doc["media-types"] = []any{map[string]string{"base": contentJSON, "type": v.MediaType}}
	}
	if m := c.Service.Microversions; m != nil {
		doc["version"], doc["min_version"] = "", ""
		if v.Micro {
			doc["version"], doc["min_version"] = m.Max.String(), m.Min.String()
		}
	}
	return doc
}

// Link is a link as OpenStack writes it.
type Link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}
