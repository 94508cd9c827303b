package moving

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Rows is Magnum's running database.
type Rows interface {
	// Read reads it, and fails if it cannot be written.
	Read(ctx context.Context) (*database.Image, error)
	// Apply writes work in one transaction.
	Apply(ctx context.Context, read *database.Image, work database.Work) error
}

// The verdicts of a hand-back, besides Refuse.
const (
	// Unchanged has nothing to be written: Magnum only gets it back.
	Unchanged Verdict = "unchanged"
	// Write changes a row.
	Write Verdict = "write"
	// Create makes a row.
	Create Verdict = "create"
	// Delete deletes a row.
	Delete Verdict = "delete"
	// Magnums is Magnum's: it was never adopted, or was handed back before.
	Magnums Verdict = "magnum"
)

// The kinds of what is handed back.
const (
	KindTemplate    = "template"
	KindQuota       = "quota"
	KindCluster     = "cluster"
	KindGroup       = "node group"
	KindCertificate = "certificates"
	KindCredential  = "credential"
)

// Returned is what becomes of one thing. Node groups, certificates and credentials
// follow their cluster.
type Returned struct {
	Kind string `json:"kind"`
	Item
	// Cluster is the name of a part's cluster.
	Cluster string `json:"cluster,omitempty"`
	// Changes are columns that are written.
	Changes []database.Difference `json:"changes,omitempty"`
	// Conflicts are columns that somebody changed in Magnum since.
	Conflicts []database.Difference `json:"conflicts,omitempty"`
}

// Choices are those of the operator.
type Choices struct {
	// Certificates is Magnum's store; "" is not known.
	Certificates string
	// MayRoll takes clusters of which Magnum's driver replaces machines with its
	// first change.
	MayRoll bool
	// Overwrite are names or UUIDs whose rows are written over, whoever changed them.
	Overwrite []string
	// Only is the name or UUID of the one cluster that is handed back; "" is all.
	Only string
}

// HandBack says what a hand-back does. Making one changes nothing.
type HandBack struct {
	// Magnum are the releases of Magnum whose schema the database has.
	Magnum string      `json:"magnum"`
	Items  []*Returned `json:"items"`

	units []*unit
	image *database.Image
}

// unit is what is written in one transaction: a cluster with all that belongs to
// it, a template, or a quota.
type unit struct {
	*Returned
	parts []*Returned
	// object is Slipway's, nil if it was deleted; groups are a cluster's.
	object client.Object
	groups []*v1alpha1.NodeGroup
	// template is the UUID of the template that a cluster needs.
	template string
	work     database.Work
	record   *kept
}

// refused reports whether anything of a unit is.
func (u *unit) refused() bool {
	for _, part := range append([]*Returned{u.Returned}, u.parts...) {
		if part.Verdict == Refuse {
			return true
		}
	}
	return false
}

// Refused are the problems of everything.
func (h *HandBack) Refused() []Refusal {
	var all []Refusal
	for _, i := range h.Items {
		what := i.Kind + " " + i.Name + " (" + i.ID() + ")"
		if i.Cluster != "" {
			what = i.Kind + " of cluster " + i.Cluster
			if i.Kind == KindGroup {
				what = i.Kind + " " + i.Name + " of cluster " + i.Cluster
			}
		}
		for _, problem := range i.Problems {
			all = append(all, Refusal{what, problem})
		}
	}
	return all
}

// Pending is how many clusters, templates and quotas Magnum does not have back yet.
func (h *HandBack) Pending() int { return len(h.units) }

// NewHandBack reads the database and the management cluster, and judges everything
// that either has.
func NewHandBack(ctx context.Context, rows Rows, site Site, choices Choices) (*HandBack, error) {
	image, err := rows.Read(ctx)
	if err != nil {
		return nil, err
	}
	j := &returning{ctx: ctx, site: site, image: image, choices: choices, plan: &HandBack{Magnum: image.Releases, Items: []*Returned{}, image: image},
		templates: map[string]bool{}}
	if j.records, err = site.records(ctx); err != nil {
		return nil, err
	}
	for _, read := range []func() error{j.allTemplates, j.allQuotas, j.allClusters} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	j.usedTemplates()
	for _, u := range j.units {
		if choices.Only != "" && u.Kind != KindCluster {
			continue
		}
		j.plan.Items = append(append(j.plan.Items, u.Returned), u.parts...)
		if err := j.tried(u); err != nil {
			return nil, err
		}
	}
	j.plan.units = j.pending()
	return j.plan, nil
}

// tried makes the changes without the server: what cannot be read again is a
// mistake of ours, and is not written.
func (j *returning) tried(u *unit) error {
	if u.refused() || len(u.work.Changes) == 0 {
		return nil
	}
	if _, err := j.image.After(j.image, u.work); err != nil {
		return fmt.Errorf("trying the rows of %s %s: %w", u.Kind, u.Name, err)
	}
	return nil
}

// pending are the units that are handed back.
func (j *returning) pending() []*unit {
	var all []*unit
	for _, u := range j.units {
		if u.Verdict != Magnums && !u.refused() && (j.choices.Only == "" || u.Kind == KindCluster) {
			all = append(all, u)
		}
	}
	return all
}
