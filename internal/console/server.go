package console

import (
	"context"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/bringup"
	"github.com/slipway-sh/slipway/internal/console/guard"
	"github.com/slipway-sh/slipway/internal/event"
)

// Options are the parts of a Server.
type Options struct {
	Sources Sources
	// Environment is its name, for titles.
	Environment string
	// Flags follow every command that the page shows: "--env prod".
	Flags []string
	// Address is where the server listens.
	Address net.Addr
	// Link is called with the path of the next session's first request after somebody has
	// signed out; nil tells nobody.
	Link func(path string)
}

// Server is the console. It is a handler.
type Server struct {
	guard   *guard.Guard
	options Options
	ctx     context.Context
	now     func() time.Time
	// templates are the pages by name.
	templates map[string]*template.Template
	assets    assets

	environment *watch[Environment]
	clusters    *watch[[]Cluster]
	causes      *watch[Causes]
	backups     *watch[Backups]
	runs        *watch[[]Run]
	cluster     *family[Description]
	events      *family[[]event.Event]
	former      *family[bringup.Picture]
}

// How old what a page shows may be. The cloud and the clusters are asked only while somebody
// looks.
const (
	everyRun         = 2 * time.Second
	everyCluster     = 10 * time.Second
	everyEnvironment = 20 * time.Second
	everyBackup      = time.Minute
	forGood          = time.Hour
)

// mostDescribed is how many clusters, and how many runs, are remembered.
const mostDescribed = 32

// New returns a console that works as long as ctx lasts.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{options: o, ctx: ctx, now: time.Now,
		environment: newWatch(ctx, everyEnvironment, o.Sources.Environment),
		clusters:    newWatch(ctx, everyCluster, o.Sources.Clusters),
		causes:      newWatch(ctx, everyEnvironment, o.Sources.Causes),
		backups:     newWatch(ctx, everyBackup, o.Sources.Backups),
		runs:        newWatch(ctx, everyRun, o.Sources.Runs),
	}
	s.cluster = newFamily(mostDescribed, func(key string) *watch[Description] {
		namespace, name, _ := strings.Cut(key, "/")
		return newWatch(ctx, everyCluster, func(ctx context.Context) (Description, error) { return o.Sources.Cluster(ctx, namespace, name) })
	})
	s.events = newFamily(mostDescribed, func(id string) *watch[[]event.Event] {
		return newWatch(ctx, everyRun, func(ctx context.Context) ([]event.Event, error) { return o.Sources.Events(ctx, id) })
	})
	s.former = newFamily(mostDescribed, func(id string) *watch[bringup.Picture] {
		return newWatch(ctx, forGood, func(ctx context.Context) (bringup.Picture, error) { return s.formerRun(ctx, id) })
	})
	var err error
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if s.templates, err = parse(); err != nil {
		return nil, err
	}
	s.guard = guard.New(guard.Options{Address: o.Address, Pages: s.routes(), Public: s.assets, Refuse: s.refuse})
	return s, nil
}

// Link is the path that opens the console, once.
func (s *Server) Link() string { return s.guard.Link() }

// ServeHTTP serves the console.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guard.ServeHTTP(w, r) }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for path, p := range s.pages() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, p) })
	}
	mux.HandleFunc("POST /again", s.again)
	mux.HandleFunc("POST /leave", s.leave)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "The console has no such page.")
	})
	return mux
}

// again has everything read anew, and goes back to the page.
func (s *Server) again(w http.ResponseWriter, r *http.Request) {
	s.environment.stale()
	s.clusters.stale()
	s.causes.stale()
	s.backups.stale()
	s.runs.stale()
	to, err := url.Parse(r.PostFormValue("page"))
	// Only a path of ours: "//host" and "/\host" are other sites.
	if err != nil || to.Scheme != "" || to.Host != "" || !strings.HasPrefix(to.Path, "/") || strings.HasPrefix(to.Path, "//") || strings.Contains(to.Path, "\\") {
		to = &url.URL{Path: "/"}
	}
	if key, of := strings.CutPrefix(to.Path, "/clusters/"); of {
		s.cluster.of(key).stale()
	}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// leave ends the session. The terminal has the link of the next.
func (s *Server) leave(w http.ResponseWriter, r *http.Request) {
	s.guard.End(w)
	if s.options.Link != nil {
		s.options.Link(s.guard.Link())
	}
	s.refuse(w, r, http.StatusOK, "You have signed out.")
}
