// Package browser drives Chromium in tests: it opens pages, asks them, and tells what the
// browser says of them. SLIPWAY_CHROMIUM names the program; `make console-test` installs it.
package browser

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is a tab of a browser. It ends with the test.
type Tab struct {
	// Patience is how long Await waits, and what is done or asked may take if that is more than
	// a minute.
	Patience time.Duration

	ctx      context.Context
	mu       sync.Mutex
	complain []string // what the browser says of the page
	asked    []string // what it asked for
}

// Program is the path of a browser. It skips the test without one.
func Program(t testing.TB) string {
	t.Helper()
	chromium := os.Getenv("SLIPWAY_CHROMIUM")
	if chromium == "" {
		t.Skip("SLIPWAY_CHROMIUM names no browser: run make console-test")
	}
	return chromium
}

// Launch starts a browser with an empty tab.
func Launch(t testing.TB, program string, more ...chromedp.ExecAllocatorOption) *Tab {
	t.Helper()
	b := &Tab{Patience: 30 * time.Second}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("font-render-hinting", "none"),
		chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+temporary(t)))
	options = append(options, more...)
	browser, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(end)
	var leave context.CancelFunc
	b.ctx, leave = chromedp.NewContext(browser)
	t.Cleanup(leave)
	if err := chromedp.Listen(b.ctx, b.hear); err != nil { // it starts the browser
		t.Fatal(err)
	}
	b.Do(t, Command(network.Enable, network.EnableParams{}), Command(log.Enable, cdp.Empty{}), Command(runtime.Enable, cdp.Empty{}))
	return b
}

// temporary is a folder for what a browser leaves in TMPDIR when it ends. Its path is short,
// because sockets are in it.
func temporary(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (b *Tab) hear(e any) {
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

// Command is a command of the browser's protocol.
func Command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// Do does things in the tab, one after the other.
func (b *Tab) Do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, max(b.Patience, time.Minute))
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// Ask is what an expression gives.
func Ask[T any](t testing.TB, b *Tab, expression string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	value, err := ask[T](b, expression, options...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func ask[T any](b *Tab, expression string, options ...chromedp.EvaluateOption) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, max(b.Patience, time.Minute))
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
}

// left says that the page that was asked went before it answered: another one follows.
func left(err error) bool {
	return slices.ContainsFunc([]string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context with specified id"},
		func(said string) bool { return strings.Contains(err.Error(), said) })
}

// Text is what an expression gives.
func (b *Tab) Text(t testing.TB, expression string) string {
	t.Helper()
	return Ask[string](t, b, expression)
}

// Await waits until an expression is true of a page that has begun to come.
func (b *Tab) Await(t testing.TB, what, expression string) {
	t.Helper()
	for end := time.Now().Add(b.Patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		is, err := ask[bool](b, "document.body !== null && ("+expression+")")
		if err != nil && !left(err) {
			t.Fatal(err)
		}
		if is {
			return
		}
	}
	t.Fatalf("%s never came; the page is\n%s", what, b.Text(t, "document.body.innerText"))
}

// Download has the browser write what it downloads into a folder.
func (b *Tab) Download(t testing.TB, folder string) {
	t.Helper()
	b.Do(t, Command(cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: folder}))
}

// Complaints are what the browser said of the pages.
func (b *Tab) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.complain...)
}

// Forgive forgets the complaints that are forgiven.
func (b *Tab) Forgive(forgiven func(complaint string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []string
	for _, one := range b.complain {
		if !forgiven(one) {
			left = append(left, one)
		}
	}
	b.complain = left
}

// Quiet fails if the browser complained of a page, or asked anybody but base.
func (b *Tab) Quiet(t testing.TB, base string) {
	t.Helper()
	for _, one := range b.Complaints() {
		t.Errorf("the browser says: %s", one)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.asked {
		if !strings.HasPrefix(url, base+"/") && !strings.HasPrefix(url, "about:") && !strings.HasPrefix(url, "blob:"+base+"/") {
			t.Errorf("the page asks %s", url)
		}
	}
}

// Shot takes a screenshot if SLIPWAY_SHOTS names a folder.
func (b *Tab) Shot(t testing.TB, name string) {
	t.Helper()
	folder := os.Getenv("SLIPWAY_SHOTS")
	if folder == "" || folder == renew {
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
