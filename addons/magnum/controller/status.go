package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// report writes what became of the cluster and its groups. Trouble that may
// pass is returned, so that the pass is repeated after a pause.
func (p *pass) report(ctx context.Context) error {
	failed, reason := p.verdict()
	for _, g := range p.leaving {
		if err := p.writeGroup(ctx, g, func(s *v1alpha1.NodeGroupStatus) { s.Phase = v1alpha1.DeleteInProgress }); err != nil {
			return err
		}
	}
	settled, groupFailed, changed := true, "", len(p.leaving) > 0
	for _, g := range p.groups {
		unseen := g.Generation > g.Status.ObservedGeneration
		changed = changed || unseen
		if err := p.reportGroup(ctx, g, failed, reason); err != nil {
			return err
		}
		settled = settled && !g.Status.Phase.InProgress() && !g.Status.Phase.Failed()
		if g.Status.Phase.Failed() && groupFailed == "" && !failed {
			groupFailed = "node group " + g.Title() + ": " + g.Status.StatusReason
		}
	}
	if groupFailed != "" {
		failed, reason = true, groupFailed
	}
	if err := p.reportCluster(ctx, changed, settled && len(p.leaving) == 0, failed, reason); err != nil {
		return err
	}
	if p.trouble != nil && !p.trouble.final {
		return p.trouble.err
	}
	return nil
}

// verdict is whether the cluster as a whole has failed, and why, or what is
// waited for.
func (p *pass) verdict() (failed bool, reason string) {
	if p.trouble != nil {
		return p.timedOut(p.troubled())
	}
	p.firstMet("")
	for _, cause := range p.state.Causes {
		if reason == "" {
			reason = p.advise(cause)
		}
		ended, left := p.hopeless(cause)
		p.later(left)
		if ended && !p.ofGroup(cause) {
			return true, p.advise(cause)
		}
	}
	if reason == "" {
		reason = p.state.Waiting
	}
	return p.timedOut(false, reason)
}

// troubled is whether trouble has lasted too long, and what it is.
func (p *pass) troubled() (failed bool, reason string) {
	reason = explain(p.trouble.err)
	failed, left := hopeless(observe.Cause{Final: p.trouble.final, Hopeless: true, Since: p.firstMet(reason)}, p.now, p.Patience)
	p.later(left)
	return failed, reason
}

// ofGroup reports whether a cause is told by a node group.
func (p *pass) ofGroup(cause observe.Cause) bool {
	for _, g := range p.groups {
		if own := p.group(g).Cause; own != nil && own.Object == cause.Object {
			return true
		}
	}
	return false
}

func (p *pass) group(g *v1alpha1.NodeGroup) observe.Group {
	if g.Spec.Role == v1alpha1.RoleMaster {
		return p.state.Master
	}
	return p.state.Workers[v1alpha1.Sanitise(g.Title())]
}

// explain is an error with its remedy.
func explain(err error) string {
	text := err.Error()
	if remedy := fault.Remedy(err); remedy != "" {
		text += "; " + remedy
	}
	return text
}

// firstMet is when the present trouble was first met.
func (p *pass) firstMet(text string) time.Time {
	if text == "" {
		p.first.keep(p.key, func(what string) bool { return what != aTrouble })
		return p.now
	}
	return p.first.met(p.key, aTrouble, p.now)
}

// timedOut ends a creation that takes longer than it may.
func (p *pass) timedOut(failed bool, reason string) (bool, string) {
	minutes := ptr.Deref(p.cluster.Spec.CreateTimeoutMinutes, 60)
	creating := p.cluster.Status.Phase == "" || p.cluster.Status.Phase == v1alpha1.CreateInProgress
	if failed || !creating || minutes == 0 {
		return failed, reason
	}
	left := p.cluster.CreationTimestamp.Add(time.Duration(minutes) * time.Minute).Sub(p.now)
	if left > 0 {
		p.later(left)
		return false, reason
	}
	text := fmt.Sprintf("not ready after %d minutes (create_timeout)", minutes)
	if reason != "" {
		text += ": " + reason
	}
	return true, text
}

