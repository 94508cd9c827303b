package api_test

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

func TestErrorStyles(t *testing.T) {
	t.Parallel()
	missing := api.Errorf(404, "NetworkNotFound", "Network 1 could not be found.")
	plain := api.Conflict("In use <b>")
	for name, c := range map[string]struct {
		style api.ErrorStyle
		err   *api.Error
		want  string
	}{
		"nova":           {api.NovaErrors, api.NotFound("gone"), `{"itemNotFound":{"code":404,"message":"gone"}}`},
		"nova conflict":  {api.NovaErrors, api.Conflict("busy"), `{"conflictingRequest":{"code":409,"message":"busy"}}`},
		"nova forbidden": {api.NovaErrors, api.Forbidden("no"), `{"forbidden":{"code":403,"message":"no"}}`},
		"neutron":        {api.NeutronErrors, missing, `{"NeutronError":{"detail":"","message":"Network 1 could not be found.","type":"NetworkNotFound"}}`},
		"neutron plain":  {api.NeutronErrors, api.BadRequest("no"), `{"NeutronError":{"detail":"","message":"no","type":"HTTPBadRequest"}}`},
		"keystone":       {api.KeystoneErrors, api.Forbidden("no"), `{"error":{"code":403,"message":"no","title":"Forbidden"}}`},
		"octavia":        {api.OctaviaErrors, api.Conflict("busy"), `{"debuginfo":null,"faultcode":"Client","faultstring":"busy"}`},
		"barbican":       {api.BarbicanErrors, api.NotFound("gone"), `{"code":404,"description":"gone","title":"Not Found"}`},
		"html escapes":   {api.HTMLErrors, plain, `In use &lt;b&gt;`},
	} {
		if _, body := c.style(c.err); !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestMicroversions(t *testing.T) {
	t.Parallel()
	f := start(t, func(_ *fixture, s *api.Service) {
		s.Microversions = &api.Microversions{Service: "compute", Legacy: "X-OpenStack-Nova-API-Version",
			Min: api.Microversion{Major: 2, Minor: 1}, Max: api.Microversion{Major: 2, Minor: 96}}
		s.Routes = append(s.Routes, api.Route{Pattern: "GET /v1/version", Role: api.Reader, Handle: func(c *api.Call) error {
			return c.Reply(200, map[string]any{"new": c.Version.AtLeast(2, 53)})
		}})
	})
	for _, c := range []struct {
		name, header, value string
		status              int
		answered, body      string
	}{
		{"none", "X-Other", "", 200, "compute 2.1", `{"new":false}`},
		{"new header", "OpenStack-API-Version", "compute 2.53", 200, "compute 2.53", `{"new":true}`},
		{"old header", "X-OpenStack-Nova-API-Version", "2.60", 200, "compute 2.60", `{"new":true}`},
		{"latest", "OpenStack-API-Version", "compute latest", 200, "compute 2.96", `{"new":true}`},
		{"of another service", "OpenStack-API-Version", "volume 3.70", 200, "compute 2.1", `{"new":false}`},
		{"of several", "OpenStack-API-Version", "volume 3.70, compute 2.53", 200, "compute 2.53", `{"new":true}`},
		{"too new", "OpenStack-API-Version", "compute 2.97", 406, "compute 2.1", "2.97"},
		{"too old", "OpenStack-API-Version", "compute 2.0", 406, "compute 2.1", "2.0"},
		{"malformed", "OpenStack-API-Version", "compute two", 400, "", "two"},
	} {
		got := f.call(t, "GET", "/things/v1/version", "reader", "", c.header, c.value)
		if got.status != c.status || got.header.Get("OpenStack-API-Version") != c.answered || !strings.Contains(got.text, c.body) {
			t.Errorf("%s: %d %q %s", c.name, got.status, got.header.Get("OpenStack-API-Version"), got.text)
		}
	}
}
