// Package adopt takes over workload clusters that others made on a management cluster:
// releases of capi-helm-charts' openstack-cluster chart, and clusters of clusterctl or
// GitOps. It replaces no machine and writes no object of Cluster API: of a release, Helm
// gets one more revision, which says that Slipway's chart made what there is; any other
// cluster gets a record in a Secret.
package adopt

import (
	"context"
	"errors"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// Verdict is what becomes of a cluster.
type Verdict string

// The verdicts.
const (
	// Adopt clusters become Slipway's with their release and its values.
	Adopt Verdict = "adopt"
	// AsItIs clusters have no release: they are recorded, shown and deleted, and changed
	// where they were declared.
	AsItIs Verdict = "as it is"
	// Ours are clusters that Slipway manages already.
	Ours Verdict = "ours"
	// Refuse keeps Slipway's hands off a cluster.
	Refuse Verdict = "refuse"
)

// Problem is why a cluster is refused, and what helps.
type Problem struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// When says when a difference would be seen.
type When string

// The times.
const (
	// Stays is what the cluster keeps until its value is changed.
	Stays When = "stays"
	// NextRollout is what machines get when they are replaced for another reason.
	NextRollout When = "next rollout"
)

// Difference is something that Slipway's chart would make otherwise.
type Difference struct {
	Object string `json:"object"`
	Path   string `json:"path"`
	// Has is what the cluster has, Values what its values would make.
	Has    any  `json:"has"`
	Values any  `json:"values"`
	When   When `json:"when"`
}

// Cluster is a cluster with what becomes of it.
type Cluster struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	MadeBy    string  `json:"madeBy"`
	Verdict   Verdict `json:"verdict"`
	Version   string  `json:"version,omitempty"`
	Machines  int     `json:"machines"`
	// Rolls is the number of machines that would be made, deleted or replaced: 0, or the
	// cluster is refused.
	Rolls int `json:"rolls"`
	// Taken are the objects that Slipway manages afterwards; Kept those of addons that
	// stay as they are until Slipway's addons are wanted.
	Taken []string `json:"taken"`
	Kept  []string `json:"kept,omitempty"`
	// NoCounterpart are values and objects that Slipway's chart does not have.
	NoCounterpart []string     `json:"noCounterpart,omitempty"`
	Differences   []Difference `json:"differences,omitempty"`
	Notes         []string     `json:"notes,omitempty"`
	Problems      []Problem    `json:"problems,omitempty"`

	release *helmrelease.Release
	// unsettled is the revision of an adoption that may have been interrupted.
	unsettled *helmrelease.Release
	seen      *seen
	// values and manifest are those of the revision to be written.
	values   map[string]any
	manifest string
}

// Key names a cluster as workload does.
func (c *Cluster) Key() workload.Key { return workload.Key{Namespace: c.Namespace, Name: c.Name} }

func (c *Cluster) problem(what, remedy string) {
	c.Verdict = Refuse
	c.Problems = append(c.Problems, Problem{what, remedy})
}

// roll is a problem that would replace machines.
func (c *Cluster) roll(machines int, what, remedy string) {
	c.Rolls += max(machines, 0)
	c.problem(what, remedy)
}

// Values are those of the release to be written, or of one that was adopted before, without
// the objects that are kept. Others have none.
func (c *Cluster) Values() map[string]any {
	plain := map[string]any{}
	for key, value := range c.values {
		if key != valueAdopted {
			plain[key] = value
		}
	}
	return plain
}

// Plan is what becomes of clusters.
type Plan struct {
	Clusters []Cluster `json:"clusters"`
}

// Releases are Helm's on a management cluster.
type Releases interface {
	// Last is the latest revision of a release, nil if there is none.
	Last(namespace, name string) (*helmrelease.Release, error)
	// TakeOver writes the revision after last.
	TakeOver(last *helmrelease.Release, t helm.Takeover) error
	// Settle completes a takeover that was interrupted.
	Settle(r *helmrelease.Release) error
	// GiveBack undoes a takeover.
	GiveBack(r *helmrelease.Release) error
}

// Site is a management cluster.
type Site struct {
	Client   client.Client
	Releases Releases
}

// Open returns a management cluster. It asks which kinds there are when they are needed.
func Open(config *rest.Config) (Site, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // priority and fairness of the server decides
	c, err := client.New(config, client.Options{})
	if err != nil {
		return Site{}, fault.New("management cluster", err, "check the kubeconfig and that the API server answers")
	}
	return Site{Client: c, Releases: stored{config}}, nil
}

// New says what becomes of the clusters that are named, or of all. It only reads.
func New(ctx context.Context, site Site, name, namespace string) (*Plan, error) {
	found, err := site.find(ctx, name, namespace)
	if err != nil {
		return nil, err
	}
	if name != "" && len(found) == 0 {
		return nil, fault.Usage("cluster "+name, errors.New("there is neither a Cluster nor a release of that name"), "see slipway adopt cluster --all --dry-run")
	}
	p := &Plan{Clusters: []Cluster{}}
	for _, one := range found {
		c, err := site.judge(ctx, one)
		if err != nil {
			return nil, fmt.Errorf("looking at cluster %s: %w", one.key, err)
		}
		p.Clusters = append(p.Clusters, *c)
	}
	p.twins()
	return p, nil
}

// twins refuses clusters of one name: what workloads create in OpenStack is recognised by
// the cluster's name alone.
func (p *Plan) twins() {
	count := map[string][]string{}
	for _, c := range p.Clusters {
		count[c.Name] = append(count[c.Name], c.Namespace)
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if others := count[c.Name]; len(others) > 1 && c.Verdict != Ours {
			c.problem(fmt.Sprintf("%d clusters have its name: in namespaces %s", len(others), join(others)),
				"say which one with --namespace; what their workloads make in OpenStack is told apart by the cluster's name alone, so keep them in different projects")
		}
	}
}

// Refused are the problems of all clusters, as faults.
func (p *Plan) Refused() error {
	var all []error
	for _, c := range p.Clusters {
		for _, one := range c.Problems {
			all = append(all, fault.New("cluster "+c.Key().String(), errors.New(one.What), one.Remedy))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &fault.Fault{Exit: fault.ExitPartial, Err: errors.Join(all...)}
}

// gone reports an object, or a kind, that is not there.
func gone(err error) bool { return apierrors.IsNotFound(err) || noKind(err) }
