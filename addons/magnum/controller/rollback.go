package controller

import (
	"context"
	"fmt"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// rollBack puts a group's size back to what it last was complete with, where
// the cluster asks for it and the group's bounds, which may be others now, allow it.
func (p *pass) rollBack(ctx context.Context, g *v1alpha1.NodeGroup) (bool, error) {
	size := g.Status.CompleteNodeCount
	if !p.cluster.Spec.Rollback || size == nil || *size == g.Spec.NodeCount || !bounded(g, *size) || p.trouble != nil && p.trouble.final {
		return false, nil
	}
	// First the word that it is rolled back: a pass that is killed before the size is back
	// leaves the rest to the next one.
	cause := p.group(g).Cause
	err := p.writeGroup(ctx, g, func(s *v1alpha1.NodeGroupStatus) {
		s.Phase = v1alpha1.RollbackInProgress
		s.StatusReason = fmt.Sprintf("rolled back from %d nodes to %d", g.Spec.NodeCount, *size)
		if cause != nil {
			s.StatusReason += ": " + cause.String()
		}
	})
	if err != nil {
		return false, err
	}
	return true, p.putBack(ctx, g)
}

// putBack writes the size, and that it is seen: nobody asked for it.
func (p *pass) putBack(ctx context.Context, g *v1alpha1.NodeGroup) error {
	size := *g.Status.CompleteNodeCount
	if err := p.writeGroupSpec(ctx, g, func(spec *v1alpha1.NodeGroupSpec) { spec.NodeCount, spec.NodesToRemove = size, nil }); err != nil {
		return err
	}
	return p.writeGroup(ctx, g, func(*v1alpha1.NodeGroupStatus) {})
}

// bounded says whether the API server takes a size of a group.
func bounded(g *v1alpha1.NodeGroup, size int32) bool {
	most := g.Spec.MaxNodeCount
	return size >= g.Spec.MinNodeCount && (most == nil || *most == 0 || size <= *most)
}

// halfBack says that a group is rolled back and has its size of before not yet; isBack that it has.
func halfBack(g *v1alpha1.NodeGroup) bool {
	return rolling(g) && *g.Status.CompleteNodeCount != g.Spec.NodeCount && g.Generation == g.Status.ObservedGeneration
}

func isBack(g *v1alpha1.NodeGroup) bool {
	return rolling(g) && *g.Status.CompleteNodeCount == g.Spec.NodeCount
}

func rolling(g *v1alpha1.NodeGroup) bool {
	return g.Status.Phase == v1alpha1.RollbackInProgress && g.Status.CompleteNodeCount != nil
}
