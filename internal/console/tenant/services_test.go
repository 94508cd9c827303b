package tenant_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// TestAServiceAway: while Nova, Neutron or Glance breaks connections, forms say so, what cannot
// be chosen is typed, the rest of the page lives, and what was typed can be sent when the
// service is back.
func TestAServiceAway(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	id := w.Cluster("shop-prod", template)
	net := network(t, w.As(tenanttest.Member, "shop"), "backend", false)
	b := open(t, w).enter(tenanttest.Member, "shop")
	b.until("/clusters", "shop-prod")
	fields := []string{"cluster_template_id", "flavor_id", "master_flavor_id", "fixed_network", "keypair"}
	for service, test := range map[string]struct {
		says  []string
		typed string // fields whose choices are not known
	}{
		"compute": {[]string{"Could not read the flavors", "Could not read the key pairs", "Could not read the quota", "Nova: no connection"}, "flavor_id master_flavor_id keypair"},
		"network": {[]string{"Could not read the networks", "Neutron: no connection"}, "fixed_network"},
		"image":   {[]string{"Could not read the images", "Glance: no connection"}, ""},
	} {
		rule, err := w.Cloud.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Drop: true})
		if err != nil {
			t.Fatal(err)
		}
		const path = "/clusters/new"
		p := b.get(path).want(200, test.says...).want(200, `role="alert"`, "Fix: try again later")
		for _, field := range fields {
			if typed, known := strings.Contains(p.text, `<input id="f-`+field+`"`), !strings.Contains(" "+test.typed+" ", " "+field+" "); typed == known {
				t.Errorf("%s away: %s is typed: %t", service, field, typed)
			}
		}
		values := []string{"name", "other-" + service, "cluster_template_id", template, "flavor_id", "m1.large", "master_flavor_id", "m1.medium", "fixed_network", net, "keypair", "ops", "labels", "team=blue"}
		if p = b.send(p, path, values...); p.status < 500 {
			t.Errorf("%s away: sending gives %d:\n%s", service, p.status, p.text)
		}
		p.want(502, "What you typed is still here", "the answer of the Magnum API")
		kept(t, p.form(path), values)
		b.get("/clusters").want(200, "shop-prod")
		b.get("/clusters/"+id).want(200, "default-worker")
		if err := w.Cloud.Faults.Remove(rule.ID); err != nil {
			t.Fatal(err)
		}
		b.send(p, path).want(200, "create in progress")
	}
}

// kept wants all in a form that was typed.
func kept(t *testing.T, form url.Values, typed []string) {
	t.Helper()
	for i := 0; i+1 < len(typed); i += 2 {
		if got := form.Get(typed[i]); got != typed[i+1] {
			t.Errorf("%s is %q, and was %q", typed[i], got, typed[i+1])
		}
	}
}

// TestKeystoneAway: nobody is signed out, pages show what was read last, and nothing typed is
// lost. Who signs in is told.
func TestKeystoneAway(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	w.Cluster("shop-prod", template)
	b := open(t, w).enter(tenanttest.Member, "shop")
	b.until("/clusters", "shop-prod")
	const path = "/clusters/new"
	p, entrance := b.get(path).want(200), open(t, w)
	door := entrance.get("/enter").want(200)
	rule, err := w.Cloud.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "identity", Drop: true})
	if err != nil {
		t.Fatal(err)
	}
	b.send(b.get("/clusters"), "/again")
	b.until("/clusters", "Could not read your clusters").want(200, "shop-prod", "What you see is of")
	values := []string{"name", "other", "cluster_template_id", template, "labels", "team=blue"}
	p = b.send(p, path, values...).want(502, "What you typed is still here")
	kept(t, p.form(path), values)
	fields := []string{"user", tenanttest.Member, "password", tenanttest.Password, "project", "shop"}
	if again := entrance.send(door, "/enter", fields...).want(502, "Keystone did not sign you in").form("/enter"); again.Get("user") != tenanttest.Member || again.Get("password") != "" {
		t.Errorf("the form has %v", again)
	}
	if err := w.Cloud.Faults.Remove(rule.ID); err != nil {
		t.Fatal(err)
	}
	b.send(p, path).want(200, "create in progress")
	entrance.send(door, "/enter", fields...).want(200)
}
