package tenanttest

import (
	"fmt"
	"html"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// Federation is Keystone's page for sign-in at an identity provider, as its documentation
// describes it: it compares the origin with its list verbatim, and sends a token of no project
// there by a form.
type Federation struct {
	*httptest.Server
	w *World
	// Trusted is trusted_dashboard of keystone.conf.
	Trusted []string
	// User is who has authenticated at the provider.
	User string
}

// Federate starts one, over HTTPS.
func (w *World) Federate() *Federation {
	w.T.Helper()
	f := &Federation{w: w, User: Member}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	w.T.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *Federation) serve(rw http.ResponseWriter, r *http.Request) {
	known := []string{"/v3/auth/OS-FEDERATION/websso/openid", "/v3/auth/OS-FEDERATION/identity_providers/acme/protocols/saml2/websso"}
	origin := r.URL.Query().Get("origin")
	switch {
	case !slices.Contains(known, r.URL.Path):
		http.NotFound(rw, r)
	case !slices.Contains(f.Trusted, origin):
		http.Error(rw, origin+" is not a trusted dashboard host", http.StatusUnauthorized)
	default:
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!DOCTYPE html><html><head><title>Keystone WebSSO redirect</title></head><body>
<form id="sso" name="sso" action="%s" method="post">Please wait...<br/><input type="hidden" name="token" id="token" value="%s"/>
<noscript><input type="submit" name="submit_no_javascript" value="JavaScript is disabled, please click to continue"/></noscript></form>
<script type="text/javascript">window.onload = function() { document.forms['sso'].submit(); }</script></body></html>`, html.EscapeString(origin), html.EscapeString(f.Token()))
	}
}

// unscoped asks for a token of no project.
type unscoped struct{ *gophercloud.AuthOptions }

// ToTokenV3CreateMap makes the request.
func (u unscoped) ToTokenV3CreateMap(map[string]any) (map[string]any, error) {
	body, err := u.AuthOptions.ToTokenV3CreateMap(nil)
	if err == nil {
		body["auth"].(map[string]any)["scope"] = "unscoped" //nolint:forcetypeassert // gophercloud makes it so
	}
	return body, err
}

// Token is one of no project, of the user.
func (f *Federation) Token() string {
	provider, err := openstack.NewClient(f.w.Cloud.URL() + "/identity/v3/")
	if err == nil {
		err = openstack.AuthenticateV3(f.w.T.Context(), provider, unscoped{&gophercloud.AuthOptions{Username: f.User, Password: Password, DomainID: "default"}}, gophercloud.EndpointOpts{})
	}
	if err != nil {
		return "no token: " + err.Error()
	}
	return provider.Token()
}
