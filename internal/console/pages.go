package console

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// How often pages that are open are looked at for news.
const (
	paceRun  = time.Second
	paceRest = 3 * time.Second
)

// pages are all pages by the pattern of their address.
func (s *Server) pages() map[string]page {
	return map[string]page{
		"/{$}":                         {"home", "/", paceRest, s.home},
		"/up":                          {"up", "/up", paceRun, s.bringUp},
		"/environment":                 {"environment", "/environment", paceRest, reads("Environment", "the environment", s.environment)},
		"/clusters":                    {"clusters", "/clusters", paceRest, s.list},
		"/clusters/{namespace}/{name}": {"cluster", "/clusters", paceRest, s.describe},
		"/causes":                      {"causes", "/causes", paceRest, reads("Causes", "the causes", s.causes)},
		"/backups":                     {"backups", "/backups", paceRest, reads("Backups", "the backups", s.backups)},
		"/log":                         {"log", "/log", paceRest, reads("Log", "the log of runs", s.runs)},
		"/log/{id}":                    {"run", "/log", paceRun, s.run},
	}
}

// reads is the view of a page that shows one reading.
func reads[T any](title, what string, w *watch[T]) func(context.Context, look) view {
	return func(ctx context.Context, _ look) view {
		r := w.look(ctx)
		return shown(title, what, r, r)
	}
}

// shown is a view of data that was made of a reading.
func shown[T any](title, what string, r Reading[T], data any) view {
	v := view{Title: title, Trouble: troubles(what, r), Loading: !r.Known() && r.Err == nil}
	if r.Known() {
		v.Data = data
	}
	return v
}

// summary is what the first page has.
type summary struct {
	Environment Reading[Environment]
	Clusters    Reading[[]Cluster]
	Ready       int
	// Worst are the first clusters with a cause.
	Worst    []Cluster
	Backups  Reading[Backups]
	Runs     Reading[[]Run]
	Last     *Run
	Progress *progress
}

// mostOfSummary is how many lines of a kind the first page has.
const mostOfSummary = 5

// home asks for everything at once, so that the first page is not as slow as all together.
func (s *Server) home(ctx context.Context, at look) view {
	var d summary
	var group sync.WaitGroup
	group.Go(func() { d.Environment = s.environment.look(ctx) })
	group.Go(func() { d.Clusters = s.clusters.look(ctx) })
	group.Go(func() { d.Backups = s.backups.look(ctx) })
	group.Go(func() { d.Runs = s.runs.look(ctx) })
	group.Wait()
	for _, c := range d.Clusters.Value {
		if c.Ready {
			d.Ready++
		}
		if !c.Ready && len(d.Worst) < mostOfSummary {
			d.Worst = append(d.Worst, c)
		}
	}
	if len(d.Runs.Value) > 0 {
		d.Last = &d.Runs.Value[0]
		if d.Last.Running() {
			d.Progress = s.progress(ctx, at, *d.Last)
		}
	}
	v := view{Title: "Overview", Data: d}
	v.Trouble = slices.Concat(troubles("the environment", d.Environment), troubles("the clusters", d.Clusters), troubles("the backups", d.Backups), troubles("the log of runs", d.Runs))
	return v
}

// described is a cluster, and how old that is.
type described struct {
	Reading[Description]
	Namespace, Name string
}

func (s *Server) describe(ctx context.Context, at look) view {
	namespace, name := at.PathValue("namespace"), at.PathValue("name")
	r := s.cluster.of(namespace + "/" + name).look(ctx)
	v := shown("Cluster "+cut(visible(name), longestName), "the cluster", r, described{r, namespace, name})
	if !r.Known() && r.Err != nil && fault.ExitCode(r.Err) == fault.ExitUsage { // it does not exist
		v.Status = http.StatusNotFound
	}
	return v
}
