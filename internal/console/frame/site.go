package frame

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// Page is one page. It is made again for each request, and for a stream every few moments.
type Page struct {
	// Template is its file, Nav the entry of the menu that it belongs to.
	Template, Nav string
	// Every is how often an open page is looked at for news.
	Every time.Duration
	View  func(ctx context.Context, at Look) View
}

// Look is a look at a page.
type Look struct {
	*http.Request
	// Began is when the page was opened: replays continue from there.
	Began, Now time.Time
}

// View is what a page shows.
type View struct {
	Title words.Text
	// Data is for the page's template; nil is nothing yet.
	Data any
	// Trouble says what could not be read.
	Trouble []Trouble
	// Loading is set while the first answer is awaited, Final if the page will not change.
	Loading, Final bool
	// Status is the HTTP status; 0 is 200.
	Status int
	// Onward is an address to which the page leads at once.
	Onward string
	// Checked says that the server checks what somebody types.
	Checked bool
}

// Shell is what the frame around a page needs.
type Shell struct {
	View
	Visitor
	Nav, Path, Version string
	Menu               []Entry
	// Language is the one that the page is in, Others are those that it could be in.
	Language string
	Others   []Other
	flags    []string
}

// Other is a language that somebody can choose, and the address that does.
type Other struct{ Tag, Name, Path string }

// Visitor is who looks: where, and the token of the forms; Who is empty where there is only
// one.
type Visitor struct {
	Environment words.Text
	Who, CSRF   string
}

// Options are what a console is made of.
type Options struct {
	// Pages has a folder templates: Names, and what they have in common in site.html.
	Pages fs.FS
	Names []string
	Menu  []Entry
	// Flags follow every command that pages show.
	Flags []string
	// Visitor knows who looks, Open whether the session of a request still lasts.
	Visitor func(*http.Request) Visitor
	Open    func(*http.Request) bool
	// Languages are those of the pages; nil are the program's own. Secure has the cookie of the
	// choice go over HTTPS alone.
	Languages *words.Languages
	Secure    bool
}

// Site makes the pages of one console.
type Site struct {
	Assets
	o         Options
	ctx       context.Context // streams end with it
	now       func() time.Time
	templates map[*words.Language]map[string]*template.Template
}

// New returns a Site whose streams end with ctx.
func New(ctx context.Context, o Options) (*Site, error) {
	s := &Site{o: o, ctx: ctx, now: time.Now, templates: map[*words.Language]map[string]*template.Template{}}
	var err error
	if s.Assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if o.Languages == nil {
		if s.o.Languages, err = words.Ours(); err != nil {
			return nil, err
		}
	}
	for _, in := range s.o.Languages.All() {
		if s.templates[in], err = parse(o.Pages, o.Names, in); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Say is a text in the language of a request.
func (s *Site) Say(r *http.Request, t words.Text) string { return t.In(s.o.Languages.Of(r)) }

// Command is a command of slipway with the flags that choose this environment.
func (s Shell) Command(words ...string) string {
	return "slipway " + quoted(slices.Concat(words, s.flags))
}

func (s *Site) shell(v View, r *http.Request, p Page) Shell {
	shell := s.bare(v, r, r.URL.RequestURI())
	shell.Visitor, shell.Nav, shell.Menu, shell.flags = s.o.Visitor(r), p.Nav, s.o.Menu, s.o.Flags
	return shell
}

// bare is the frame of those who have no session. With a path, other languages can be chosen
// for it.
func (s *Site) bare(v View, r *http.Request, path string) Shell {
	in := s.o.Languages.Of(r)
	shell := Shell{View: v, Path: path, Version: s.version, Language: in.Tag.String()}
	for _, other := range s.o.Languages.All() {
		if tag := other.Tag.String(); other != in && path != "" {
			shell.Others = append(shell.Others, Other{tag, other.Name, LanguagePath + "?" + url.Values{"to": {tag}, "page": {path}}.Encode()})
		}
	}
	return shell
}

// LanguagePath is the address at which a language is chosen.
const LanguagePath = "/language"

// Choose keeps the language that somebody has chosen, and goes back to the page. It is a link:
// all that another site could do with it is to change a language.
func (s *Site) Choose(w http.ResponseWriter, r *http.Request) {
	if in := s.o.Languages.Find(r.URL.Query().Get("to")); in != nil {
		words.Keep(w, in, s.o.Secure)
	}
	http.Redirect(w, r, Local(r.URL.Query().Get("page")).String(), http.StatusSeeOther)
}

// Entry is one of the menu.
type Entry struct {
	Path string
	Name words.Text
}

// Serve answers with the page, or with a stream of it if the request asks for one: the same
// address, so that the page is the same with and without JavaScript.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, p Page) {
	w.Header()["Vary"] = []string{"Accept", "Accept-Language, Cookie"}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		s.stream(w, r, p)
		return
	}
	now := s.now()
	s.Show(w, r, p, p.View(r.Context(), Look{r, now, now}))
}

