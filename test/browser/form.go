package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// Open opens a page, and waits for its heading.
func (b *Tab) Open(t testing.TB, url string) {
	t.Helper()
	b.Do(t, chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("h1")))
}

// Type puts a value into a field, which a CSS selector names.
func (b *Tab) Type(t testing.TB, field, value string) {
	t.Helper()
	Ask[bool](t, b, fmt.Sprintf(`(() => { const f = document.querySelector(%q); f.focus(); f.value = %q; return document.activeElement === f })()`, field, value))
}

// Click clicks the first element of a selector.
func (b *Tab) Click(t testing.TB, selector string) {
	t.Helper()
	b.ClickOn(t, fmt.Sprintf("document.querySelector(%q)", selector))
}

// ClickOn clicks the element that an expression gives. The page that it leads to may come before
// the browser says that it has clicked.
func (b *Tab) ClickOn(t testing.TB, element string) {
	t.Helper()
	if _, err := ask[bool](b, element+".click() === undefined"); err != nil && !left(err) {
		t.Fatal(err)
	}
}

// Press presses a button, and waits for the page that follows.
func (b *Tab) Press(t testing.TB, button string) {
	t.Helper()
	Ask[bool](t, b, `window.former = true`)
	b.Click(t, button)
	b.Await(t, "the page that follows "+button, `window.former === undefined && document.readyState === "complete"`)
}

// Send types into a form as a person would, presses its button, and waits for the page that
// follows. Fields are names with their values.
func (b *Tab) Send(t testing.TB, form string, fields ...string) {
	t.Helper()
	for i := 0; i+1 < len(fields); i += 2 {
		b.Type(t, form+" [name="+fields[i]+"]", fields[i+1])
	}
	b.Press(t, form+" button")
}
