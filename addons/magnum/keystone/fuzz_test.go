package keystone

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

// FuzzToken sends anything as a token and as a service token to a Keystone that
// knows one of each: nothing else is let in, and what Keystone is asked is about
// what was sent.
func FuzzToken(f *testing.F) {
	const good, service = "gAAAAABm-good", "gAAAAABm-service"
	keystone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v3/auth/tokens" || r.Method != http.MethodGet || r.Header.Get("X-Auth-Token") != "ours" {
			http.Error(w, "asked for something else", http.StatusTeapot)
			return
		}
		role := map[string]string{good: "member", service: "service"}[r.Header.Get("X-Subject-Token")]
		if role == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"token": {"expires_at": "2999-01-01T00:00:00Z", "user": {"id": "u"}, "project": {"id": "p"}, "roles": [{"name": %q}]}}`, role) //nolint:errcheck // a test
	}))
	f.Cleanup(keystone.Close)
	provider := &gophercloud.ProviderClient{}
	provider.SetToken("ours")
	client := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: keystone.URL + "/v3/"}
	for _, token := range []string{"", good, good + "x", " " + good, good + "\n", good + "\r\nX-Auth-Token: x", "\x00", "é", strings.Repeat("x", 9000), "../" + good, good + "," + good} {
		f.Add(token, "")
		f.Add(token, service)
		f.Add("x", token)
	}
	f.Fuzz(func(t *testing.T, token, serviceToken string) {
		v := NewValidator(Options{Identity: fixed(client)})
		for range 2 { // from Keystone, and remembered
			found, err := v.Validate(t.Context(), token, serviceToken)
			if (err == nil) != (found != nil) {
				t.Fatalf("%v, %v", found, err)
			}
			if sent := strings.Trim(token, " \t"); err == nil && sent != good && sent != service {
				t.Errorf("%q was let in as %+v", token, found.Caller())
			}
		}
	})
}
