package tenant_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/internal/console/words/wordstest"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// speaks asks for a language.
type speaks string

func (s speaks) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Language", string(s))
	return http.DefaultTransport.RoundTrip(r)
}

// TestATenantInGerman: from signing in to what is wrong with a form while somebody types, and
// after the session has ended. What Magnum and the cloud say stays as it is.
func TestATenantInGerman(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	id := w.Cluster("shop-prod", template)
	b := open(t, w)
	b.Transport = speaks("de-DE,de;q=0.9")
	p := b.get("/enter").want(200, `<html lang="de">`, "<title>Anmelden · Slipway</title>", "Domain des Benutzers", `hreflang="en">English</a>`)
	b.send(p, "/enter", "user", tenanttest.Member, "password", "guess").want(401, "Benutzername, Domain oder Passwort ist falsch")
	b.send(p, "/enter", "user", "", "password", "").want(422, "Geben Sie Ihr Passwort ein.")
	b.enter(tenanttest.Member, "shop")
	b.until("/clusters", "shop-prod").want(200, "<strong>1 von 1</strong> in Ordnung", "create complete")
	at := "/clusters/" + id
	b.until(at, "default-worker").want(200, "Node-Gruppen", "Control Plane <strong>1</strong>", "Secrets rotieren", `>Löschen</a>`)
	b.get(at+"/delete").want(200, "Was verloren geht", "Alle 3 Maschinen des Clusters und was auf deren eigenen Platten liegt.", "Der Name ist shop-prod.")
	b.get("/clusters/nowhere").want(404, "Nicht lesbar: der Cluster.", "could not be found")
	const path = "/clusters/new"
	form := b.get(path).want(200, "Von Ihrer Quota übrig: vCPUs ", "m1.large · ", " GiB, Platte ", "data-ended=\"Ihre Sitzung ist zu Ende.")
	v := b.typing(form, path, "name", "9x", "cluster_template_id", template, "node_count", "100000", "flavor_id", "m1.gone")
	if v.Wrong["name"] != "Ein Name beginnt mit einem Buchstaben und besteht aus Buchstaben, Ziffern, Punkten, Bindestrichen und Unterstrichen." || v.Wrong["flavor_id"] != "Es gibt kein Flavor „m1.gone“, das Sie benutzen können." {
		t.Errorf("%+v", v)
	}
	v = b.typing(form, path, "name", "other", "cluster_template_id", template, "node_count", "0")
	if len(v.Cost) != 2 || !strings.HasPrefix(v.Cost[0], "Das belegt 1 Maschine mit ") || !strings.Contains(v.Cost[0], ",0 GiB Speicher Ihrer Quota.") {
		t.Errorf("%+v", v)
	}
	// Who chooses another language gets it after signing in again too, with what was typed.
	b.get("/language?to=en&page=/clusters").want(200, `<html lang="en">`, "well")
	w.Later.Store(int64(24 * time.Hour))
	ended := b.send(form, path, "name", "my-cluster").want(401, "Your session has ended.")
	if strings.Contains(ended.text, `class="languages"`) {
		t.Error("what was typed would be lost by a choice")
	}
	w.Later.Store(0)
	b.send(ended, "/enter", "user", tenanttest.Member, "password", tenanttest.Password, "project", "shop").want(200, "You had to sign in again", `value="my-cluster"`)
	b.get("/language?to=de&page="+path).want(200, "Neuer Cluster")
}

// TestEveryTextIsOfACatalog: in a language without letters, all letters are of data.
func TestEveryTextIsOfACatalog(t *testing.T) {
	t.Parallel()
	silent := wordstest.Silent(t, "../../..")
	w := tenanttest.Start(t, func(o *tenant.Options) { o.Languages = silent })
	template := w.Template("k8s", "ubuntu-1.34")
	id := w.Cluster("shop-prod", template)
	at := "/clusters/" + id
	workers := at + "/groups/" + w.View(id).Default(false).UUID()
	data := []string{"shop", "shop-prod", "bank", tenanttest.Member, "default-master", "default-worker", "master", "worker", "create complete", "update failed", "update complete", "The cluster has no certificate authority yet. Wait until it is ready", "v1.34.2", "k8s", "k8s · Kubernetes v1.34.2", "ops", "https://203.0.113.20:6443", "Ubuntu", "Kubernetes", id, template,
		"No valid host was found", "shop-prod-w2", "nowhere", "Cluster nowhere could not be found", "m1.gone", "EOF", "m1.tiny", "m1.small", "m1.medium", "m1.large", "m1.xlarge", "m1.2xlarge", "m1.4xlarge", "c1.small", "c1.medium", "v1.medium", "v1.large"}
	b := open(t, w)
	// What has no name yet, or whose name could not be read, is shown by its ID.
	ids := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	look := func(p page, at string) {
		t.Helper()
		for _, one := range wordstest.Letters(ids.ReplaceAllString(p.text, ""), data) {
			t.Errorf("%s says %q", at, one)
		}
	}
	enter := b.get("/enter")
	look(enter, "/enter")
	for _, fields := range [][]string{{"user", "", "password", ""}, {"user", tenanttest.Member, "password", "guess"}, {"user", tenanttest.Member, "password", tenanttest.Password}, {"user", tenanttest.Nobody, "password", tenanttest.Password},
		{"how", "credential", "credential", "", "secret", ""}, {"how", "credential", "credential", "nowhere", "secret", "guess"}} {
		look(b.send(enter, "/enter", fields...), strings.Join(fields, " "))
	}
	look(b.get("/nowhere"), "/nowhere")
	b.enter(tenanttest.Member, "shop")
	all := []string{"/clusters?q=none", "/clusters", at, at + "/upgrade", at + "/rotate", at + "/delete", at + "/groups/new", "/clusters/new", workers + "/resize", workers + "/delete", "/clusters/nowhere", "/nowhere"}
	b.until("/clusters", "shop-prod")
	b.until(at, "default-worker")
	for _, path := range all {
		look(b.get(path), path)
	}
	look(b.fill("/clusters/new", "name", "9x", "node_count", "many", "master_count", "2", "labels", "nowhere"), "mistakes")
	look(b.fill("/clusters/new", "name", "shop", "cluster_template_id", template, "flavor_id", "m1.gone", "do", "check"), "what is not there")
	look(b.fill("/clusters/new", "name", "shop", "cluster_template_id", template, "node_count", "100000", "do", "check"), "what is too large")
	look(b.fill(at+"/groups/new", "name", "shop", "node_count", "1", "min_node_count", "2"), "a group")
	look(b.fill(at+"/delete", "confirm", "nowhere"), "a deletion")
	w.Settle(id, func(c *v1alpha1.Cluster) {
		c.Status.Phase, c.Status.StatusReason = v1alpha1.UpdateFailed, "shop-prod-w2: No valid host was found"
	})
	look(b.until(at, "No valid host"), "a cause")
	look(b.send(b.get(at+"/rotate"), at+"/rotate", "what", "credential", "seen", "nowhere"), "a conflict")
	look(b.send(b.get(at), at+"/kubeconfig"), "a kubeconfig")
	w.Away.Store(true)
	for _, path := range all[1:] {
		look(b.get(path), "without Magnum "+path)
	}
	w.Later.Store(int64(24 * time.Hour))
	look(b.get("/clusters"), "after the session")
}
