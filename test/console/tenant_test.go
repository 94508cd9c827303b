package console

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/test/browser"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// tenants opens the tenants' console of a cloud in a browser.
func tenants(t *testing.T) (*tab, *tenanttest.World) {
	t.Helper()
	b := &tab{}
	chromium := browser.Program(t)
	w := tenanttest.Start(t)
	b.base, b.server = w.Console, w.Front
	b.Tab = browser.Launch(t, chromium)
	return b, w
}

// federated opens, in a browser that trusts their certificates, a console that signs in at an
// identity provider.
func federated(t *testing.T) (*tab, *tenanttest.World) {
	t.Helper()
	b := &tab{}
	chromium := browser.Program(t)
	w := tenanttest.Start(t)
	f := w.Federate()
	f.User = tenanttest.Member
	entrance, err := url.Parse(strings.Replace(f.URL, "127.0.0.1", "localhost", 1)) // for browsers another site than the console
	if err != nil {
		t.Fatal(err)
	}
	b.server = w.Serve(true, func(o *tenant.Options) {
		o.Entrance, o.Ways = entrance, []tenant.Way{{Name: "Company login", Protocol: "openid"}}
	})
	b.base = b.server.URL
	f.Trusted = []string{b.base + tenant.ArrivalPath}
	b.Tab = browser.Launch(t, chromium, chromedp.Flag("ignore-certificate-errors", true))
	return b, w
}

// goTo opens a page.
func (b *tab) goTo(t *testing.T, path string) {
	t.Helper()
	b.Open(t, b.base+path)
}

// fillIn types into the form of a change.
func (b *tab) fillIn(t *testing.T, fields ...string) {
	t.Helper()
	for i := 0; i+1 < len(fields); i += 2 {
		b.Type(t, "form.change [name="+fields[i]+"]", fields[i+1])
	}
}

// signIn signs a user in.
func (b *tab) signIn(t *testing.T) {
	t.Helper()
	b.goTo(t, "/clusters")
	b.Send(t, `form[action="/enter"]`, "user", tenanttest.Member, "password", tenanttest.Password, "project", "shop")
	b.Await(t, "the list of clusters", `location.pathname === "/clusters"`)
}

// forgive forgets complaints of the browser about pages that were refused: that is their status.
func (b *tab) forgive(statuses ...string) {
	b.Forgive(func(one string) bool {
		return slices.ContainsFunc(statuses, func(status string) bool { return strings.Contains(one, "status of "+status) })
	})
}

// TestATenantInABrowser signs in, creates a cluster until it is listed and ready, resizes it,
// upgrades it, sees why a machine is missing, downloads a kubeconfig and deletes it.
func TestATenantInABrowser(t *testing.T) {
	b, w := tenants(t)
	template := w.Template("k8s", "ubuntu-1.34")
	b.Do(t, chromedp.EmulateViewport(1280, 900))
	b.signIn(t)
	b.goTo(t, "/clusters/new")
	b.Send(t, "form.change", "name", "shop-prod", "cluster_template_id", template, "master_count", "2", "node_count", "2")
	b.Await(t, "the mistake at its field", `document.querySelector("#e-master_count").innerText.includes("odd") && document.querySelector("#f-name").value === "shop-prod"`)
	b.Send(t, "form.change", "master_count", "1")
	id := strings.TrimPrefix(b.Text(t, "location.pathname"), "/clusters/")
	b.Await(t, "the cluster", `document.body.innerText.includes("create in progress")`)
	browser.Ask[bool](t, b.Tab, `window.same = true`)
	w.Settle(id)
	b.Await(t, "its end, without loading again", `document.body.innerText.includes("create complete") && window.same === true`)
	b.goTo(t, "/clusters")
	b.Await(t, "it in the list", `document.body.innerText.includes("shop-prod")`)
	workers := "/clusters/" + id + "/groups/" + w.View(id).Default(false).UUID() + "/resize"
	b.goTo(t, workers)
	b.Send(t, "form.change", "node_count", "4")
	if n := w.View(id).Default(false).Spec.NodeCount; n != 4 {
		t.Errorf("%d workers", n)
	}
	w.Settle(id)
	newer := w.Template("k8s-next", "ubuntu-1.35")
	b.goTo(t, "/clusters/"+id+"/upgrade")
	b.Send(t, "form.change", "cluster_template", newer)
	b.Await(t, "the upgrade", `location.pathname.endsWith("/`+id+`") && document.body.innerText.includes("update in progress")`)
	if used := w.View(id).Cluster.Spec.Template.UUID; used != newer {
		t.Errorf("the template is %s", used)
	}
	browser.Ask[bool](t, b.Tab, `window.same = true`)
	const cause = "server shop-prod-w2: No valid host was found"
	w.Settle(id, func(c *v1alpha1.Cluster) { c.Status.Phase, c.Status.StatusReason = v1alpha1.UpdateFailed, cause })
	b.Await(t, "the cause, without loading again", `document.querySelector("#live").innerText.includes("Causes") && document.querySelector(".said").innerText === "`+cause+`" && window.same === true`)
	w.Settle(id, func(c *v1alpha1.Cluster) { c.Status.StatusReason = "" })
	b.Await(t, "the newer Kubernetes", `document.body.innerText.includes("update complete") && document.body.innerText.includes("v1.35.1") && !document.body.innerText.includes("Causes")`)
	w.Authority(id)
	folder := t.TempDir()
	b.Download(t, folder)
	b.Click(t, `form[action$="/kubeconfig"] button`)
	w.Await("the kubeconfig", func() bool {
		text, err := os.ReadFile(filepath.Join(folder, "shop-prod.kubeconfig"))
		return err == nil && strings.Contains(string(text), "client-key-data")
	})
	b.goTo(t, "/clusters/"+id+"/delete")
	b.Send(t, "form.change", "confirm", "shop-prod")
	b.Await(t, "the list", `location.pathname === "/clusters"`)
	w.Settle(id)
	b.Await(t, "its end", `document.body.innerText.includes("There are no clusters")`)
	b.forgive("401", "422")
	b.quiet(t)
}

