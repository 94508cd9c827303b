package console

import (
	"testing"

	"github.com/slipway-sh/slipway/internal/console/consoletest"
)

// TestPagesInGermanAreForEverybody: words are longer, and nothing is wider than the window; the
// link at the end of a page leads to the same page in the other language.
func TestPagesInGermanAreForEverybody(t *testing.T) {
	axe := axeCore(t)
	b := open(t, consoletest.Whole())
	b.goTo(t, "/clusters?q=k8s")
	b.Press(t, ".languages a[lang=de]")
	b.Await(t, "the page in German", `document.documentElement.lang === "de" && location.search === "?q=k8s" && document.body.innerText.includes("Nur jene, die nicht in Ordnung sind")`)
	for name, path := range map[string]string{"overview": "/", "up": "/up", "up-failed": "/up?run=" + consoletest.RunFailed, "environment": "/environment", "clusters": "/clusters", "cluster": "/clusters/magnum-00000001/k8s-1",
		"causes": "/causes", "backups": "/backups", "plan": "/plan", "capacity": "/capacity", "certificates": "/certificates", "log": "/log", "run": "/log/" + consoletest.RunFailed} {
		b.inGerman(t, axe, name, path)
	}
	b.quiet(t)

	b, w := tenants(t)
	id := w.Cluster("shop-prod", w.Template("k8s", "ubuntu-1.34"))
	b.goTo(t, "/clusters")
	b.Press(t, ".languages a[lang=de]")
	b.inGerman(t, axe, "enter", "/enter")
	b.signIn(t)
	at := "/clusters/" + id
	b.Await(t, "the cluster", `document.body.innerText.includes("shop-prod")`)
	for name, path := range map[string]string{"clusters": "/clusters", "cluster": at, "new": "/clusters/new", "upgrade": at + "/upgrade", "rotate": at + "/rotate", "delete": at + "/delete", "group": at + "/groups/new",
		"resize": at + "/groups/" + w.View(id).Default(false).UUID() + "/resize"} {
		b.inGerman(t, axe, "tenant-"+name, path)
	}
	b.forgive("401")
	b.quiet(t)
}

// inGerman looks at a page in a window and on a phone.
func (b *tab) inGerman(t *testing.T, axe, name, path string) {
	t.Helper()
	all := screens()
	for _, s := range []screen{all[0], all[2]} {
		b.Do(t, s.set())
		b.goTo(t, path)
		if language := b.Text(t, "document.documentElement.lang"); language != "de" {
			t.Errorf("%s is in %s", path, language)
		}
		b.accessible(t, axe, s.name+" "+path)
		b.wide(t, s.name+" "+path)
		b.Shot(t, "german-"+name+"-"+s.name)
	}
}
