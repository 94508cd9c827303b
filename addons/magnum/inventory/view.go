package inventory

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Form is one of the ways a cluster is written.
type Form int

// The forms.
const (
	Short Form = iota
	Full
	forms
)

// View is a cluster with its node groups at one moment. It never changes; a
// change makes a new view.
type View struct {
	Cluster *v1alpha1.Cluster
	// Groups are in order of creation, the default groups first.
	Groups []*v1alpha1.NodeGroup
	// ID is the sort number.
	ID int64

	text [forms]atomic.Pointer[[]byte]
}

// Phase is the status a client is shown.
func (v *View) Phase() v1alpha1.Phase { return v.Cluster.EffectivePhase(v.Groups) }

// Text is what write makes of the view in a form. It is made once, so that
// lists of a thousand clusters only copy.
func (v *View) Text(form Form, write func(*View) []byte) []byte {
	if text := v.text[form].Load(); text != nil {
		return *text
	}
	text := write(v)
	v.text[form].Store(&text)
	return text
}

// Master reports whether a group is of the control plane.
func Master(g *v1alpha1.NodeGroup) bool { return g.Spec.Role == v1alpha1.RoleMaster }

// Counts are the wanted numbers of control plane and worker nodes.
func (v *View) Counts() (masters, workers int32) {
	for _, g := range v.Groups {
		if Master(g) {
			masters += g.Spec.NodeCount
		} else {
			workers += g.Spec.NodeCount
		}
	}
	return masters, workers
}

// Created is when a group was created. A default group is as old as its cluster,
// whenever the controllers wrote it.
func (v *View) Created(g *v1alpha1.NodeGroup) metav1.Time {
	if g.Spec.IsDefault && v1alpha1.FormerID(g) == 0 {
		return v1alpha1.Created(v.Cluster)
	}
	return v1alpha1.Created(g)
}

// GroupID is the number that Magnum calls id of a group, see [SortID].
func (v *View) GroupID(g *v1alpha1.NodeGroup) int64 {
	if g.Spec.IsDefault && v1alpha1.FormerID(g) == 0 {
		return sortID(v1alpha1.Created(v.Cluster), g.UUID())
	}
	return SortID(g)
}

// Default is the default group of the control plane or of workers, nil while
// there is none.
func (v *View) Default(master bool) *v1alpha1.NodeGroup {
	for _, g := range v.Groups {
		if g.Spec.IsDefault && Master(g) == master {
			return g
		}
	}
	return nil
}
