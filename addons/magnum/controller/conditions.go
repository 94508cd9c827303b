package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// facts are what clients ask a cluster for. What was known stays while it
// cannot be read.
func (p *pass) facts(s *v1alpha1.ClusterStatus) {
	for _, fact := range []struct {
		into  *string
		value string
	}{{&s.APIAddress, p.state.Endpoint}, {&s.COEVersion, p.state.Version}, {&s.ContainerVersion, p.state.Runtime}} {
		if fact.value != "" {
			*fact.into = fact.value
		}
	}
	if p.state.Health != nil {
		s.HealthStatus, s.HealthStatusReason = v1alpha1.Unhealthy, p.state.Health
		if p.state.Healthy {
			s.HealthStatus = v1alpha1.Healthy
		}
		if lost := p.lost(); lost != nil { // nobody could repair the cluster
			s.HealthStatus, s.HealthStatusReason["credential"] = v1alpha1.Unhealthy, p.advise(*lost)
		}
	}
}

// conditions are for those who watch the resource itself.
func (p *pass) conditions(s *v1alpha1.ClusterStatus, ready bool, reason string) {
	set := func(kind string, value bool, why, message string) {
		status := metav1.ConditionFalse
		if value {
			status, why, message = metav1.ConditionTrue, "AsWanted", ""
		}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: why, Message: message, ObservedGeneration: p.cluster.Generation})
	}
	workers := len(p.leaving) == 0
	for _, g := range p.groups {
		workers = workers && (g.Spec.Role == v1alpha1.RoleMaster || g.Status.Phase.Complete())
	}
	set(v1alpha1.ConditionReady, ready, "NotReady", reason)
	set(v1alpha1.ConditionInfrastructure, p.state.Infrastructure, "NotReady", reason)
	set(v1alpha1.ConditionControlPlane, p.state.ControlPlane && p.state.Master.Settled, "NotReady", reason)
	set(v1alpha1.ConditionWorkers, workers, "NotReady", reason)
	if less := p.withoutWorkers(); less != "" && p.state.Addons {
		set(v1alpha1.ConditionAddons, false, "WithoutWorkers", less)
	} else {
		set(v1alpha1.ConditionAddons, p.state.Exists && p.state.Addons, "NotReady", reason)
	}
	var told []string
	for _, warning := range p.warnings {
		told = append(told, warning.String())
	}
	if p.trouble == nil {
		set(v1alpha1.ConditionSettings, len(told) == 0, "WithoutEffect", strings.Join(told, "\n"))
	}
	if rotation := p.cluster.Spec.CARotation; rotation != nil && rotation.ID != s.CARotationID {
		set(v1alpha1.ConditionCARotation, false, "NotSupported", "Cluster API cannot replace the certificate authorities of a running cluster; nothing was changed")
	}
}

// writeCluster writes the cluster's status where it differs, and an event where
// an operation ended. It is compared with what this pass began with, and whoever
// wrote since wins: a pass that began with an old copy would take a phase back
// that the one before it wrote.
func (p *pass) writeCluster(ctx context.Context, change func(*v1alpha1.ClusterStatus)) error {
	before := p.cluster.DeepCopy()
	before.Status = *p.stored.DeepCopy()
	change(&p.cluster.Status)
	was, is := before.Status.Phase, p.cluster.Status.Phase
	p.cluster.Status.UpdatedAt = updated(was, is, before.Status.UpdatedAt, p.now)
	if equality.Semantic.DeepEqual(before.Status, p.cluster.Status) {
		return nil
	}
	err := p.client.Status().Patch(ctx, p.cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of the cluster: %w", err)
	}
	p.stored = p.cluster.Status.DeepCopy()
	switch {
	case was == is:
	case is.Failed():
		p.events.Event(p.cluster, corev1.EventTypeWarning, string(is), p.cluster.Status.StatusReason)
	case is.Complete():
		p.events.Event(p.cluster, corev1.EventTypeNormal, string(is), "the cluster is in the desired state")
	}
	return nil
}
