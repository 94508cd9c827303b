package console

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// page is one page. It is made anew for each request, and for a stream every few moments.
type page struct {
	// template is its file, nav the entry of the menu that it belongs to.
	template, nav string
	every         time.Duration
	view          func(ctx context.Context, at look) view
}

// look is a look at a page.
type look struct {
	*http.Request
	// began is when the page was opened: replays go on from there.
	began, now time.Time
}

// view is what a page shows.
type view struct {
	Title string
	// Data is for the page's template; nil is nothing yet.
	Data any
	// Trouble says what could not be read.
	Trouble []trouble
	// Loading is set while the first answer is awaited, Final if the page will not change.
	Loading, Final bool
	// Status is the HTTP status; 0 is 200.
	Status int
}

// shell is what the frame around a page needs.
type shell struct {
	view
	Nav, Environment, CSRF, Path string
	Menu                         []entry
	Version                      string
	flags                        []string
}

// Command is a command of slipway with the flags that choose this environment.
func (s shell) Command(words ...string) string {
	return "slipway " + quoted(slices.Concat(words, s.flags))
}

func (s *Server) shell(v view, r *http.Request, p page) shell {
	return shell{view: v, Nav: p.nav, Environment: s.options.Environment, CSRF: s.guard.CSRF(), Path: r.URL.RequestURI(), Menu: menu(), Version: s.assets.version, flags: s.options.Flags}
}

// entry is one of the menu.
type entry struct{ Path, Name string }

func menu() []entry {
	return []entry{{"/", "Overview"}, {"/up", "Bring-up"}, {"/environment", "Environment"}, {"/clusters", "Clusters"}, {"/causes", "Causes"}, {"/backups", "Backups"}, {"/log", "Log"}}
}

// serve answers with the page, or with a stream of it if the request asks for one: the same
// address, so that the page is the same with and without JavaScript.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, p page) {
	w.Header().Set("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		s.stream(w, r, p)
		return
	}
	now := s.now()
	sh := s.shell(p.view(r.Context(), look{r, now, now}), r, p)
	text, err := s.render(p.template, "shell", sh)
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, "The page could not be made: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if sh.Status != 0 {
		w.WriteHeader(sh.Status)
	}
	_, _ = w.Write(text) // a browser that went away is no failure
}

const (
	// heartbeat is how often a stream says that it is there.
	heartbeat = 15 * time.Second
	// slow is how long a browser may take to read one message.
	slow = 30 * time.Second
)

// stream sends what changes on a page, as server-sent events, as long as the browser listens.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, p page) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	began := s.now()
	var last []byte
	beat := began
	for {
		now := s.now()
		text, err := s.render(p.template, "live", s.shell(p.view(r.Context(), look{r, began, now}), r, p))
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
		case <-time.After(p.every):
		}
		if !s.guard.Open(r) {
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

func (s *Server) render(name, part string, data shell) ([]byte, error) {
	var b bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&b, part, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
