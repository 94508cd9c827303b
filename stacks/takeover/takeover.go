// Package takeover takes over a management cluster that azimuth-ops made, and its seed: the
// operators of Azimuth give way to Slipway's controllers, which serve the same kinds. What
// there is decides what is written; what is overwritten is kept on the cluster, so that it
// can be given back. No object of Cluster API is written.
package takeover

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// Role is what a cluster is in an environment.
type Role string

// The roles.
const (
	Management Role = "management cluster"
	Seed       Role = "seed"
)

// Site is a cluster of the environment.
type Site struct {
	Role Role
	Kube *kube.Cluster
	// Clusters takes over clusters that are managed here.
	Clusters adopt.Site
}

// Open returns a cluster. It sends no requests but for the kinds that there are.
func Open(role Role, config *rest.Config) (Site, error) {
	on, err := kube.New(config)
	if err != nil {
		return Site{}, fault.New(string(role), err, "check its kubeconfig")
	}
	clusters, err := adopt.Open(config)
	return Site{role, on, clusters}, err
}

// Verdict is what becomes of an object.
type Verdict string

// The verdicts.
const (
	// Replace: an operator of Azimuth ends, and Slipway's begins.
	Replace Verdict = "replace"
	// Change and Create: Slipway writes it. Same: it is there as Slipway would write it.
	Change Verdict = "change"
	Create Verdict = "create"
	Same   Verdict = "same"
	// Keep: Slipway's controllers serve it from then on, and the takeover does not write it.
	Keep Verdict = "keep"
	// Leave: Slipway does not take it.
	Leave Verdict = "not taken"
)

// Difference is where an object is not as Slipway would write it.
type Difference struct {
	Path    string `json:"path"`
	Has     any    `json:"has"`
	Slipway any    `json:"slipway"`
}

// Item is an object with what becomes of it.
type Item struct {
	Object      string       `json:"object"`
	Version     string       `json:"version,omitempty"`
	Verdict     Verdict      `json:"verdict"`
	Note        string       `json:"note,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// Problem is why nothing is taken over, and what helps.
type Problem struct {
	Object string `json:"object"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// State is how far a takeover got before.
type State string

// The states.
const (
	New         State = "new"
	Interrupted State = "interrupted"
	Done        State = "adopted"
	// Ours clusters have Slipway's controllers from elsewhere: slipway up, or their chart.
	Ours State = "slipway's"
)

// Cluster is one cluster of the environment with what becomes of it.
type Cluster struct {
	Role  Role   `json:"role"`
	State State  `json:"state"`
	Items []Item `json:"items"`
	// Settings are what Slipway's controllers get from the values of Azimuth's, and what of
	// those has no counterpart.
	Settings []string `json:"settings,omitempty"`
	// Untouched counts the objects of Cluster API, by kind: none of them is written.
	Untouched map[string]int `json:"untouched"`
	Problems  []Problem      `json:"problems,omitempty"`

	site      Site
	record    *record
	operators []*operator
	// wanted is what Slipway writes.
	wanted []*unstructured.Unstructured
	// clusters are the Clusters that are here.
	clusters []unstructured.Unstructured
}

func (c *Cluster) problem(object, remedy, what string, args ...any) {
	c.Problems = append(c.Problems, Problem{object, fmt.Sprintf(what, args...), remedy})
}

// Plan is what becomes of an environment.
type Plan struct {
	// Environment is the name of the management cluster on its seed; empty if the seed is
	// not known.
	Environment string     `json:"environment,omitempty"`
	Clusters    []*Cluster `json:"clusters"`
	// Release is what becomes of the release of the management cluster on the seed.
	Release *adopt.Cluster `json:"release,omitempty"`
	// Rolls is the number of machines that would be made, deleted or replaced: 0, or
	// nothing is taken over.
	Rolls int `json:"rolls"`
	// Problems are those of the environment as a whole.
	Problems []Problem `json:"problems,omitempty"`

	seed *Cluster
}

// Refused are all problems, as faults; nil if it can be taken over. Nothing was written.
func (p *Plan) Refused() error {
	var all []error
	add := func(where string, problems []Problem) {
		for _, one := range problems {
			all = append(all, fault.New(where+one.Object, errors.New(one.What), one.Remedy))
		}
	}
	add("", p.Problems)
	for _, c := range p.Clusters {
		add(string(c.Role)+": ", c.Problems)
	}
	if p.Release != nil {
		for _, one := range p.Release.Problems {
			all = append(all, fault.New("cluster "+p.Release.Key().String(), errors.New(one.What), one.Remedy))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &fault.Fault{Exit: fault.ExitPreflight, Err: errors.Join(all...)}
}