// TestSigningInAtAProvider goes to another site and comes back, with cookies as browsers treat
// them: by a form of that site, which brings the parcel, to a page that has the session.
func TestSigningInAtAProvider(t *testing.T) {
	b, _ := federated(t)
	b.goTo(t, "/clusters/new")
	axe := axeCore(t)
	b.accessible(t, axe, "ways to sign in")
	b.Shot(t, "tenant-providers")
	b.Click(t, `form[action="/enter/depart"] button`)
	b.Await(t, "the choice of a project", `document.querySelector("#chosen") !== null`)
	b.accessible(t, axe, "choice of a project")
	b.Send(t, `form[action="/enter"]`, "project", "shop")
	b.Await(t, "the form that was wanted", `location.pathname === "/clusters/new"`)
	b.goTo(t, "/clusters")
	b.Await(t, "the project", `document.querySelector(".where").innerText.includes("shop")`)
}

// TestMistakesWhileTyping are told without loading the page again, only at fields that were
// touched, and go when they are corrected.
func TestMistakesWhileTyping(t *testing.T) {
	b, w := tenants(t)
	template := w.Template("k8s", "ubuntu-1.34")
	axe := axeCore(t)
	b.signIn(t)
	b.goTo(t, "/clusters/new")
	browser.Ask[bool](t, b.Tab, `window.same = true`)
	enter := func(field, value string) {
		browser.Ask[bool](t, b.Tab, fmt.Sprintf(`(() => { const f = document.querySelector("#f-" + %q); f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})); return true })()`, field, value))
	}
	enter("name", "9x")
	b.Await(t, "the mistake", `document.querySelector("#e-name").innerText.includes("begins with a letter") && document.querySelector("#f-name").getAttribute("aria-invalid") === "true"`)
	if browser.Ask[bool](t, b.Tab, `document.querySelector("#e-cluster_template_id").checkVisibility()`) {
		t.Error("a field that nobody has touched is wrong")
	}
	b.accessible(t, axe, "a mistake while typing")
	b.Shot(t, "tenant-typing")
	enter("name", "shop-prod")
	b.Await(t, "its end", `!document.querySelector("#e-name").checkVisibility() && !document.querySelector("#f-name").hasAttribute("aria-invalid")`)
	enter("cluster_template_id", template)
	b.Await(t, "what it takes", `document.querySelector("#cost").innerText.includes("This takes 2 machines")`)
	enter("node_count", "100000")
	b.Await(t, "the quota", `document.querySelector("#e-node_count").innerText.includes("no room") && document.querySelector("#cost").classList.contains("over")`)
	b.accessible(t, axe, "no room")
	b.wide(t, "no room")
	enter("node_count", "1")
	b.Await(t, "room", `!document.querySelector("#cost").classList.contains("over") && window.same === true`)
	b.Send(t, "form.change", "node_count", "1")
	b.Await(t, "the cluster", `document.body.innerText.includes("create in progress")`)
	b.forgive("401")
	b.quiet(t)
}

// TestTenantsPagesAreForEverybody: axe-core finds no violation, nothing is wider than the
// window.
func TestTenantsPagesAreForEverybody(t *testing.T) {
	b, w := tenants(t)
	axe := axeCore(t)
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	all := screens()
	for _, s := range all {
		b.Do(t, s.set())
		b.goTo(t, "/enter")
		b.accessible(t, s.axe(axe), s.name+" enter")
		b.wide(t, s.name+" enter")
		b.Shot(t, "tenant-enter-"+s.name)
	}
	b.signIn(t)
	b.goTo(t, "/clusters")
	b.Await(t, "the cluster", `document.body.innerText.includes("shop-prod")`)
	at := "/clusters/" + id
	pages := map[string]string{"clusters": "/clusters", "cluster": at, "new": "/clusters/new", "upgrade": at + "/upgrade", "rotate": at + "/rotate", "delete": at + "/delete", "group": at + "/groups/new",
		"resize": at + "/groups/" + w.View(id).Default(false).UUID() + "/resize", "nowhere": "/nowhere"}
	for _, s := range all {
		b.Do(t, s.set())
		for name, path := range pages {
			b.goTo(t, path)
			b.accessible(t, s.axe(axe), s.name+" "+path)
			b.wide(t, s.name+" "+path)
			b.Shot(t, "tenant-"+name+"-"+s.name)
		}
		b.goTo(t, "/clusters/new")
		b.Send(t, "form.change", "name", "9x", "node_count", "many")
		b.accessible(t, s.axe(axe), s.name+" mistakes")
		b.wide(t, s.name+" mistakes")
		b.Shot(t, "tenant-mistakes-"+s.name)
	}
	time.Sleep(time.Second) // what the browser says late
	b.forgive("401", "404", "422")
	b.quiet(t)
}

// TestButtonsOfTheOperatorsConsole are forms: the browser says that they come from this site.
func TestButtonsOfTheOperatorsConsole(t *testing.T) {
	b := open(t, consoletest.Whole())
	b.goTo(t, "/clusters?q=k8s")
	b.Send(t, "form.again")
	if at := b.Text(t, "location.pathname + location.search"); at != "/clusters?q=k8s" {
		t.Errorf("reading again leads to %s", at)
	}
	b.Send(t, "form.leave")
	b.Await(t, "the end of the session", `document.body.innerText.includes("You have signed out")`)
	b.quiet(t)
}
