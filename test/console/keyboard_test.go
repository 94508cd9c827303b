package console

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/slipway-sh/slipway/test/browser"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// focused is what has the focus, by its ID or text, and whether somebody sees that it has.
const focused = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), at = e.getBoundingClientRect();
	const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
	const inside = at.width > 0 && at.height > 0 && at.left >= 0 && at.top >= 0 && at.right <= innerWidth && at.bottom <= innerHeight;
	return (e.id || e.innerText.trim()) + (outlined ? "" : " without an outline") + (inside ? "" : " out of sight");
})()`

// press presses keys.
func (b *tab) press(t *testing.T, keys string) {
	t.Helper()
	b.Do(t, chromedp.KeyEvent(keys))
}

// walk presses the tabulator, and wants the focus to be seen at one after the other. What
// follows an ID is typed there.
func (b *tab) walk(t *testing.T, stops [][2]string) {
	t.Helper()
	for _, stop := range stops {
		b.press(t, kb.Tab)
		if at := b.Text(t, focused); at != stop[0] {
			t.Fatalf("the focus is at %q, not at %q", at, stop[0])
		}
		if stop[1] != "" {
			b.press(t, stop[1])
		}
	}
}

// TestKeyboard signs in and creates a cluster by keys alone: each field is reached in order and
// is outlined, Enter sends, Space opens what is folded.
func TestKeyboard(t *testing.T) {
	b, w := tenants(t)
	w.Template("k8s", "ubuntu-1.34")
	b.Do(t, chromedp.EmulateViewport(1280, 900))
	b.goTo(t, "/clusters/new")
	b.walk(t, [][2]string{{"user"}, {"password"}, {"domain"}, {"project"}, {"Sign in"}, {"With an application credential", " "}, {"credential"}, {"secret"}, {"Sign in with it"}})
	if !browser.Ask[bool](t, b.Tab, `document.querySelector("details").open`) {
		t.Error("the space bar does not open the credential's form")
	}
	b.goTo(t, "/clusters/new")
	b.walk(t, [][2]string{{"user", tenanttest.Member}, {"password", tenanttest.Password}, {"domain"}, {"project", "shop" + kb.Enter}})
	b.Await(t, "the form that was wanted", `document.querySelector("#f-name") !== null && document.readyState === "complete"`)
	b.walk(t, [][2]string{{"Skip to the page", kb.Enter}, {"Back"}})
	b.goTo(t, "/clusters/new")
	b.walk(t, [][2]string{{"Skip to the page"}, {"Slipway"}, {"Sign out"}, {"Clusters"}, {"New cluster"}, {"Back"}, {"f-name", "shop-prod"}, {"f-cluster_template_id", kb.ArrowDown},
		{"f-master_count"}, {"f-node_count"}, {"f-master_flavor_id"}, {"f-flavor_id"}, {"f-fixed_network"}, {"f-keypair"}, {"f-labels", "team=blue"}, {"Create the cluster", kb.Enter}})
	b.Await(t, "the cluster", `document.body.innerText.includes("create in progress")`)
	b.goTo(t, "/clusters")
	b.Await(t, "it in the list", `document.querySelector("tbody a") !== null`)
	b.walk(t, [][2]string{{"Skip to the page", kb.Enter}, {"New cluster"}, {"Read again"}, {"q", "shop"}})
	b.forgive("401")
	b.quiet(t)
}
