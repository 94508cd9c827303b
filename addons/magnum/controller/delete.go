package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// delete deletes the release of a cluster, waits for what Cluster API and the janitor delete after
// it, then revokes credentials and deletes Secrets and the objects of the endpoint. The namespace
// stays, there are other clusters in it.
func (p *pass) delete(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(p.cluster, v1alpha1.FinalizerCluster) {
		return nil
	}
	if err := p.observe(ctx, p.client, p.indexed()); err != nil {
		return err
	}
	if err := p.noteCredential(ctx); err != nil {
		return err
	}
	gone, err := p.takeAway(ctx)
	if err != nil {
		p.stay(err, false) // a webhook, Keystone or the API server may answer again
	}
	if !gone || p.trouble != nil {
		return p.reportDeletion(ctx)
	}
	for _, g := range append(p.groups, p.leaving...) {
		if g.DeletionTimestamp == nil {
			if err := p.client.Delete(ctx, g); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting node group %s: %w", g.Title(), err)
			}
		}
		if err := p.finish(ctx, g); err != nil {
			return err
		}
	}
	before := p.cluster.DeepCopy()
	controllerutil.RemoveFinalizer(p.cluster, v1alpha1.FinalizerCluster)
	// The endpoint may have given it a credential meanwhile, which then is to be revoked too.
	locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.client.Patch(ctx, p.cluster, locked); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("completing the deletion: %w", err)
	}
	p.forget(p.key)
	return nil
}

// takeAway does what can be done now; gone says that nothing is left.
func (p *pass) takeAway(ctx context.Context) (gone bool, err error) {
	stack := p.cluster.Stack()
	begun := p.cluster.Status.Phase == v1alpha1.DeleteInProgress
	if !begun && p.cluster.Status.Release == nil {
		p.cluster.Status.Release = &v1alpha1.ReleaseStatus{} // Helm may know one, until it says otherwise
	}
	if p.cluster.Status.Release != nil {
		if err := p.Releases.Uninstall(ctx, p.key.Namespace, stack); err != nil {
			return false, err
		}
		p.cluster.Status.Release = nil
	}
	// The cache may not show yet what Helm has just done.
	cluster, err := get(ctx, p.live, capiCluster(), p.key.Namespace, stack)
	if err != nil {
		return false, err
	}
	if cluster != nil {
		if cluster.GetDeletionTimestamp() == nil {
			err = client.IgnoreNotFound(p.client.Delete(ctx, cluster))
		}
		return false, err
	}
	if left, err := p.leftOver(ctx, stack); err != nil || left {
		return false, err
	}
	if left := p.revokeAll(ctx); left {
		return false, nil
	}
	// Those of the endpoint and, of adopted clusters, of magnum-capi-helm.
	mine := client.MatchingLabels{v1alpha1.LabelCluster: v1alpha1.LabelValue(p.cluster.UUID())}
	if err := p.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(p.key.Namespace), mine); err != nil {
		return false, fmt.Errorf("deleting Secrets: %w", err)
	}
	return true, nil
}

// leftOver deletes what the chart keeps when it is uninstalled and no Cluster
// has taken along: creation was interrupted, or templates of old revisions.
func (p *pass) leftOver(ctx context.Context, stack string) (bool, error) {
	left := false
	for _, k := range leftBehind() {
		list := k.list()
		err := p.live.List(ctx, list, client.InNamespace(p.key.Namespace), client.MatchingLabels{observe.LabelStack: stack})
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("listing objects of kind %s: %w", k.name, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			left = left || len(o.GetFinalizers()) > 0
			if o.GetDeletionTimestamp() != nil {
				continue
			}
			if err := p.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				return false, fmt.Errorf("deleting %s %s: %w", k.name, o.GetName(), err)
			}
		}
	}
	return left, nil
}

// reportDeletion writes how far the deletion is. It goes on by itself, also
// after it was called failed.
func (p *pass) reportDeletion(ctx context.Context) error {
	failed, reason := p.deletionVerdict()
	phase := v1alpha1.DeleteInProgress
	if failed {
		phase = v1alpha1.DeleteFailed
	}
	for _, g := range append(p.groups, p.leaving...) {
		if err := p.writeGroup(ctx, g, func(s *v1alpha1.NodeGroupStatus) { s.Phase, s.StatusReason = phase, reason }); err != nil {
			return err
		}
	}
	err := p.writeCluster(ctx, func(s *v1alpha1.ClusterStatus) {
		s.Phase, s.StatusReason, s.ObservedGeneration = phase, reason, p.cluster.Generation
		p.conditions(s, false, reason)
	})
	if err == nil && p.trouble != nil {
		return p.trouble.err
	}
	return err
}

func (p *pass) deletionVerdict() (failed bool, reason string) {
	if p.trouble != nil {
		return p.troubled()
	}
	p.firstMet("")
	for _, cause := range append(p.state.Causes, deletionCauses(p.objects)...) {
		if reason == "" {
			reason = p.advise(cause)
		}
		ended, left := p.hopeless(cause)
		p.later(left)
		// A machine that failed is deleted like any other.
		if ended && !cause.Final {
			return true, p.advise(cause)
		}
	}
	if reason == "" && p.state.Exists {
		reason = "waiting for Cluster API to delete the machines and the network"
	}
	return false, reason
}

// deletionCauses is what Cluster API says of a deletion that takes long.
func deletionCauses(o observe.Objects) []observe.Cause {
	if o.Cluster == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(o.Cluster.Object, "status", "conditions")
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		if message, _ := c["message"].(string); c["type"] == "Deleting" && c["status"] == "True" && message != "" {
			return []observe.Cause{{Object: "Cluster " + o.Cluster.GetName(), Message: message}}
		}
	}
	return nil
}
