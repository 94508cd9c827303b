package console

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/fault"
)

// How often pages that are open are looked at for news.
const (
	paceRun  = time.Second
	paceRest = 3 * time.Second
)

func menu() []frame.Entry {
	return []frame.Entry{{Path: "/", Name: words.T("Overview")}, {Path: "/up", Name: words.T("Bring-up")}, {Path: "/environment", Name: words.T("Environment")}, {Path: "/clusters", Name: words.T("Clusters")}, {Path: "/causes", Name: words.T("Causes")}, {Path: "/backups", Name: words.T("Backups")}, {Path: "/plan", Name: words.T("Plan")}, {Path: "/capacity", Name: words.T("Capacity")}, {Path: "/certificates", Name: words.T("Certificates")}, {Path: "/log", Name: words.T("Log")}}
}

// pages are all pages by the pattern of their address.
func (s *Server) pages() map[string]frame.Page {
	return map[string]frame.Page{
		"/{$}":                         {Template: "home", Nav: "/", Every: paceRest, View: s.home},
		"/up":                          {Template: "up", Nav: "/up", Every: paceRun, View: s.bringUp},
		"/environment":                 {Template: "environment", Nav: "/environment", Every: paceRest, View: reads(words.T("Environment"), words.T("the environment"), s.environment)},
		"/clusters":                    {Template: "clusters", Nav: "/clusters", Every: paceRest, View: s.list},
		"/clusters/{namespace}/{name}": {Template: "cluster", Nav: "/clusters", Every: paceRest, View: s.describe},
		"/causes":                      {Template: "causes", Nav: "/causes", Every: paceRest, View: reads(words.T("Causes"), words.T("the causes"), s.causes)},
		"/backups":                     {Template: "backups", Nav: "/backups", Every: paceRest, View: reads(words.T("Backups"), words.T("the backups"), s.backups)},
		"/plan":                        {Template: "plan", Nav: "/plan", Every: paceRest, View: s.plan},
		"/capacity":                    {Template: "capacity", Nav: "/capacity", Every: paceRest, View: reads(words.T("Quota and capacity"), words.T("the quotas"), s.capacity)},
		"/certificates":                {Template: "certificates", Nav: "/certificates", Every: paceRest, View: s.listCertificates},
		"/log":                         {Template: "log", Nav: "/log", Every: paceRest, View: reads(words.T("Log"), words.T("the log of runs"), s.runs)},
		"/log/{id}":                    {Template: "run", Nav: "/log", Every: paceRun, View: s.run},
	}
}

// reads is the view of a page that shows one reading.
func reads[T any](title, what words.Text, w *frame.Watch[T]) func(context.Context, frame.Look) frame.View {
	return func(ctx context.Context, _ frame.Look) frame.View {
		r := w.Look(ctx)
		return frame.Shown(title, what, r, r)
	}
}

// summary is what the first page has.
type summary struct {
	Environment frame.Reading[Environment]
	Clusters    frame.Reading[[]Cluster]
	Ready       int
	// Worst are the first clusters with a cause.
	Worst    []Cluster
	Backups  frame.Reading[Backups]
	Runs     frame.Reading[[]Run]
	Last     *Run
	Progress *progress
}

// mostOfSummary is how many lines of a kind the first page has.
const mostOfSummary = 5

// home asks for everything at once, so that the first page is not as slow as all together.
func (s *Server) home(ctx context.Context, at frame.Look) frame.View {
	var d summary
	var group sync.WaitGroup
	group.Go(func() { d.Environment = s.environment.Look(ctx) })
	group.Go(func() { d.Clusters = s.clusters.Look(ctx) })
	group.Go(func() { d.Backups = s.backups.Look(ctx) })
	group.Go(func() { d.Runs = s.runs.Look(ctx) })
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
	v := frame.View{Title: words.T("Overview"), Data: d}
	v.Trouble = slices.Concat(frame.Troubles(words.T("the environment"), d.Environment), frame.Troubles(words.T("the clusters"), d.Clusters), frame.Troubles(words.T("the backups"), d.Backups), frame.Troubles(words.T("the log of runs"), d.Runs))
	return v
}

// described is a cluster, and how old that is.
type described struct {
	frame.Reading[Description]
	Namespace, Name string
}

func (s *Server) describe(ctx context.Context, at frame.Look) frame.View {
	namespace, name := at.PathValue("namespace"), at.PathValue("name")
	r := s.cluster.Of(namespace + "/" + name).Look(ctx)
	v := frame.Shown(words.T("Cluster %s", name), words.T("the cluster"), r, described{r, namespace, name})
	if !r.Known() && r.Err != nil && fault.ExitCode(r.Err) == fault.ExitUsage { // it does not exist
		v.Status = http.StatusNotFound
	}
	return v
}
