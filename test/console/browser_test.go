// Package console opens the console in a browser. It needs Chromium and axe-core, which
// `make console-test` gets.
package console

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/test/browser"
)

// tab is a tab of a browser that has entered a console.
type tab struct {
	*browser.Tab
	base    string
	sources *consoletest.Sources
	server  *httptest.Server
}

// open starts a browser and signs in. It skips without one.
func open(t *testing.T, world consoletest.World) *tab {
	t.Helper()
	b := &tab{sources: consoletest.New(world), server: httptest.NewUnstartedServer(nil)}
	chromium := browser.Program(t)
	handler, err := console.New(t.Context(), console.Options{Sources: b.sources, Environment: "prod", Flags: []string{"--env", "prod"}, Address: b.server.Listener.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	b.server.Config.Handler = handler
	b.server.Start()
	t.Cleanup(func() { b.server.CloseClientConnections(); b.server.Close() })
	b.base = b.server.URL
	b.Tab = browser.Launch(t, chromium)
	b.Do(t, chromedp.Navigate(b.base+handler.Link()), chromedp.WaitVisible(chromedp.CSS("h1")))
	if at := b.Text(t, `location.pathname + location.search`); at != "/" {
		t.Fatalf("the token stays in the address: %s", at)
	}
	return b
}

// wide fails if the page is wider than the window.
func (b *tab) wide(t *testing.T, where string) {
	t.Helper()
	if over := browser.Ask[int](t, b.Tab, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("%s is %d pixels too wide", where, over)
	}
}

// quiet fails if the browser complained of the page, or asked anybody else.
func (b *tab) quiet(t *testing.T) {
	t.Helper()
	b.Quiet(t, b.base)
}

// axeCore is the program that finds what keeps people out.
func axeCore(t *testing.T) string {
	t.Helper()
	if os.Getenv("SLIPWAY_CHROMIUM") == "" {
		t.Skip("SLIPWAY_CHROMIUM names no browser: run make console-test")
	}
	axe, err := os.ReadFile(os.Getenv("SLIPWAY_AXE"))
	if err != nil {
		t.Fatalf("SLIPWAY_AXE names no axe.min.js: %v", err)
	}
	return string(axe)
}

// accessible fails for each violation that axe-core finds; without axe-core it finds none.
func (b *tab) accessible(t *testing.T, axe, where string) {
	t.Helper()
	if axe == "" {
		return
	}
	browser.Ask[bool](t, b.Tab, axe+";true")
	report := browser.Ask[string](t, b.Tab, `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise)
	var violations []struct {
		ID, Help string
		Nodes    []struct {
			HTML           string `json:"html"`
			FailureSummary string `json:"failureSummary"`
		}
	}
	if err := json.Unmarshal([]byte(report), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("%s: %s: %s: %.300s\n%s", where, v.ID, v.Help, v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
	}
}

// screen is a size of window in a colour scheme.
type screen struct {
	name          string
	width, height int64
	scheme        string
}

func (s screen) set() chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.EmulateViewport(s.width, s.height), browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}}))
}

// screens are those that pages are looked at on.
func screens() []screen {
	return []screen{{"light", 1280, 900, "light"}, {"dark", 1280, 900, "dark"}, {"phone", 320, 700, "light"}, {"4k", 3840, 2160, "dark"}}
}

// axe is axe-core for a screen, and nothing on a large one: what is to be seen there is the
// same as in the smaller window.
func (s screen) axe(axe string) string {
	if s.width > 3000 {
		return ""
	}
	return axe
}

// TestPagesAreForEverybody: axe-core finds no violation, nothing is wider than the window, and
// the browser has nothing to say about the policy.
func TestPagesAreForEverybody(t *testing.T) {
	b := open(t, consoletest.Whole())
	axe := axeCore(t)
	pages := map[string]string{"overview": "/", "up": "/up", "up-failed": "/up?run=" + consoletest.RunFailed, "environment": "/environment", "clusters": "/clusters",
		"cluster": "/clusters/magnum-00000001/k8s-1", "causes": "/causes", "backups": "/backups", "plan": "/plan", "capacity": "/capacity", "certificates": "/certificates", "log": "/log", "run": "/log/" + consoletest.RunFailed, "nowhere": "/nowhere"}
	for _, s := range screens() {
		for name, path := range pages {
			b.Do(t, s.set(), chromedp.Navigate(b.base+path), chromedp.WaitVisible(chromedp.CSS("h1")))
			b.accessible(t, s.axe(axe), s.name+" "+path)
			b.wide(t, s.name+" "+path)
			b.Shot(t, name+"-"+s.name)
		}
	}
	b.sources.Change(func(w *consoletest.World) { w.Runs = w.Runs[1:] }) // beside a run there is no plan
	b.Do(t, chromedp.Navigate(b.base+"/plan"))
	b.Await(t, "the plan", `document.body.innerText.includes("What is replaced")`)
	for _, s := range screens() {
		b.Do(t, s.set(), chromedp.Navigate(b.base+"/plan"), chromedp.WaitVisible(chromedp.CSS("h1")))
		b.accessible(t, s.axe(axe), s.name+" a plan")
		b.wide(t, s.name+" a plan")
		b.Shot(t, "plan-read-"+s.name)
	}
	b.Forgive(func(one string) bool { return strings.Contains(one, "404") && strings.Contains(one, "/nowhere") }) // which was asked for
	b.quiet(t)
}

// TestThePageFollows server-sent events without loading again, keeps the focus, and says so
// when the console has ended.
func TestThePageFollows(t *testing.T) {
	b := open(t, consoletest.Whole())
	b.Do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.base+"/clusters"), chromedp.WaitVisible(chromedp.CSS("h1")), chromedp.SendKeys(chromedp.CSS("#q"), "k8s"))
	browser.Ask[bool](t, b.Tab, `window.same = true`)
	b.sources.Change(func(w *consoletest.World) { w.Clusters = consoletest.Clusters(7) })
	b.Await(t, "the seventh cluster", `document.body.innerText.includes("k8s-6")`)
	if !browser.Ask[bool](t, b.Tab, `window.same === true && document.activeElement.id === "q" && document.activeElement.value === "k8s"`) {
		t.Error("the page was loaded again, or what was typed is lost")
	}
	b.Do(t, chromedp.Navigate(b.base+"/up?play=20&run="+consoletest.RunFailed), chromedp.WaitVisible(chromedp.CSS("h1")))
	b.Await(t, "the end of the replay", `document.body.innerText.includes("1m00s after the beginning")`)
	b.Shot(t, "replay")
	b.quiet(t)
	b.server.CloseClientConnections()
	b.server.Listener.Close()
	b.Await(t, "the note that the console has ended", `!document.getElementById("lost").hidden`)
	b.Shot(t, "lost")
}

// evil is a text that would do harm if it were no text.
func evil() string {
	return "\u202Eevil <script>alert(1)</script> " + strings.Repeat("x", 500)
}

// TestStatesHaveALook: what is empty, slow, away, large or hostile is for everybody too.
func TestStatesHaveALook(t *testing.T) {
	axe := axeCore(t)
	large := consoletest.Whole()
	large.Clusters = consoletest.Clusters(1000)
	slow := consoletest.Whole()
	slow.Delay = time.Minute
	hostile := consoletest.Hostile(consoletest.Whole(), evil())
	for i, group := range hostile.Environment.Groups { // their titles are ours, and differ
		hostile.Environment.Groups[i].Title = words.Said(fmt.Sprintf("%d %s", i, group.Title))
	}
	for name, world := range map[string]consoletest.World{"empty": {}, "away": {Err: consoletest.Away()}, "slow": slow, "thousand": large, "hostile": hostile} {
		b := open(t, world)
		for _, s := range screens()[:3] {
			b.Do(t, s.set(), chromedp.Navigate(b.base+"/clusters"), chromedp.WaitVisible(chromedp.CSS("h1")))
			b.accessible(t, axe, name+" "+s.name)
			b.Shot(t, "clusters-"+name+"-"+s.name)
			b.wide(t, name+" "+s.name)
		}
		for _, path := range []string{"/", "/up", "/environment", "/causes", "/backups", "/log"} {
			b.goTo(t, path)
			b.accessible(t, axe, name+" "+path)
			b.wide(t, name+" "+path)
		}
		b.quiet(t)
	}
}
