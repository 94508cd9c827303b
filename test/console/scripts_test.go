package console

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/test/browser"
)

// withoutScripts has the browser run no script of a page from now on.
func (b *tab) withoutScripts(t *testing.T) {
	t.Helper()
	b.Do(t, browser.Command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.EmulateViewport(1280, 900))
}

// bare fails if a script of the page has run, or its text is not there.
func (b *tab) bare(t *testing.T, path, text string) {
	t.Helper()
	b.goTo(t, path)
	if browser.Ask[bool](t, b.Tab, `typeof htmx !== "undefined"`) {
		t.Fatalf("%s runs scripts", path)
	}
	if page := b.Text(t, `document.querySelector("#main").innerText`); !strings.Contains(page, text) {
		t.Errorf("%s has no %q:\n%s", path, text, page)
	}
	b.wide(t, path)
}

// TestTenantsPagesWithoutScripts are read, and forms are checked and sent: a page that waits
// for its first reading loads itself again.
func TestTenantsPagesWithoutScripts(t *testing.T) {
	b, w := tenants(t)
	template := w.Template("k8s", "ubuntu-1.34")
	id := w.Cluster("shop-prod", template)
	b.withoutScripts(t)
	w.Slow.Store(int64(2 * time.Second))
	b.signIn(t)
	b.Await(t, "the cluster, without a script", `document.body.innerText.includes("shop-prod")`)
	w.Slow.Store(0)
	b.Click(t, `tbody a`)
	b.Await(t, "the page of the cluster", `document.body.innerText.includes("default-worker")`)
	at := "/clusters/" + id
	for path, text := range map[string]string{"/clusters?q=shop": "shop-prod", "/clusters?q=nothing": "No cluster fits", at: "create complete", at + "/upgrade": "What is replaced", at + "/rotate": "What happens",
		at + "/delete": "All 3 machines", at + "/groups/new": "Only check", "/clusters/new": "Only check"} {
		b.bare(t, path, text)
	}
	b.bare(t, "/clusters/new", "Left of your quota")
	b.fillIn(t, "name", "other", "cluster_template_id", template, "master_count", "2")
	b.Press(t, `button[value="check"]`)
	b.Await(t, "the mistake and what it takes", `document.querySelector("#e-master_count").innerText.includes("odd") && document.querySelector("#cost").innerText.includes("This takes 3 machines")`)
	b.fillIn(t, "master_count", "1")
	b.Press(t, "form.change button")
	b.Await(t, "the cluster that is made", `document.body.innerText.includes("create in progress")`)
	b.forgive("401")
	b.quiet(t)
}

// TestPagesWithoutScripts are all of the operator's, and a run of before at a chosen time.
func TestPagesWithoutScripts(t *testing.T) {
	b := open(t, consoletest.Whole())
	b.withoutScripts(t)
	for path, text := range map[string]string{"/": "Not all is well", "/up": "steps have ended", "/environment": "prod-7", "/clusters": "k8s-1", "/clusters?q=k8s-2": "k8s-2", "/clusters/magnum-00000001/k8s-1": "No valid host",
		"/causes": "choose a smaller flavor", "/backups": "20260102t020000z", "/log": "slipway up", "/log/" + consoletest.RunFailed: "slipway.yaml"} {
		b.bare(t, path, text)
	}
	b.bare(t, "/up?run="+consoletest.RunFailed, "Playing needs JavaScript")
	browser.Ask[bool](t, b.Tab, `(document.querySelector("#at").value = "20") === "20"`)
	b.Press(t, ".replay button")
	b.Await(t, "the run at that time", `location.search.includes("at=20") && document.body.innerText.includes("after the beginning")`)
	b.goTo(t, "/clusters")
	b.Press(t, "form.again button")
	b.Await(t, "the page again", `location.pathname === "/clusters"`)
	b.quiet(t)
}
