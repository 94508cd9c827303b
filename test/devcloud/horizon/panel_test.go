package horizon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slipway-sh/slipway/test/browser"
)

// patience is how long a page may take: Horizon asks all services, on a machine that has other
// things to do.
const patience = 4 * time.Minute

// session is a user at Horizon.
type session struct {
	*world
	tab       *browser.Tab
	downloads string
}

// enter signs in.
func (w *world) enter(tab *browser.Tab, user, password string) *session {
	w.Helper()
	s := &session{world: w, tab: tab, downloads: w.TempDir()}
	tab.Patience = patience
	tab.Download(w, s.downloads)
	tab.Do(w, chromedp.EmulateViewport(1400, 1000), chromedp.Navigate(w.cloud.Dashboard()+"/auth/login/"), chromedp.WaitVisible(chromedp.CSS("#id_username")))
	s.set("#id_username", user)
	s.set("#id_password", password)
	s.press("#loginBtn")
	tab.Await(w, "the dashboard", `location.pathname.startsWith("/project") && document.readyState === "complete"`)
	return s
}

// panel opens a panel of the project's and waits for its list.
func (s *session) panel(name string) {
	s.Helper()
	s.tab.Do(s, chromedp.Navigate(s.cloud.Dashboard()+"/project/"+name))
	s.tab.Await(s, "the list of "+name, `document.querySelector("hz-resource-table tbody") !== null`)
}

// ask tells whether an expression is true.
func (s *session) ask(expression string) bool {
	s.Helper()
	return browser.Ask[bool](s, s.tab, expression)
}

// set types into a field.
func (s *session) set(field, value string) {
	s.Helper()
	s.change(field, fmt.Sprintf("f.value = %q", value))
}

// choose takes the option of a list whose text begins so.
func (s *session) choose(field, text string) {
	s.Helper()
	s.tab.Await(s, text+" in "+field, fmt.Sprintf(`[...document.querySelectorAll(%q)].some(o => o.text.startsWith(%q))`, field+" option", text))
	s.change(field, fmt.Sprintf("f.value = [...f.options].find(o => o.text.startsWith(%q)).value", text))
}

func (s *session) change(field, how string) {
	s.Helper()
	s.tab.Await(s, field, fmt.Sprintf(`document.querySelector(%q) !== null`, field))
	s.ask(fmt.Sprintf(`(() => { const f = document.querySelector(%q); f.focus(); %s; for (const e of ["input", "change", "blur"]) f.dispatchEvent(new Event(e, {bubbles: true})); return true })()`, field, how))
}

// press clicks what a selector finds.
func (s *session) press(selector string) {
	s.Helper()
	s.tab.Await(s, selector, fmt.Sprintf(`(() => { const f = document.querySelector(%q); return f !== null && !f.disabled })()`, selector))
	s.tab.Click(s, selector)
}

// pressText clicks the button or link with a text in an area, which is an expression.
func (s *session) pressText(area, text string) {
	s.Helper()
	found := fmt.Sprintf(`[...((%s) || document.createElement("p")).querySelectorAll("a, button")].find(e => e.innerText.trim() === %[2]q || e.textContent.trim() === %[2]q)`, area, text)
	s.tab.Await(s, text, fmt.Sprintf(`(() => { const f = %s; return f !== undefined && !f.disabled })()`, found))
	s.tab.ClickOn(s, found)
}

// row is the expression of an object's row in the list.
func row(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("hz-resource-table tbody tr")].find(r => r.innerText.includes(%q))`, name)
}

// shows waits until a row has a text.
func (s *session) shows(name, text string) {
	s.Helper()
	s.tab.Await(s, text+" at "+name, fmt.Sprintf(`(() => { const r = %s; return r !== undefined && r.innerText.includes(%q) })()`, row(name), text))
}

// act chooses an action of an object.
func (s *session) act(name, action string) {
	s.Helper()
	s.pressText(row(name), action)
}

// submit presses the button of the form on top, and waits until it is gone.
func (s *session) submit() {
	s.Helper()
	s.press(".modal-footer button:last-of-type")
	s.tab.Await(s, "the end of the form", `document.querySelector(".modal-footer") === null`)
}

// told waits for a message of success.
func (s *session) told(text string) {
	s.Helper()
	s.tab.Await(s, "the message "+text, fmt.Sprintf(`[...document.querySelectorAll(".alert-success")].some(a => a.innerText.includes(%q))`, text))
}

// downloaded waits for a file, and returns its content.
func (s *session) downloaded(name string) string {
	s.Helper()
	for end := time.Now().Add(s.tab.Patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(s.downloads, name))
		if err == nil && len(text) > 0 {
			return string(text)
		}
	}
	entries, _ := os.ReadDir(s.downloads)
	s.Fatalf("%s was not downloaded; there are %v", name, entries)
	return ""
}

// well fails if the page shows an error, the browser complained, or the endpoint refused a call.
func (s *session) well(after string) {
	s.Helper()
	s.tab.Shot(s, "horizon-"+strings.ReplaceAll(after, " ", "-"))
	if text := s.tab.Text(s, `[...document.querySelectorAll(".alert-danger, .alert-error")].map(a => a.innerText).join("\n")`); text != "" {
		s.Errorf("%s: the page says: %s", after, text)
	}
	s.tab.Forgive(func(one string) bool { return strings.HasPrefix(one, "[DOM]") }) // advice for who makes the page
	for _, one := range s.tab.Complaints() {
		s.Errorf("%s: the browser says: %s", after, one)
	}
	s.tab.Forgive(func(string) bool { return true }) // they are told
	for _, one := range s.refused() {
		s.Errorf("%s: the endpoint refused %s", after, one)
	}
}