// Show answers with a page that shows a view.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, p Page, v View) {
	text, err := s.render(r, p.Template, "shell", s.shell(v, r, p))
	if err != nil {
		s.Refuse(w, r, http.StatusInternalServerError, notMade(err))
		return
	}
	send(w, v.Status, text)
}

func notMade(err error) words.Text { return words.T("The page could not be made: %s", err.Error()) }

// Bare answers with a page that has no frame, as those get it who have no session. Other
// languages can be chosen if it has a path.
func (s *Site) Bare(w http.ResponseWriter, r *http.Request, name string, v View, csrf, path string) {
	shell := s.bare(v, r, path)
	shell.CSRF = csrf
	text, err := s.render(r, name, "bare", shell)
	if err != nil {
		http.Error(w, s.Say(r, notMade(err)), http.StatusInternalServerError)
		return
	}
	send(w, v.Status, text)
}

func send(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(cmp.Or(status, http.StatusOK))
	_, _ = w.Write(text) // a browser that went away is no failure
}

// Refuse answers what is no page, by the template "refused": there is no session, or no such
// address.
func (s *Site) Refuse(w http.ResponseWriter, r *http.Request, status int, why words.Text) {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.Host == "" {
		http.Error(w, s.Say(r, why), status)
		return
	}
	s.Bare(w, r, "refused", View{Title: title(status), Data: why, Status: status}, "", "")
}

// title is what a status is called.
func title(status int) words.Text {
	switch status {
	case http.StatusOK:
		return words.T("Signed out")
	case http.StatusBadRequest:
		return words.T("Bad Request")
	case http.StatusUnauthorized:
		return words.T("Unauthorized")
	case http.StatusForbidden:
		return words.T("Forbidden")
	case http.StatusNotFound:
		return words.T("Not Found")
	case http.StatusMethodNotAllowed:
		return words.T("Method Not Allowed")
	case http.StatusMisdirectedRequest:
		return words.T("Misdirected Request")
	case http.StatusInternalServerError:
		return words.T("Internal Server Error")
	}
	return words.Said(http.StatusText(status))
}

const (
	// heartbeat is how often a stream says that it is there.
	heartbeat = 15 * time.Second
	// slow is how long a browser may take to read one message.
	slow = 30 * time.Second
)

// stream sends what changes on a page, as server-sent events, as long as the browser listens.
func (s *Site) stream(w http.ResponseWriter, r *http.Request, p Page) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx, and proxies like it, would keep the news back
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a stream outlasts the time for a request
	began := s.now()
	var last []byte
	beat := began
	for {
		now := s.now()
		text, err := s.render(r, p.Template, "live", s.shell(p.View(r.Context(), Look{r, began, now}), r, p))
		if err != nil {
			return
		}
		message := []byte(": still there\n\n")
		if !bytes.Equal(text, last) {
			message = sent(text)
		}
		if !bytes.Equal(text, last) || now.Sub(beat) >= heartbeat {
			_ = control.SetWriteDeadline(time.Now().Add(slow)) // without deadlines, the kernel notices
			if _, err := w.Write(message); err != nil || control.Flush() != nil {
				return
			}
			last, beat = text, now
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		case <-time.After(p.Every):
		}
		if !s.o.Open(r) {
			return
		}
	}
}

// sent is a text as one server-sent event.
func sent(text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		fmt.Fprintf(&b, "data: %s\n", bytes.TrimRight(line, "\r\n"))
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func (s *Site) render(r *http.Request, name, part string, data Shell) ([]byte, error) {
	var b bytes.Buffer
	if err := s.templates[s.o.Languages.Of(r)][name].ExecuteTemplate(&b, part, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Local is an address of ours: "//host" and "/\\host" are other sites, and become the first
// page.
func Local(address string) *url.URL {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "" || to.Host != "" || to.User != nil || !strings.HasPrefix(to.Path, "/") || strings.HasPrefix(to.Path, "//") || strings.Contains(to.Path, "\\") {
		return &url.URL{Path: "/"}
	}
	return to
}
