package console

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// tenants opens the tenants' console of a cloud in a browser.
func tenants(t *testing.T) (*tab, *tenanttest.World) {
	t.Helper()
	b := &tab{}
	chromium := b.browser(t)
	w := tenanttest.Start(t)
	b.base, b.server = w.Console, w.Front
	b.launch(t, chromium)
	return b, w
}

// federated opens, in a browser that trusts their certificates, a console that signs in at an
// identity provider.
func federated(t *testing.T) (*tab, *tenanttest.World) {
	t.Helper()
	b := &tab{}
	chromium := b.browser(t)
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
	b.launch(t, chromium, chromedp.Flag("ignore-certificate-errors", true))
	return b, w
}

// goTo opens a page.
func (b *tab) goTo(t *testing.T, path string) {
	t.Helper()
	b.do(t, chromedp.Navigate(b.base+path), chromedp.WaitVisible(chromedp.CSS("h1")))
}

// send types into a form and presses its button, as a person would, and waits for the page
// that follows.
func (b *tab) send(t *testing.T, form string, fields ...string) {
	t.Helper()
	ask[bool](t, b, `window.former = true`)
	for i := 0; i+1 < len(fields); i += 2 {
		ask[bool](t, b, fmt.Sprintf(`(() => { const f = document.querySelector(%q); f.focus(); f.value = %q; return document.activeElement === f })()`, form+" [name="+fields[i]+"]", fields[i+1]))
	}
	ask[bool](t, b, fmt.Sprintf(`document.querySelector(%q).click() === undefined`, form+" button"))
	b.await(t, "the page that follows "+form, `window.former === undefined && document.readyState === "complete"`)
}

// signIn signs a user in.
func (b *tab) signIn(t *testing.T) {
	t.Helper()
	b.goTo(t, "/clusters")
	b.send(t, `form[action="/enter"]`, "user", tenanttest.Member, "password", tenanttest.Password, "project", "shop")
	b.await(t, "the list of clusters", `location.pathname === "/clusters"`)
}

// forgive forgets complaints of the browser about pages that were refused: that is their status.
func (b *tab) forgive(statuses ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []string
	for _, one := range b.complain {
		known := false
		for _, status := range statuses {
			known = known || strings.Contains(one, "status of "+status)
		}
		if !known {
			left = append(left, one)
		}
	}
	b.complain = left
}

// TestATenantInABrowser signs in, creates a cluster until it is listed and ready, resizes it,
// downloads a kubeconfig and deletes it.
func TestATenantInABrowser(t *testing.T) {
	b, w := tenants(t)
	template := w.Template("k8s", "ubuntu-1.34")
	b.do(t, chromedp.EmulateViewport(1280, 900))
	b.signIn(t)
	b.goTo(t, "/clusters/new")
	b.send(t, "form.change", "name", "shop-prod", "cluster_template_id", template, "master_count", "2", "node_count", "2")
	b.await(t, "the mistake at its field", `document.querySelector("#e-master_count").innerText.includes("odd") && document.querySelector("#f-name").value === "shop-prod"`)
	b.send(t, "form.change", "master_count", "1")
	id := strings.TrimPrefix(b.text(t, "location.pathname"), "/clusters/")
	b.await(t, "the cluster", `document.body.innerText.includes("create in progress")`)
	ask[bool](t, b, `window.same = true`)
	w.Settle(id)
	b.await(t, "its end, without loading again", `document.body.innerText.includes("create complete") && window.same === true`)
	b.goTo(t, "/clusters")
	b.await(t, "it in the list", `document.body.innerText.includes("shop-prod")`)
	workers := "/clusters/" + id + "/groups/" + w.View(id).Default(false).UUID() + "/resize"
	b.goTo(t, workers)
	b.send(t, "form.change", "node_count", "4")
	if n := w.View(id).Default(false).Spec.NodeCount; n != 4 {
		t.Errorf("%d workers", n)
	}
	w.Settle(id)
	w.Authority(id)
	folder := t.TempDir()
	b.do(t, command(cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: folder}))
	ask[bool](t, b, `document.querySelector('form[action$="/kubeconfig"] button').click() === undefined`)
	w.Await("the kubeconfig", func() bool {
		text, err := os.ReadFile(filepath.Join(folder, "shop-prod.kubeconfig"))
		return err == nil && strings.Contains(string(text), "client-key-data")
	})
	b.goTo(t, "/clusters/"+id+"/delete")
	b.send(t, "form.change", "confirm", "shop-prod")
	b.await(t, "the list", `location.pathname === "/clusters"`)
	w.Settle(id)
	b.await(t, "its end", `document.body.innerText.includes("There are no clusters")`)
	b.forgive("401", "422")
	b.quiet(t)
}

// TestSigningInAtAProvider goes to another site and comes back, with cookies as browsers treat
// them: by a form of that site, which brings the parcel, to a page that has the session.
func TestSigningInAtAProvider(t *testing.T) {
	b, _ := federated(t)
	b.goTo(t, "/clusters/new")
	axe, err := os.ReadFile(os.Getenv("SLIPWAY_AXE"))
	if err != nil {
		t.Fatalf("SLIPWAY_AXE names no axe.min.js: %v", err)
	}
	b.accessible(t, string(axe), "ways to sign in")
	b.shot(t, "tenant-providers")
	ask[bool](t, b, `document.querySelector('form[action="/enter/depart"] button').click() === undefined`)
	b.await(t, "the choice of a project", `document.querySelector("#chosen") !== null`)
	b.accessible(t, string(axe), "choice of a project")
	b.send(t, `form[action="/enter"]`, "project", "shop")
	b.await(t, "the form that was wanted", `location.pathname === "/clusters/new"`)
	b.goTo(t, "/clusters")
	b.await(t, "the project", `document.querySelector(".where").innerText.includes("shop")`)
}

