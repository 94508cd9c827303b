package support

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Shared is one and the same cause, of one cluster or of many that do not depend on each
// other.
type Shared struct {
	Reason string    `json:"reason"`
	Object cause.Ref `json:"object"`
	Cause  string    `json:"cause"`
	// Clusters are those that have it, as namespace/name; empty for the environment's servers.
	Clusters []string `json:"clusters,omitempty"`
	// Objects are all that it gets.
	Objects []cause.Ref `json:"objects"`

	first  Answer
	all    []cause.Finding // of the first cluster
	others []string        // objects of others, with their clusters
}

// accidental is what differs between two occurrences of one cause: ids, requests, addresses.
var accidental = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b|\breq-[\w-]+|\b\d{1,3}(\.\d{1,3}){3}\b|\b\d{4}-\d\d-\d\d[T ][\d:.]+( UTC|Z)?`)

// shape is what two findings have in common if they are of one cause: the reason and the
// words, without the names of what is the cluster's own.
func (a Answer) shape(f cause.Finding) string {
	var own []string
	for _, r := range f.Chain {
		own = append(own, r.Name, r.ID)
	}
	own = append(own, a.Namespace+"-"+a.Cluster, a.Cluster)
	own = slices.DeleteFunc(own, func(name string) bool { return len(name) < 3 })
	slices.SortFunc(own, func(x, y string) int { return len(y) - len(x) }) // the longer name has the shorter one in it
	words := f.Cause
	for _, name := range own {
		words = strings.ReplaceAll(words, name, "•")
	}
	return f.Reason + " " + f.Object.Kind + " " + accidental.ReplaceAllString(words, "•")
}

// shared puts findings together that are of one cause, of all clusters.
func (r Answers) shared() []*Shared {
	var all []*Shared
	at := map[string]*Shared{}
	for _, a := range r.Answers {
		for _, f := range a.Findings {
			key := a.shape(f)
			if a.Cluster == "" {
				key += " " // the environment's own servers are told apart
			}
			s := at[key]
			if s == nil {
				s = &Shared{Reason: f.Reason, Object: f.Object, Cause: f.Cause, first: a}
				at[key], all = s, append(all, s)
			}
			s.add(a, f)
		}
	}
	return all
}

func (s *Shared) add(a Answer, f cause.Finding) {
	name := a.Namespace + "/" + a.Cluster
	s.Objects = append(s.Objects, f.Object)
	if a.Namespace == s.first.Namespace && a.Cluster == s.first.Cluster && a.On == s.first.On {
		s.all = append(s.all, f)
	} else {
		s.others = append(s.others, f.Object.String()+" of "+name)
	}
	if a.Cluster != "" && (len(s.Clusters) == 0 || s.Clusters[len(s.Clusters)-1] != name) {
		s.Clusters = append(s.Clusters, name)
	}
}
