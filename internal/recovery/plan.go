package recovery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Plan is what a restore writes, in order.
type Plan struct {
	// Steps are written one after the other; the objects of one may be written at
	// once, as all that they need is in the steps before.
	Steps [][]*unstructured.Unstructured
	// Skipped are the objects of the snapshot that are left out.
	Skipped []Skipped
	// Needed are objects of others by which the one cluster of the plan lives. What of them is
	// there stays as it is, also if it is not that of the snapshot; Bring adds the rest.
	Needed []*unstructured.Unstructured
	// Dangling are objects with an owner that neither the snapshot nor up has. They
	// are restored without that reference, or Kubernetes would collect them.
	Dangling []Finding
	// outside are objects of the snapshot that are left out, by UID: owners that the
	// new cluster has of its own.
	outside map[types.UID]Reference
}

// Objects is how many the plan has.
func (p *Plan) Objects() int {
	n := 0
	for _, step := range p.Steps {
		n += len(step)
	}
	return n
}

// Outside is the object that had a UID in the snapshot and is not restored.
func (p *Plan) Outside(uid types.UID) (Reference, bool) {
	r, ok := p.outside[uid]
	return r, ok
}

// NewPlan chooses and orders the objects of a snapshot: namespaces, Secrets and
// ConfigMaps, templates, then owners before what they own. Clusters come before all
// that is theirs, so it is paused from its first moment. All objects are as they are
// in the snapshot; Prepare makes them ready to be written.
func NewPlan(s *snapshot.Snapshot, scope Scope) (*Plan, error) {
	wanted, out, err := Choose(s, scope)
	if err != nil {
		return nil, err
	}
	p := &Plan{Skipped: out, outside: map[types.UID]Reference{}}
	here := map[types.UID]*unstructured.Unstructured{}
	for _, o := range wanted {
		if other := here[o.GetUID()]; other != nil && o.GetUID() != "" {
			return nil, fault.New(Describe(o), fmt.Errorf("it has the same UID as %s", Describe(other)), "the backup is damaged: run slipway backup verify, or use another one")
		}
		here[o.GetUID()] = o
	}
	for _, o := range s.Objects {
		if here[o.GetUID()] == nil {
			p.outside[o.GetUID()] = selfReference(o)
		}
	}
	depths, err := p.depths(wanted, here)
	if err != nil {
		return nil, err
	}
	if scope.Cluster != "" {
		p.Needed = needed(s.Objects, here)
	}
	place := func(o *unstructured.Unstructured) int { return depths[o.GetUID()]*ranks + rank(o) }
	slices.SortStableFunc(wanted, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(Describe(a), Describe(b)))
	})
	last := -1
	for _, o := range wanted {
		if at := place(o); at != last {
			p.Steps, last = append(p.Steps, nil), at
		}
		p.Steps[len(p.Steps)-1] = append(p.Steps[len(p.Steps)-1], o)
	}
	return p, nil
}

// depths is how many owners are above each object, by UID; those of one depth do not
// own each other.
func (p *Plan) depths(wanted []*unstructured.Unstructured, here map[types.UID]*unstructured.Unstructured) (map[types.UID]int, error) {
	depths := map[types.UID]int{}
	var visit func(o *unstructured.Unstructured, above []string) (int, error)
	visit = func(o *unstructured.Unstructured, above []string) (int, error) {
		if depth, done := depths[o.GetUID()]; done {
			return depth, nil
		}
		if slices.Contains(above, Describe(o)) {
			return 0, fault.New(Describe(o), fmt.Errorf("it owns itself: %s", strings.Join(append(above, Describe(o)), ", ")), "the backup is damaged: use another one")
		}
		depth := 0
		for _, r := range o.GetOwnerReferences() {
			owner := here[r.UID]
			if owner == nil {
				p.missing(o, r)
				continue
			}
			up, err := visit(owner, append(above, Describe(o)))
			if err != nil {
				return 0, err
			}
			depth = max(depth, up+1)
		}
		depths[o.GetUID()] = depth
		return depth, nil
	}
	for _, o := range wanted {
		if o.GetUID() == "" {
			return nil, fault.New(Describe(o), errors.New("it has no UID"), "the backup is damaged: run slipway backup verify, or use another one")
		}
		if _, err := visit(o, nil); err != nil {
			return nil, err
		}
	}
	return depths, nil
}

// missing notes an owner that nothing has.
func (p *Plan) missing(o *unstructured.Unstructured, r metav1.OwnerReference) {
	if _, known := p.outside[r.UID]; known {
		return
	}
	p.Dangling = append(p.Dangling, Finding{Object: Describe(o), Cluster: clusterOf(o), Cause: fmt.Sprintf("its owner %s %s is not in the backup", r.Kind, r.Name),
		Remedy: "restored without this owner: see whether it is still needed"})
}

// ranks is how many there are of rank.
const ranks = 5

// rank orders objects of one depth.
func rank(o *unstructured.Unstructured) int {
	switch {
	case o.GetKind() == kindNamespace:
		return 0
	case group(o) == "" || strings.HasSuffix(group(o), "k8s.io") && !strings.HasSuffix(group(o), groupClusterAPI):
		return 1
	case strings.HasSuffix(o.GetKind(), "Template") || o.GetKind() == "ClusterClass":
		return 2
	case o.GetKind() == "Cluster":
		return 3
	}
	return 4
}
