package console

import (
	"context"
	"net/url"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// list shows the clusters, those with a cause first.
func (s *Server) list(ctx context.Context, at frame.Look) frame.View {
	r := s.clusters.Look(ctx)
	return frame.Shown(words.T("Clusters"), words.T("the clusters"), r, choose(r, at.URL.Query()))
}

// choose is the page that a question asks for.
func choose(r frame.Reading[[]Cluster], asked url.Values) frame.List[Cluster] {
	return frame.Choose(r, asked, "/clusters", func(c Cluster) frame.Item {
		return frame.Item{Ready: c.Ready, Urgency: urgency(c), Texts: []string{c.Namespace + "/" + c.Name, c.Tenant, c.Project, c.Version, c.Phase, c.Reason, c.Cause}}
	})
}

// urgency orders clusters: those that are not ready and have a cause, others with a cause or
// not ready, those that are well.
func urgency(c Cluster) int {
	switch {
	case !c.Ready && c.Cause != "":
		return 0
	case !c.Ready || c.Cause != "":
		return 1
	}
	return 2
}

// Health is how the cluster is.
func (c Cluster) Health() Health {
	return []Health{Broken, Changing, Well}[urgency(c)]
}

// Path is the address of the cluster's page.
func (c Cluster) Path() string {
	return "/clusters/" + url.PathEscape(c.Namespace) + "/" + url.PathEscape(c.Name)
}
