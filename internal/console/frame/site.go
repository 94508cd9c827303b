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
)

// Page is one page. It is made anew for each request, and for a stream every few moments.
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
	// Began is when the page was opened: replays go on from there.
	Began, Now time.Time
}

// View is what a page shows.
type View struct {
	Title string
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
	flags              []string
}

// Visitor is who looks: where, and the token of the forms; Who is empty where there is only
// one.
type Visitor struct{ Environment, Who, CSRF string }

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
}

// Site makes the pages of one console.
type Site struct {
	Assets
	o         Options
	ctx       context.Context // streams end with it
	now       func() time.Time
	templates map[string]*template.Template
}

// New returns a Site whose streams end with ctx.
func New(ctx context.Context, o Options) (*Site, error) {
	s := &Site{o: o, ctx: ctx, now: time.Now}
	var err error
	if s.Assets, err = loadAssets(); err != nil {
		return nil, err
	}
	s.templates, err = parse(o.Pages, o.Names)
	return s, err
}

// Command is a command of slipway with the flags that choose this environment.
func (s Shell) Command(words ...string) string {
	return "slipway " + quoted(slices.Concat(words, s.flags))
}

func (s *Site) shell(v View, r *http.Request, p Page) Shell {
	return Shell{View: v, Visitor: s.o.Visitor(r), Nav: p.Nav, Path: r.URL.RequestURI(), Menu: s.o.Menu, Version: s.version, flags: s.o.Flags}
}

// Entry is one of the menu.
type Entry struct{ Path, Name string }

// Serve answers with the page, or with a stream of it if the request asks for one: the same
// address, so that the page is the same with and without JavaScript.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, p Page) {
	w.Header().Set("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		s.stream(w, r, p)
		return
	}
	now := s.now()
	s.Show(w, r, p, p.View(r.Context(), Look{r, now, now}))
}

// Show answers with a page that shows a view.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, p Page, v View) {
	text, err := s.render(p.Template, "shell", s.shell(v, r, p))
	if err != nil {
		s.Refuse(w, r, http.StatusInternalServerError, "The page could not be made: "+err.Error())
		return
	}
	send(w, v.Status, text)
}

// Bare answers with a page that has no frame, as those get it who have no session.
func (s *Site) Bare(w http.ResponseWriter, name string, v View, csrf string) {
	text, err := s.render(name, "bare", Shell{View: v, Visitor: Visitor{CSRF: csrf}, Version: s.version})
	if err != nil {
		http.Error(w, "The page could not be made: "+err.Error(), http.StatusInternalServerError)
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
func (s *Site) Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.Host == "" {
		http.Error(w, why, status)
		return
	}
	v := View{Title: http.StatusText(status), Data: why, Status: status}
	if status == http.StatusOK {
		v.Title = "Signed out"
	}
	s.Bare(w, "refused", v, "")
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
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a stream outlasts the time for a request
	began := s.now()
	var last []byte
	beat := began
	for {
		now := s.now()
		text, err := s.render(p.Template, "live", s.shell(p.View(r.Context(), Look{r, began, now}), r, p))
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

func (s *Site) render(name, part string, data Shell) ([]byte, error) {
	var b bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&b, part, data); err != nil {
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
