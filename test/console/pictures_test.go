package console

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/test/browser"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// picture looks at a page as a picture of docs has it.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	b.Tab.Picture(t, filepath.Join("..", "..", "docs", "images", "console", name+".png"))
}

// TestPicturesOfTheConsole: the pages look as the documentation shows them.
func TestPicturesOfTheConsole(t *testing.T) {
	world := consoletest.Whole()
	world.Runs = world.Runs[1:] // how long the one that goes on takes is never the same
	b := open(t, world)
	b.Still(t)
	b.Do(t, screens()[0].set())
	for name, path := range map[string]string{"overview": "/", "bring-up": "/up?run=" + consoletest.RunFailed, "clusters": "/clusters", "causes": "/causes"} {
		b.goTo(t, path)
		b.picture(t, name)
	}
}

// TestPicturesOfTheTenantsConsole: as above.
func TestPicturesOfTheTenantsConsole(t *testing.T) {
	b, w := tenants(t)
	template := w.Template("k8s", "ubuntu-1.34")
	const cause = "server shop-prod-w2: No valid host was found. There are not enough hosts available."
	ill := w.Cluster("shop-prod", template)
	w.Settle(ill, func(c *v1alpha1.Cluster) { c.Status.Phase, c.Status.StatusReason = v1alpha1.UpdateFailed, cause })
	w.Settle(w.Cluster("shop-stage", template), func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.UpdateInProgress })
	w.Cluster("shop-test", template)
	if _, err := networks.Create(t.Context(), w.As(tenanttest.Member, "shop").Network(t), networks.CreateOpts{Name: "backend"}).Extract(); err != nil {
		t.Fatal(err)
	}
	b.Still(t)
	b.Do(t, screens()[0].set())
	b.signIn(t)
	b.goTo(t, "/clusters")
	b.Await(t, "the clusters", `document.querySelectorAll("tbody tr").length === 3`)
	b.picture(t, "tenant-clusters")
	b.goTo(t, "/clusters/"+ill)
	b.Await(t, "the groups", `document.querySelectorAll("tbody tr").length === 2`)
	b.picture(t, "tenant-cluster")
	b.goTo(t, "/clusters/"+ill+"/delete")
	b.picture(t, "tenant-delete")
	b.goTo(t, "/clusters/new")
	b.Do(t, chromedp.EmulateViewport(1280, 1560))
	for _, one := range [][2]string{{"name", "shop-large"}, {"cluster_template_id", template}, {"node_count", "100"}} {
		browser.Ask[bool](t, b.Tab, `(() => { const f = document.querySelector("#f-`+one[0]+`"); f.value = "`+one[1]+`"; f.dispatchEvent(new Event("input", {bubbles: true})); return true })()`)
	}
	b.Await(t, "what it takes", `document.querySelector("#cost").innerText.includes("no room") && document.querySelector("#e-node_count").checkVisibility()`)
	b.picture(t, "tenant-new")
}
