// Package moving brings what OpenStack's Magnum has in its database onto the
// management cluster that its clusters already run on, without touching a
// machine. Everything is first copied as held (see v1alpha1.Held): it is shown
// by the API, nobody changes it, and it can be copied again until it is
// adopted. docs/guides/migrating.md is the operator's view.
package moving

import (
	"context"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
)

// Releases are the Helm releases of the management cluster.
type Releases interface {
	// Last is the latest revision of a release, nil if there is none.
	Last(ctx context.Context, namespace, name string) (*helmrelease.Release, error)
}

// Projects are those of Keystone.
type Projects interface {
	ProjectExists(ctx context.Context, id string) (bool, error)
}

// Store is a certificate store of Magnum.
type Store interface {
	// Pair is the certificate and the key, with its passphrase, of a reference.
	Pair(ctx context.Context, reference string) (database.KeyPair, error)
}

// Site is where things are moved to.
type Site struct {
	// Client reads and writes the management cluster without a cache.
	Client   client.Client
	Releases Releases
	// Projects are asked whether they exist; nil is nobody.
	Projects Projects
	// Store has certificates of clusters whose Secrets are not on the management
	// cluster; nil is the database.
	Store Store
	// Defaults are those that the controllers run with.
	Defaults driver.Defaults
}

// Verdict is what becomes of something.
type Verdict string

// The verdicts.
const (
	// Adopt is copied and can be adopted.
	Adopt Verdict = "adopt"
	// Show is copied to be read: Slipway cannot manage it.
	Show Verdict = "show"
	// Ours has been adopted before and is left alone.
	Ours Verdict = "ours"
	// Refuse is left out for its problems.
	Refuse Verdict = "refuse"
)

// Problem is why something cannot be moved.
type Problem struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Difference is a value of a release that Slipway would set otherwise.
type Difference struct {
	Path string `json:"path"`
	Has  any    `json:"has"`
	Want any    `json:"want"`
}

// Item is what becomes of a template, a quota or a cluster.
type Item struct {
	UUID      string    `json:"uuid,omitempty"`
	Name      string    `json:"name"`
	ProjectID string    `json:"projectID"`
	Verdict   Verdict   `json:"verdict"`
	Problems  []Problem `json:"problems,omitempty"`
	Notes     []string  `json:"notes,omitempty"`

	// uncopied says that its copy could not be written: there is nothing to adopt.
	uncopied bool
	// unsettled says that it is adopted, and its record does not say so yet.
	unsettled bool
}

// Unsettled reports whether it is adopted, and a run ended before its record said so: the next run
// that adopts it completes the record.
func (i *Item) Unsettled() bool { return i.unsettled }

// copying notes whether a copy could be written.
func (i *Item) copying(err error) error {
	i.uncopied = err != nil
	return err
}

func (i *Item) problem(what, remedy string) {
	i.Problems = append(i.Problems, Problem{what, remedy})
	i.Verdict = Refuse
}

// Cluster is what becomes of a cluster.
type Cluster struct {
	Item
	// Driver is Magnum's: capi-helm, cluster-api or heat.
	Driver  string `json:"driver"`
	StackID string `json:"stackID,omitempty"`
	Status  string `json:"status"`
	// Groups is the number of node groups, Machines that of machines wanted.
	Groups   int `json:"nodeGroups"`
	Machines int `json:"machines"`
	// Rolls is how many machines adopting would make or delete. It is 0, or
	// the cluster is refused.
	Rolls int `json:"rolls"`
	// AtUpgrade are the values that the next upgrade to another template changes,
	// which replaces machines anyhow.
	AtUpgrade []Difference `json:"atUpgrade,omitempty"`

	row    database.Cluster
	groups []database.NodeGroup
	look   *look
	copies *copies
}

// The drivers of Magnum, told apart by their stack ids.
const (
	CAPIHelm   = "capi-helm"
	ClusterAPI = "cluster-api"
	Heat       = "heat"
)

// Plan says what an import does. Making one changes nothing.
type Plan struct {
	// Magnum are the releases of Magnum whose schema the database has.
	Magnum    string    `json:"magnum"`
	Templates []Item    `json:"templates"`
	Quotas    []Item    `json:"quotas"`
	Clusters  []Cluster `json:"clusters"`
	// Gone are copies of clusters that Magnum has no more, GoneTemplates and GoneQuotas those of
	// templates and quotas; they are removed.
	Gone          []string `json:"gone,omitempty"`
	GoneTemplates []string `json:"goneTemplates,omitempty"`
	GoneQuotas    []string `json:"goneQuotas,omitempty"`

	db *database.Database
}

// Refusal is a problem with its object.
type Refusal struct {
	Object string
	Problem
}

// Refused are the problems of everything.
func (p *Plan) Refused() []Refusal {
	var all []Refusal
	add := func(kind string, i Item) {
		for _, problem := range i.Problems {
			all = append(all, Refusal{kind + " " + i.Name + " (" + i.ID() + ")", problem})
		}
	}
	for _, i := range p.Templates {
		add("template", i)
	}
	for _, i := range p.Quotas {
		add("quota", i)
	}
	for _, c := range p.Clusters {
		add("cluster", c.Item)
	}
	return all
}

// ID is the UUID, or the project of what has none.
func (i Item) ID() string {
	if i.UUID == "" {
		return i.ProjectID
	}
	return i.UUID
}

// Find returns the cluster of a name or UUID. Names are not unique.
func (p *Plan) Find(ident string) []*Cluster {
	var found []*Cluster
	for i := range p.Clusters {
		if c := &p.Clusters[i]; c.Name == ident || strings.EqualFold(c.UUID, ident) {
			found = append(found, c)
		}
	}
	return found
}

// count is how many of a list are so.
func count[T any](list []T, is func(T) bool) int {
	n := 0
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

// New reads the management cluster and judges everything in the database. Errors
// are those of the management cluster or the cloud; what is wrong with an object
// is in the plan.
func New(ctx context.Context, db *database.Database, site Site) (*Plan, error) {
	p := &Plan{Magnum: db.Releases, db: db, Templates: []Item{}, Quotas: []Item{}, Clusters: []Cluster{}}
	j := &judge{ctx: ctx, site: site, db: db, exists: map[string]bool{}, ours: map[string]bool{}}
	var err error
	if j.records, err = site.records(ctx); err != nil {
		return nil, err
	}
	for _, t := range db.Templates {
		item, err := j.template(t)
		if err != nil {
			return nil, err
		}
		p.Templates = append(p.Templates, item)
	}
	for _, q := range db.Quotas {
		item, err := j.quota(q)
		if err != nil {
			return nil, err
		}
		p.Quotas = append(p.Quotas, item)
	}
	for _, row := range db.Clusters {
		c, err := j.cluster(row)
		if err != nil {
			return nil, err
		}
		p.Clusters = append(p.Clusters, *c)
	}
	return p, j.gone(p)
}
