package console

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// look looks at a page on each screen.
func (b *tab) look(t *testing.T, axe, name, path string) {
	t.Helper()
	for _, s := range screens() {
		b.Do(t, s.set())
		b.goTo(t, path)
		b.accessible(t, s.axe(axe), s.name+" "+name)
		b.wide(t, s.name+" "+name)
		b.Shot(t, "tenant-"+name+"-"+s.name)
	}
}

// TestStatesOfTenantsPages: what is loading, empty, ill, hostile, away or gone is for everybody
// too.
func TestStatesOfTenantsPages(t *testing.T) {
	axe := axeCore(t)
	b, w := tenants(t)
	w.Slow.Store(int64(time.Minute))
	b.signIn(t)
	b.Await(t, "the note that it is asked", `document.body.innerText.includes("Asking for the first time")`)
	b.look(t, axe, "loading", "/clusters")
	w.Slow.Store(0)

	b, w = tenants(t)
	b.signIn(t)
	b.look(t, axe, "empty", "/clusters")
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	at := "/clusters/" + id
	for name, text := range map[string]string{"ill": "server shop-prod-w2: No valid host was found", "hostile": evil()} {
		w.Settle(id, func(c *v1alpha1.Cluster) {
			c.Status.Phase, c.Status.StatusReason = v1alpha1.UpdateFailed, text
			c.Status.HealthStatusReason = map[string]string{"shop-prod-w2": text}
		})
		b.goTo(t, at)
		said := strings.TrimPrefix(text, "\u202E")[:10]
		b.Await(t, "the cause", `document.querySelector(".said") !== null && document.querySelector(".said").innerText.includes("`+said+`")`)
		b.look(t, axe, name, at)
		b.goTo(t, "/clusters")
		b.Await(t, "the cause in the list", `document.querySelector(".cause") !== null && document.querySelector(".cause").innerText.includes("`+said+`")`)
		b.look(t, axe, name+"-list", "/clusters")
	}
	b.look(t, axe, "gone", "/clusters/nowhere")
	w.Away.Store(true)
	for _, path := range []string{"/clusters", at} {
		b.goTo(t, path)
		b.Send(t, "form.again")
		b.Await(t, "the banner", `document.querySelector(".banner[role=alert]:not([hidden])") !== null`)
	}
	b.look(t, axe, "away-list", "/clusters")
	b.look(t, axe, "away", at)
	b.look(t, axe, "away-form", "/clusters/new")
	b.look(t, axe, "away-deletion", at+"/delete")
	b.forgive("401", "404")
	b.quiet(t)
}