// TestMistakesWhileTyping are told without loading the page again, only at fields that were
// touched, and go when they are corrected.
func TestMistakesWhileTyping(t *testing.T) {
	b, w := tenants(t)
	template := w.Template("k8s", "ubuntu-1.34")
	axe, err := os.ReadFile(os.Getenv("SLIPWAY_AXE"))
	if err != nil {
		t.Fatalf("SLIPWAY_AXE names no axe.min.js: %v", err)
	}
	b.signIn(t)
	b.goTo(t, "/clusters/new")
	ask[bool](t, b, `window.same = true`)
	enter := func(field, value string) {
		ask[bool](t, b, fmt.Sprintf(`(() => { const f = document.querySelector("#f-" + %q); f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})); return true })()`, field, value))
	}
	enter("name", "9x")
	b.await(t, "the mistake", `document.querySelector("#e-name").innerText.includes("begins with a letter") && document.querySelector("#f-name").getAttribute("aria-invalid") === "true"`)
	if ask[bool](t, b, `document.querySelector("#e-cluster_template_id").checkVisibility()`) {
		t.Error("a field that nobody has touched is wrong")
	}
	b.accessible(t, string(axe), "a mistake while typing")
	b.shot(t, "tenant-typing")
	enter("name", "shop-prod")
	b.await(t, "its end", `!document.querySelector("#e-name").checkVisibility() && !document.querySelector("#f-name").hasAttribute("aria-invalid")`)
	enter("cluster_template_id", template)
	b.await(t, "what it takes", `document.querySelector("#cost").innerText.includes("This takes 2 machines")`)
	enter("node_count", "100000")
	b.await(t, "the quota", `document.querySelector("#e-node_count").innerText.includes("no room") && document.querySelector("#cost").classList.contains("over")`)
	b.accessible(t, string(axe), "no room")
	b.wide(t, "no room")
	enter("node_count", "1")
	b.await(t, "room", `!document.querySelector("#cost").classList.contains("over") && window.same === true`)
	b.send(t, "form.change", "node_count", "1")
	b.await(t, "the cluster", `document.body.innerText.includes("create in progress")`)
	b.forgive("401")
	b.quiet(t)
}

// TestTenantsPagesAreForEverybody: axe-core finds no violation, nothing is wider than the
// window.
func TestTenantsPagesAreForEverybody(t *testing.T) {
	b, w := tenants(t)
	axe, err := os.ReadFile(os.Getenv("SLIPWAY_AXE"))
	if err != nil {
		t.Fatalf("SLIPWAY_AXE names no axe.min.js: %v", err)
	}
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	screens := []screen{{"light", 1280, 900, "light"}, {"dark", 1280, 900, "dark"}, {"phone", 320, 700, "light"}}
	for _, s := range screens {
		b.do(t, s.set())
		b.goTo(t, "/enter")
		b.accessible(t, string(axe), s.name+" enter")
		b.wide(t, s.name+" enter")
		b.shot(t, "tenant-enter-"+s.name)
	}
	b.signIn(t)
	b.goTo(t, "/clusters")
	b.await(t, "the cluster", `document.body.innerText.includes("shop-prod")`)
	at := "/clusters/" + id
	pages := map[string]string{"clusters": "/clusters", "cluster": at, "new": "/clusters/new", "upgrade": at + "/upgrade", "rotate": at + "/rotate", "delete": at + "/delete", "group": at + "/groups/new",
		"resize": at + "/groups/" + w.View(id).Default(false).UUID() + "/resize", "nowhere": "/nowhere"}
	for _, s := range screens {
		b.do(t, s.set())
		for name, path := range pages {
			b.goTo(t, path)
			b.accessible(t, string(axe), s.name+" "+path)
			b.wide(t, s.name+" "+path)
			b.shot(t, "tenant-"+name+"-"+s.name)
		}
		b.goTo(t, "/clusters/new")
		b.send(t, "form.change", "name", "9x", "node_count", "many")
		b.accessible(t, string(axe), s.name+" mistakes")
		b.shot(t, "tenant-mistakes-"+s.name)
	}
	time.Sleep(time.Second) // what the browser says late
	b.forgive("401", "404", "422")
	b.quiet(t)
}

// TestButtonsOfTheOperatorsConsole are forms: the browser says that they come from this site.
func TestButtonsOfTheOperatorsConsole(t *testing.T) {
	b := open(t, consoletest.Whole())
	b.goTo(t, "/clusters?q=k8s")
	b.send(t, "form.again")
	if at := b.text(t, "location.pathname + location.search"); at != "/clusters?q=k8s" {
		t.Errorf("reading again leads to %s", at)
	}
	b.send(t, "form.leave")
	b.await(t, "the end of the session", `document.body.innerText.includes("You have signed out")`)
	b.quiet(t)
}
