package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"

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

// goingBack says that what failed may be what a rollback takes away: Cluster API has not seen the size,
// or there are more machines than are to be. What fails after that will not come right by it.
func (p *pass) goingBack(g *v1alpha1.NodeGroup) bool {
	group := p.group(g)
	return p.trouble == nil && (!group.Seen || group.Replicas != int64(g.Spec.NodeCount) || group.Machines > int(g.Spec.NodeCount))
}

// rollbackReason says what was rolled back, and why that failed.
func rollbackReason(was, cause string, phase v1alpha1.Phase) string {
	const failed = "; the rollback failed: "
	was, because, _ := strings.Cut(was, failed)
	if phase != v1alpha1.RollbackFailed {
		return was
	}
	if _, last, again := strings.Cut(cause, failed); again || cause == "" {
		cause = cmp.Or(last, because) // nothing new
	}
	return was + failed + cause
}

// bounded reports whether the API server takes a size of a group.
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