// reportGroup writes what became of a group.
func (p *pass) reportGroup(ctx context.Context, g *v1alpha1.NodeGroup, failed bool, reason string) error {
	if halfBack(g) {
		return p.putBack(ctx, g)
	}
	group, wanted := p.group(g), p.software(g)
	_, held := p.held[g.Name]
	auto := driver.Autoscaled(p.cluster, g, p.Defaults)
	ready := p.trouble == nil && !held && group.Exists && group.Settled && (auto || group.Replicas == int64(g.Spec.NodeCount)) &&
		(wanted.KubernetesVersion == "" || group.Version == "v"+wanted.KubernetesVersion)
	cause := ""
	if group.Cause != nil {
		ended, left := p.hopeless(*group.Cause)
		p.later(left)
		failed, cause = failed || ended, group.Cause.String()
	} else if failed || g.Status.Phase.Failed() {
		cause = cmp.Or(reason, g.Status.StatusReason) // what failed says why until it comes right
	}
	changed := g.Generation > g.Status.ObservedGeneration && !isBack(g) || p.upgrading ||
		g.Status.Phase.Failed() && p.cluster.Generation > p.cluster.Status.ObservedGeneration
	if g.Status.Phase == v1alpha1.RollbackInProgress && p.goingBack(g) {
		failed = false // what failed is on its way out
	}
	phase := next(g.Status.Phase, changed, ready, failed)
	if phase == v1alpha1.UpdateFailed {
		if back, err := p.rollBack(ctx, g); err != nil || back {
			return err
		}
	}
	return p.writeGroup(ctx, g, func(s *v1alpha1.NodeGroupStatus) {
		switch {
		case strings.HasPrefix(string(phase), "ROLLBACK_"):
			s.StatusReason = rollbackReason(s.StatusReason, cause, phase)
		case phase.InProgress() || phase.Failed():
			s.StatusReason = cause
		default:
			s.StatusReason = ""
		}
		s.Phase, s.NodeAddresses, s.ReadyNodes = phase, group.Addresses, int32(group.Ready)
		if group.Settled && !held {
			s.Version = group.Version
		}
		if ready {
			s.CompleteNodeCount, s.ImageID = ptr.To(g.Spec.NodeCount), wanted.ImageID
		}
	})
}

// software is what a group is to run.
func (p *pass) software(g *v1alpha1.NodeGroup) driver.Software {
	image := p.resolved().Image
	if driver.OwnImage(p.cluster, g) && g.Spec.Image != nil {
		version := g.Spec.Image.KubernetesVersion
		if version == "" {
			version = image.KubernetesVersion
		}
		return driver.Software{ImageID: g.Spec.Image.ID, KubernetesVersion: version}
	}
	return driver.Software{ImageID: image.ID, KubernetesVersion: image.KubernetesVersion}
}

// writeGroup writes a group's status where it differs.
func (p *pass) writeGroup(ctx context.Context, g *v1alpha1.NodeGroup, change func(*v1alpha1.NodeGroupStatus)) error {
	before := g.DeepCopy()
	change(&g.Status)
	g.Status.ObservedGeneration = g.Generation
	g.Status.UpdatedAt = updated(before.Status.Phase, g.Status.Phase, before.Status.UpdatedAt, p.now)
	if equality.Semantic.DeepEqual(before.Status, g.Status) {
		return nil
	}
	if err := p.client.Status().Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of node group %s: %w", g.Title(), err)
	}
	return nil
}

func updated(before, after v1alpha1.Phase, last *metav1.Time, now time.Time) *metav1.Time {
	if before == "" || before == after {
		return last
	}
	return &metav1.Time{Time: now}
}

// reportCluster writes what became of the cluster.
func (p *pass) reportCluster(ctx context.Context, changed, settled, failed bool, reason string) error {
	changed = changed || p.cluster.Generation > p.cluster.Status.ObservedGeneration || p.upgrading
	ready := p.trouble == nil && p.state.Ready() && settled && len(p.groups) > 0
	phase := next(p.cluster.Status.Phase, changed, ready, failed)
	if back := p.rolledBack(); back != "" && (phase == v1alpha1.UpdateInProgress || phase == v1alpha1.RollbackInProgress) {
		phase, reason = v1alpha1.RollbackInProgress, back
	}
	return p.writeCluster(ctx, func(s *v1alpha1.ClusterStatus) {
		s.Phase = phase
		switch {
		case phase.InProgress() || phase.Failed():
			s.StatusReason = reason
		case phase != v1alpha1.RollbackComplete:
			s.StatusReason = p.withoutWorkers()
			if lost := p.lost(); lost != nil {
				s.StatusReason = p.advise(*lost)
			}
		}
		s.ObservedGeneration = p.cluster.Generation
		p.facts(s)
		p.conditions(s, ready, reason)
	})
}

// withoutWorkers names the addons that a complete cluster has and cannot run.
func (p *pass) withoutWorkers() string {
	if len(p.state.WithoutWorkers) == 0 {
		return ""
	}
	return "the cluster has no workers; these addons need one and start when it comes: " + strings.Join(p.state.WithoutWorkers, ", ")
}

// rolledBack says which group's size is being put back, and why.
func (p *pass) rolledBack() string {
	for _, g := range p.groups {
		if g.Status.Phase == v1alpha1.RollbackInProgress {
			return "node group " + g.Title() + ": " + g.Status.StatusReason
		}
	}
	return ""
}
