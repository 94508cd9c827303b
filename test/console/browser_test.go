// Package console opens the console in a browser. It needs Chromium and axe-core, which
// `make console-test` gets.
package console

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
)

// tab is a tab of a browser that has entered a console.
type tab struct {
	ctx     context.Context
	base    string
	sources *consoletest.Sources
	server  *httptest.Server

	mu       sync.Mutex
	complain []string // what the browser says of the page
	asked    []string // what it asked for
}

// open starts a browser and signs in. It skips without one.
func open(t *testing.T, world consoletest.World) *tab {
	t.Helper()
	b := &tab{sources: consoletest.New(world), server: httptest.NewUnstartedServer(nil)}
	chromium := b.browser(t)
	handler, err := console.New(t.Context(), console.Options{Sources: b.sources, Environment: "prod", Flags: []string{"--env", "prod"}, Address: b.server.Listener.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	b.server.Config.Handler = handler
	b.server.Start()
	t.Cleanup(func() { b.server.CloseClientConnections(); b.server.Close() })
	b.base = b.server.URL
	b.launch(t, chromium)
	b.do(t, chromedp.Navigate(b.base+handler.Link()), chromedp.WaitVisible(chromedp.CSS("h1")))
	if at := b.text(t, `location.pathname + location.search`); at != "/" {
		t.Fatalf("the token stays in the address: %s", at)
	}
	return b
}

// browser is the path of one. It skips without.
func (b *tab) browser(t *testing.T) string {
	t.Helper()
	chromium := os.Getenv("SLIPWAY_CHROMIUM")
	if chromium == "" {
		t.Skip("SLIPWAY_CHROMIUM names no browser: run make console-test")
	}
	return chromium
}

// launch starts a browser with an empty tab.
func (b *tab) launch(t *testing.T, chromium string, more ...chromedp.ExecAllocatorOption) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	options = append(options, more...)
	browser, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(end)
	var leave context.CancelFunc
	b.ctx, leave = chromedp.NewContext(browser)
	t.Cleanup(leave)
	if err := chromedp.Listen(b.ctx, b.hear); err != nil { // it starts the browser
		t.Fatal(err)
	}
	b.do(t, command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}))
}

