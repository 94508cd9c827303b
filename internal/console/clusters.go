package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// perPage is how many clusters a page shows.
const perPage = 100

// clusterList is a page of the list of clusters.
type clusterList struct {
	Reading[[]Cluster]
	// Shown are those of the page, Found how many the question found, All how many there are,
	// Ready how many of all are ready.
	Shown             []Cluster
	Found, All, Ready int
	// Query and Only are what was asked for, Page and Pages where this page is; the first is 1.
	Query, Only string
	Page, Pages int
	// Back and Next are the addresses beside; empty if there is none.
	Back, Next string
}

// list shows the clusters, those with a cause first.
func (s *Server) list(ctx context.Context, at look) view {
	r := s.clusters.look(ctx)
	return shown("Clusters", "the clusters", r, choose(r, at.URL.Query()))
}

// choose is the page that a question asks for.
func choose(r Reading[[]Cluster], asked url.Values) clusterList {
	l := clusterList{Reading: r, Query: strings.TrimSpace(asked.Get("q")), Only: asked.Get("only"), All: len(r.Value)}
	var found []Cluster
	for _, c := range r.Value {
		if c.Ready {
			l.Ready++
		}
		if l.wants(c) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Cluster) int { return urgency(a) - urgency(b) })
	l.Found = len(found)
	l.Pages = max(1, (l.Found+perPage-1)/perPage)
	l.Page, _ = strconv.Atoi(asked.Get("page"))
	l.Page = min(max(1, l.Page), l.Pages)
	l.Shown = found[(l.Page-1)*perPage : min(l.Page*perPage, l.Found)]
	if l.Page > 1 {
		l.Back = l.address(l.Page - 1)
	}
	if l.Page < l.Pages {
		l.Next = l.address(l.Page + 1)
	}
	return l
}

func (l clusterList) wants(c Cluster) bool {
	if l.Only == "unwell" && urgency(c) == 2 {
		return false
	}
	for _, text := range []string{c.Namespace + "/" + c.Name, c.Tenant, c.Project, c.Version, c.Phase, c.Reason, c.Cause} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(l.Query)) {
			return true
		}
	}
	return false
}

func (l clusterList) address(page int) string {
	asked := url.Values{"page": {strconv.Itoa(page)}}
	if l.Query != "" {
		asked.Set("q", l.Query)
	}
	if l.Only != "" {
		asked.Set("only", l.Only)
	}
	return "/clusters?" + asked.Encode()
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
