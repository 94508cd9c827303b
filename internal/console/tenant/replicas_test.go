package tenant_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/console/guard"
	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// TestTwoReplicas: each goes on with the session of the other, forms and all, and after
// signing out on one none does.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	keys, err := guard.NewKeys("", nil)
	if err != nil {
		t.Fatal(err)
	}
	shared := func(o *tenant.Options) { o.Keys = keys }
	w := tenanttest.Start(t, shared)
	template := w.Template("k8s", "ubuntu-1.34")
	other := w.Serve(false, shared)
	b := open(t, w).enter(tenanttest.Member, "shop")
	two := &browser{b.Client, t, other.URL} // of the same host: browsers send the cookie to both ports
	two.until("/clusters", "There are no clusters")
	form := b.get("/clusters/new").want(200)
	two.send(form, "/clusters/new", "name", "shop-prod", "cluster_template_id", template).want(200, "create in progress")
	b.until("/clusters", "shop-prod")
	copied := b.Jar.Cookies(form.url(b))
	two.send(two.get("/clusters"), "/leave").want(200, "You have signed out")
	b.get("/clusters").want(401)
	// A copy of the cookie is worth nothing: the token was revoked.
	for _, base := range []string{other.URL, w.Serve(false, shared).URL} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/clusters", nil)
		for _, c := range copied {
			r.AddCookie(c)
		}
		if p := b.read(http.DefaultClient.Do(r)); p.status != http.StatusUnauthorized || strings.Contains(p.text, "shop-prod") {
			t.Errorf("%s: %d\n%s", base, p.status, p.text)
		}
	}
	// A console with another key does not know the session.
	again := open(t, w).enter(tenanttest.Member, "shop")
	stranger := &browser{again.Client, t, w.Serve(false).URL}
	stranger.get("/clusters").want(401, "Sign in")
}
