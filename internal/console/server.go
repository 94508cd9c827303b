package console

import (
	"context"
	"embed"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/bringup"
	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/guard"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
)

//go:embed templates
var templates embed.FS

// Options are the parts of a Server.
type Options struct {
	Sources Sources
	// Environment is its name, for titles; empty if there is none.
	Environment string
	// Flags follow every command that the page shows: "--env prod".
	Flags []string
	// Address is where the server listens.
	Address net.Addr
	// Languages are those of the pages; nil are the program's own.
	Languages *words.Languages
	// Link is called with the path of the next session's first request after somebody has
	// signed out; nil tells nobody.
	Link func(path string)
}

// Server is the console. It is a handler.
type Server struct {
	guard   *guard.Guard
	options Options
	site    *frame.Site

	environment  *frame.Watch[Environment]
	clusters     *frame.Watch[[]Cluster]
	causes       *frame.Watch[Causes]
	backups      *frame.Watch[Backups]
	plans        *frame.Watch[Plan]
	capacity     *frame.Watch[Capacity]
	certificates *frame.Watch[Certificates]
	runs         *frame.Watch[[]Run]
	order        *frame.Watch[map[string][]string]
	cluster      *frame.Family[Description]
	events       *frame.Family[[]event.Event]
	former       *frame.Family[bringup.Picture]
}

// How old what a page shows may be. The cloud and the clusters are asked only while somebody
// looks.
const (
	everyRun         = 2 * time.Second
	everyCluster     = 10 * time.Second
	everyEnvironment = 20 * time.Second
	everyBackup      = time.Minute
	everyQuota       = time.Minute
	everyCertificate = 10 * time.Minute
	forGood          = time.Hour
	// whenAsked is for what is read when the page is opened first, and when somebody asks.
	whenAsked = 10000 * time.Hour
	// longestPlan is how long the reading of a plan may take: it checks the cloud, compares the
	// state, and asks the clusters.
	longestPlan = 5 * time.Minute
)

// mostDescribed is how many clusters, and how many runs, are remembered.
const mostDescribed = 32

// New returns a console that works as long as ctx lasts.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{options: o,
		environment:  frame.NewWatch(ctx, everyEnvironment, o.Sources.Environment),
		clusters:     frame.NewWatch(ctx, everyCluster, o.Sources.Clusters),
		causes:       frame.NewWatch(ctx, everyEnvironment, o.Sources.Causes),
		backups:      frame.NewWatch(ctx, everyBackup, o.Sources.Backups),
		plans:        frame.NewWatch(ctx, whenAsked, o.Sources.Plan).Within(longestPlan),
		capacity:     frame.NewWatch(ctx, everyQuota, o.Sources.Capacity),
		certificates: frame.NewWatch(ctx, everyCertificate, o.Sources.Certificates).RetryAfter(everyEnvironment),
		runs:         frame.NewWatch(ctx, everyRun, o.Sources.Runs),
		order:        frame.NewWatch(ctx, everyEnvironment, o.Sources.Order),
	}
	s.cluster = frame.NewFamily(mostDescribed, func(key string) *frame.Watch[Description] {
		namespace, name, _ := strings.Cut(key, "/")
		return frame.NewWatch(ctx, everyCluster, func(ctx context.Context) (Description, error) { return o.Sources.Cluster(ctx, namespace, name) })
	})
	s.events = frame.NewFamily(mostDescribed, func(id string) *frame.Watch[[]event.Event] {
		return frame.NewWatch(ctx, everyRun, func(ctx context.Context) ([]event.Event, error) { return o.Sources.Events(ctx, id) })
	})
	s.former = frame.NewFamily(mostDescribed, func(id string) *frame.Watch[bringup.Picture] {
		return frame.NewWatch(ctx, forGood, func(ctx context.Context) (bringup.Picture, error) { return s.formerRun(ctx, id) })
	})
	var err error
	s.site, err = frame.New(ctx, frame.Options{Pages: templates, Menu: menu(), Flags: o.Flags, Languages: o.Languages,
		Names: []string{"home", "up", "environment", "clusters", "cluster", "causes", "backups", "plan", "capacity", "certificates", "log", "run", "refused"},
		Visitor: func(*http.Request) frame.Visitor {
			where := words.Said(o.Environment)
			if where == nil {
				where = words.T("no environment")
			}
			return frame.Visitor{Environment: where, CSRF: s.guard.CSRF()}
		},
		Open: func(r *http.Request) bool { return s.guard.Open(r) }})
	if err != nil {
		return nil, err
	}
	s.guard = guard.New(guard.Options{Address: o.Address, Pages: s.routes(), Public: s.site, Refuse: s.site.Refuse})
	return s, nil
}

// Link is the path that opens the console, once.
func (s *Server) Link() string { return s.guard.Link() }

// ServeHTTP serves the console.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guard.ServeHTTP(w, r) }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for path, p := range s.pages() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.site.Serve(w, r, p) })
	}
	mux.HandleFunc("GET "+frame.LanguagePath, s.site.Choose)
	mux.HandleFunc("POST /again", s.again)
	mux.HandleFunc("POST /leave", s.leave)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.site.Refuse(w, r, http.StatusNotFound, words.T("The console has no such page."))
	})
	return mux
}

// again has everything read anew, and goes back to the page.
func (s *Server) again(w http.ResponseWriter, r *http.Request) {
	s.environment.Stale()
	s.clusters.Stale()
	s.causes.Stale()
	s.backups.Stale()
	s.capacity.Stale()
	s.certificates.Stale()
	s.runs.Stale()
	to := frame.Local(r.PostFormValue("page"))
	if to.Path == "/plan" {
		s.plans.Stale()
	}
	if key, of := strings.CutPrefix(to.Path, "/clusters/"); of {
		s.cluster.Of(key).Stale()
	}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// leave ends the session. The terminal has the link of the next.
func (s *Server) leave(w http.ResponseWriter, r *http.Request) {
	s.guard.End(w)
	if s.options.Link != nil {
		s.options.Link(s.guard.Link())
	}
	s.site.Refuse(w, r, http.StatusOK, words.T("You have signed out."))
}
