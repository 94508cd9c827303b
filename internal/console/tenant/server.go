// Package tenant is the console for tenants of a cloud: their clusters in a browser. Who signs
// in does so at Keystone, and may do here what the token may do: the console has no rights of
// its own. It changes clusters by the Magnum API alone, and asks Nova, Neutron and Glance only
// for what a form can offer.
package tenant

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/guard"
	"github.com/slipway-sh/slipway/internal/console/words"
)

//go:embed templates
var templates embed.FS

// Options are the parts of a Server.
type Options struct {
	// Keystone is its address, with or without /v3.
	Keystone string
	// Magnum is the address of the Magnum API; empty is that of the token's catalog.
	Magnum string
	// Region and Interface choose endpoints of the catalog.
	Region, Interface string
	// HTTP asks the cloud.
	HTTP http.Client
	// Domain is what the page of signing in proposes for a user and a project.
	Domain string
	// Keys seal the cookies of sessions; nil are this process's own.
	Keys *guard.Keys
	// Ways are ways to sign in at identity providers. They need Public with HTTPS, and
	// Entrance, which is Keystone's address for browsers.
	Ways     []Way
	Entrance *url.URL
	// Public is the address of the console for browsers; nil is that of each request.
	Public *url.URL
	// TLS says that the console itself serves HTTPS.
	TLS bool
	// Languages are those of the pages; nil are the program's own.
	Languages *words.Languages
	// Log gets who signs in and what is changed.
	Log *slog.Logger
	// Now is the clock of sessions; nil is the system's.
	Now func() time.Time
}

// Server is the console. It is a handler.
type Server struct {
	o        Options
	ctx      context.Context // readings go on without the request that began them
	site     *frame.Site
	sessions *guard.Sessions[*visitor]
	mux      *http.ServeMux
	handler  http.Handler
}

// New returns a console that works as long as ctx lasts.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o, ctx: ctx}
	secure := o.TLS
	if o.Public != nil {
		secure = o.Public.Scheme == "https"
	}
	var err error
	s.site, err = frame.New(ctx, frame.Options{Pages: templates, Names: []string{"clusters", "cluster", "form", "enter", "onward", "refused"},
		Menu: []frame.Entry{{Path: "/clusters", Name: words.T("Clusters")}, {Path: "/clusters/new", Name: words.T("New cluster")}}, Visitor: s.shown, Languages: o.Languages, Secure: secure,
		Open: func(r *http.Request) bool { return s.session(r) != nil }})
	if err != nil {
		return nil, err
	}
	session := guard.SessionOptions[*visitor]{Cookie: "slipway-tenant", Keys: o.Keys, Restore: s.restore, Public: o.Public, TLS: o.TLS, Refuse: s.site.Refuse, Now: o.Now}
	if len(o.Ways) > 0 {
		session.Callback, session.CallbackOrigin = arrivalPath, guard.Origin(o.Entrance)
	}
	s.sessions = guard.NewSessions(session)
	s.mux = s.routes()
	kept := s.sessions.Keep(s.mux)
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthcheck" { // who probes knows no name
			_, _ = w.Write([]byte("OK\n"))
			return
		}
		kept.ServeHTTP(w, r)
	})
	return s, nil
}

// ServeHTTP serves the console.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// How often an open page looks for news.
const pace = 2 * time.Second

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", s.site)
	mux.Handle("GET /{$}", http.RedirectHandler("/clusters", http.StatusSeeOther))
	mux.HandleFunc("GET /enter", func(w http.ResponseWriter, r *http.Request) { s.enterPage(w, r, signIn{}, http.StatusOK) })
	mux.HandleFunc("POST /enter", s.enter)
	mux.HandleFunc("GET "+frame.LanguagePath, s.site.Choose)
	if len(s.o.Ways) > 0 {
		mux.HandleFunc("POST "+departurePath, s.depart)
		mux.HandleFunc("POST "+arrivalPath, s.arrive)
	}
	mux.HandleFunc("POST /leave", s.leave)
	mux.HandleFunc("POST /again", s.inside(s.again))
	mux.HandleFunc("GET /clusters", s.page(frame.Page{Template: "clusters", Nav: "/clusters", Every: pace, View: s.list}))
	mux.HandleFunc("GET /clusters/{id}", s.page(frame.Page{Template: "cluster", Nav: "/clusters", Every: pace, View: s.describe}))
	mux.HandleFunc("POST /clusters/{id}/kubeconfig", s.inside(s.kubeconfig))
	for path, c := range changes() {
		mux.HandleFunc("GET "+path, s.inside(func(w http.ResponseWriter, r *http.Request, v *visitor) { s.ask(w, r, v, c) }))
		mux.HandleFunc("POST "+path, s.inside(func(w http.ResponseWriter, r *http.Request, v *visitor) { s.change(w, r, v, c) }))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.site.Refuse(w, r, http.StatusNotFound, words.T("The console has no such page."))
	})
	return mux
}

// changes are the forms by the address of their page.
func changes() map[string]change {
	return map[string]change{
		"/clusters/new":                        {form: createForm, check: checkCreate, known: knownCreate, cost: costCreate, do: create},
		"/clusters/{id}/upgrade":               {form: upgradeForm, do: upgrade},
		"/clusters/{id}/rotate":                {form: rotateForm, check: checkRotate, do: rotate},
		"/clusters/{id}/delete":                {form: deleteForm, check: checkDelete, do: remove},
		"/clusters/{id}/groups/new":            {form: groupForm, check: checkGroup, known: knownGroup, cost: costGroup, do: createGroup},
		"/clusters/{id}/groups/{group}/resize": {form: resizeForm, known: knownResize, cost: costResize, do: resize},
		"/clusters/{id}/groups/{group}/delete": {form: deleteGroupForm, check: checkDeleteGroup, do: removeGroup},
	}
}

// shown is what the frame shows of who looks.
func (s *Server) shown(r *http.Request) frame.Visitor {
	session := s.sessions.Of(r)
	if session == nil {
		return frame.Visitor{}
	}
	return frame.Visitor{Environment: words.Said(session.Value.project), Who: session.Value.user, CSRF: session.CSRF}
}

// session is the session of a request. It ends when the cloud does not take the token any
// more.
func (s *Server) session(r *http.Request) *guard.Session[*visitor] {
	session := s.sessions.Of(r)
	if session == nil || session.Value.gone.Load() {
		return nil
	}
	return session
}

// inside lets those in who are signed in; others sign in first, and keep what they typed.
func (s *Server) inside(next func(http.ResponseWriter, *http.Request, *visitor)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		session := s.session(r)
		if session == nil {
			s.outside(w, r)
			return
		}
		if r.Method == http.MethodPost && !session.Own(r) {
			s.site.Refuse(w, r, http.StatusForbidden, words.T("The form is not of this session. Go back, load the page again, and repeat what you did."))
			return
		}
		s.sessions.Admit(w, r)
		next(w, r, session.Value)
	}
}

// page is a page of those who are signed in.
func (s *Server) page(p frame.Page) http.HandlerFunc {
	return s.inside(func(w http.ResponseWriter, r *http.Request, _ *visitor) { s.site.Serve(w, r, p) })
}

// visitor is whose page a view is of; inside has let the request in.
func (s *Server) visitor(at frame.Look) *visitor {
	if session := s.sessions.Of(at.Request); session != nil {
		return session.Value
	}
	return nil
}

// again has everything read anew, and goes back to the page.
func (s *Server) again(w http.ResponseWriter, r *http.Request, v *visitor) {
	v.stale()
	http.Redirect(w, r, frame.Local(r.PostFormValue("page")).String(), http.StatusSeeOther)
}
