package openstack

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// A name is a name: it leads to no other address of the service, and brings no
// query of its own.
func TestNamesStayNames(t *testing.T) {
	t.Parallel()
	var asked []string
	nova := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		http.NotFound(w, r)
	}))
	t.Cleanup(nova.Close)
	token := &keystone.Token{ID: "t", Endpoints: map[string]string{"compute": nova.URL}}
	for _, name := range []string{"../servers", "x/../../os-keypairs", "x?all_tenants=1", "x#y", "a b", "%2e%2e/servers"} {
		if err := (&Cloud{}).Keypair(t.Context(), token, name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
		last := asked[len(asked)-1]
		if rest, ok := strings.CutPrefix(last, "/os-keypairs/"); !ok || strings.ContainsAny(rest, "/?#") {
			t.Errorf("%q asked for %s", name, last)
		}
	}
}
