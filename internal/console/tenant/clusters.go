package tenant

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/nodegroups"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// row is a cluster in the list.
type row struct{ clusters.Cluster }

// list shows the clusters of the project, those with a cause first.
func (s *Server) list(ctx context.Context, at frame.Look) frame.View {
	v := s.visitor(at)
	if v == nil {
		return frame.View{Title: words.T("Clusters")}
	}
	r := v.clusters.Look(ctx)
	rows := frame.Reading[[]row]{At: r.At, Err: r.Err}
	for _, c := range r.Value {
		rows.Value = append(rows.Value, row{c})
	}
	l := frame.Choose(rows, at.URL.Query(), "/clusters", func(c row) frame.Item {
		return frame.Item{Ready: c.Health() == frame.Well, Urgency: c.urgency(), Texts: []string{c.Name, c.UUID, c.Status, c.StatusReason, c.COEVersion, c.KeyPair}}
	})
	return frame.Shown(words.T("Clusters"), words.T("your clusters"), rows, l)
}

// Health is how the cluster is.
func (c row) Health() frame.Health { return healthOf(c.Status, c.HealthStatus) }

func healthOf(status, health string) frame.Health {
	switch {
	case strings.HasSuffix(status, "_FAILED") || health == "UNHEALTHY":
		return frame.Broken
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return frame.Changing
	case strings.HasSuffix(status, "_COMPLETE"):
		return frame.Well
	}
	return frame.Unknown
}

func (c row) urgency() int {
	switch c.Health() {
	case frame.Broken:
		return 0
	case frame.Well:
		return 2
	}
	return 1
}

// Path is the address of the cluster's page.
func (c row) Path() string { return "/clusters/" + url.PathEscape(c.UUID) }

// Word is the status for people: "create in progress". It is Magnum's own, in each language.
func (c row) Word() words.Text { return word(c.Status, c.HealthStatus) }

func word(status, health string) words.Text {
	switch {
	case strings.HasSuffix(status, "_COMPLETE") && health == "UNHEALTHY":
		return words.Said("unhealthy")
	case status == "":
		return words.T("unknown")
	}
	return words.Said(strings.ToLower(strings.ReplaceAll(status, "_", " ")))
}

// shownCluster is the page of a cluster.
type shownCluster struct {
	frame.Reading[description]
	row
	Groups []group
	// Reasons are what the cluster's health and its groups say, by their names.
	Reasons []pair
}

// group is a node group of a cluster.
type group struct {
	nodegroups.NodeGroup
	Cause, cluster string
}

// Health is how the group is.
func (g group) Health() frame.Health { return healthOf(g.Status, "") }

// Word is the status for people.
func (g group) Word() words.Text { return word(g.Status, "") }

// Path is the address of the group's pages.
func (g group) Path() string {
	return "/clusters/" + url.PathEscape(g.cluster) + "/groups/" + url.PathEscape(g.UUID)
}

func (s *Server) describe(ctx context.Context, at frame.Look) frame.View {
	id := at.PathValue("id")
	v := s.visitor(at)
	if v == nil {
		return frame.View{Title: words.T("Cluster")}
	}
	r := v.cluster.Of(id).Look(ctx)
	title := words.T("Cluster %s", cmp.Or(r.Value.Name, id))
	view := frame.Shown(title, words.T("the cluster"), r, newShown(r))
	if status(r.Err) == http.StatusNotFound { // it was deleted, or never there
		view.Status, view.Data = http.StatusNotFound, nil
	}
	return view
}

func newShown(r frame.Reading[description]) shownCluster {
	d := r.Value
	c := shownCluster{Reading: r, row: row{d.Cluster}}
	for _, g := range d.Groups {
		c.Groups = append(c.Groups, group{g, cmp.Or(g.StatusReason, d.Faults[g.Name]), d.UUID})
	}
	for name, reason := range d.HealthStatusReason {
		if text, ok := reason.(string); ok {
			c.Reasons = append(c.Reasons, pair{name, text})
		}
	}
	slices.SortFunc(c.Reasons, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return c
}