func (b *tab) hear(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *log.EventEntryAdded:
		b.complain = append(b.complain, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventExceptionThrown:
		b.complain = append(b.complain, e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

// command sends a command of the browser's protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

func (b *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// ask is what an expression gives.
func ask[T any](t *testing.T, b *tab, expression string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// text is what an expression gives.
func (b *tab) text(t *testing.T, expression string) string {
	t.Helper()
	return ask[string](t, b, expression)
}

// wide fails if the page is wider than the window.
func (b *tab) wide(t *testing.T, where string) {
	t.Helper()
	if over := ask[int](t, b, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("%s is %d pixels too wide", where, over)
	}
}

// await waits until an expression is true.
func (b *tab) await(t *testing.T, what, expression string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ask[bool](t, b, expression) {
			return
		}
	}
	t.Fatalf("%s never came; the page is\n%s", what, b.text(t, "document.body.innerText"))
}

// quiet fails if the browser complained of the page, or asked anybody else.
func (b *tab) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.complain {
		t.Errorf("the browser says: %s", one)
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, b.base+"/") && !strings.HasPrefix(url, "about:") {
			t.Errorf("the page asks %s", url)
		}
	}
}

// shot takes a screenshot if SLIPWAY_SHOTS names a folder.
func (b *tab) shot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("SLIPWAY_SHOTS")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}

// accessible fails for each violation that axe-core finds.
func (b *tab) accessible(t *testing.T, axe, where string) {
	t.Helper()
	ask[bool](t, b, axe+";true")
	report := ask[string](t, b, `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise)
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
	return chromedp.Steps(chromedp.EmulateViewport(s.width, s.height), command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}}))
}

// TestPagesAreForEverybody: axe-core finds no violation, nothing is wider than the window, and
// the browser has nothing to say about the policy.
func TestPagesAreForEverybody(t *testing.T) {
	b := open(t, consoletest.Whole())
	axe, err := os.ReadFile(os.Getenv("SLIPWAY_AXE"))
	if err != nil {
		t.Fatalf("SLIPWAY_AXE names no axe.min.js: %v", err)
	}
	pages := map[string]string{"overview": "/", "up": "/up", "up-failed": "/up?run=" + consoletest.RunFailed, "environment": "/environment", "clusters": "/clusters",
		"cluster": "/clusters/magnum-00000001/k8s-1", "causes": "/causes", "backups": "/backups", "log": "/log", "run": "/log/" + consoletest.RunFailed, "nowhere": "/nowhere"}
	for _, s := range []screen{{"light", 1280, 900, "light"}, {"dark", 1280, 900, "dark"}, {"phone", 320, 700, "light"}, {"4k", 3840, 2160, "dark"}} {
		for name, path := range pages {
			b.do(t, s.set(), chromedp.Navigate(b.base+path), chromedp.WaitVisible(chromedp.CSS("h1")))
			if s.width < 3000 { // what is to be seen is the same as in the smaller window
				b.accessible(t, string(axe), s.name+" "+path)
			}
			b.wide(t, s.name+" "+path)
			b.shot(t, name+"-"+s.name)
		}
	}
	b.mu.Lock()
	for i := 0; i < len(b.complain); i++ {
		if strings.Contains(b.complain[i], "404") && strings.Contains(b.complain[i], "/nowhere") { // which was asked for
			b.complain = append(b.complain[:i], b.complain[i+1:]...)
			i--
		}
	}
	b.mu.Unlock()
	b.quiet(t)
}

// TestThePageFollows server-sent events without loading again, keeps the focus, and says so
// when the console has ended.
func TestThePageFollows(t *testing.T) {
	b := open(t, consoletest.Whole())
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.base+"/clusters"), chromedp.WaitVisible(chromedp.CSS("h1")), chromedp.SendKeys(chromedp.CSS("#q"), "k8s"))
	ask[bool](t, b, `window.same = true`)
	b.sources.Change(func(w *consoletest.World) { w.Clusters = consoletest.Clusters(7) })
	b.await(t, "the seventh cluster", `document.body.innerText.includes("k8s-6")`)
	if !ask[bool](t, b, `window.same === true && document.activeElement.id === "q" && document.activeElement.value === "k8s"`) {
		t.Error("the page was loaded again, or what was typed is lost")
	}
	b.do(t, chromedp.Navigate(b.base+"/up?play=20&run="+consoletest.RunFailed), chromedp.WaitVisible(chromedp.CSS("h1")))
	b.await(t, "the end of the replay", `document.body.innerText.includes("1m00s after the beginning")`)
	b.shot(t, "replay")
	b.quiet(t)
	b.server.CloseClientConnections()
	b.server.Listener.Close()
	b.await(t, "the note that the console has ended", `!document.getElementById("lost").hidden`)
	b.shot(t, "lost")
}

// TestStatesHaveALook: what is empty, slow, away or large.
func TestStatesHaveALook(t *testing.T) {
	large := consoletest.Whole()
	large.Clusters = consoletest.Clusters(1000)
	slow := consoletest.Whole()
	slow.Delay = time.Minute
	hostile := consoletest.Hostile(consoletest.Whole(), "\u202Eevil <script>alert(1)</script> "+strings.Repeat("x", 500))
	for name, world := range map[string]consoletest.World{"empty": {}, "away": {Err: consoletest.Away()}, "slow": slow, "thousand": large, "hostile": hostile} {
		b := open(t, world)
		b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.base+"/clusters"), chromedp.WaitVisible(chromedp.CSS("h1")))
		b.shot(t, "clusters-"+name)
		b.wide(t, name)
		b.quiet(t)
	}
}
