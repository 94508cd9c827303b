package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// deleteMachine makes Cluster API delete a machine before others when its group
// shrinks; the value says whose annotation it is.
const (
	deleteMachine = "cluster.x-k8s.io/delete-machine"
	markOfOurs    = v1alpha1.Group
)

// ofThe reports whether a machine is of a group.
func ofThe(g *v1alpha1.NodeGroup, machine *unstructured.Unstructured) bool {
	labels := machine.GetLabels()
	if _, plane := labels["cluster.x-k8s.io/control-plane"]; plane || g.Spec.Role == v1alpha1.RoleMaster {
		return plane && g.Spec.Role == v1alpha1.RoleMaster
	}
	return labels["cluster.x-k8s.io/deployment-name"] == g.Name || labels[observe.LabelGroup] == v1alpha1.Sanitise(g.Title())
}

// markMachines marks the machines that a shrinking group is to lose, before it
// shrinks, and takes the mark from those that are to stay after all.
func (p *pass) markMachines(ctx context.Context) error {
	for _, m := range p.objects.Machines {
		marked := m.GetAnnotations()[deleteMachine] == markOfOurs
		wanted := slices.ContainsFunc(p.groups, func(g *v1alpha1.NodeGroup) bool { return ofThe(g, m) && named(g.Spec.NodesToRemove, m) })
		if marked == wanted || m.GetDeletionTimestamp() != nil {
			continue
		}
		value := any(markOfOurs)
		if !wanted {
			value = nil
		}
		change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{deleteMachine: value}}}
		if err := p.patch(ctx, machine(), m.GetName(), change); err != nil {
			return fmt.Errorf("marking machine %s: %w", m.GetName(), err)
		}
	}
	return nil
}

// named reports whether a machine is among ids of Nova servers.
func named(ids []string, machine *unstructured.Unstructured) bool {
	provider, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID")
	id := provider[strings.LastIndex(provider, "/")+1:]
	return id != "" && slices.ContainsFunc(ids, func(wanted string) bool { return strings.EqualFold(wanted, id) })
}

// patch changes fields of an object of Cluster API; one that is gone is left.
func (p *pass) patch(ctx context.Context, k kind, name string, change map[string]any) error {
	text, err := (&unstructured.Unstructured{Object: change}).MarshalJSON()
	if err != nil {
		return err
	}
	o := k.object()
	o.SetNamespace(p.key.Namespace)
	o.SetName(name)
	return client.IgnoreNotFound(p.client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", text)))
}

// scale sets sizes that are not in the release: where an autoscaler decides,
// the size asked for is where it starts from; releases of others are scaled
// without Helm.
func (p *pass) scale(ctx context.Context) error {
	if p.trouble != nil || p.cluster.Status.Release == nil {
		return nil
	}
	foreign, scaled := p.cluster.Status.Release.Foreign, false
	for _, g := range p.groups {
		k, group := deployment(), p.group(g)
		if g.Spec.Role == v1alpha1.RoleMaster {
			k = controlPlane()
		}
		auto := driver.Autoscaled(p.cluster, g, p.Defaults)
		asked := g.Status.CompleteNodeCount == nil || *g.Status.CompleteNodeCount != g.Spec.NodeCount
		if !group.Exists || group.Replicas == int64(g.Spec.NodeCount) || !foreign && !auto || auto && !(asked && g.Generation > g.Status.ObservedGeneration) {
			continue
		}
		if err := p.patch(ctx, k, group.Object, map[string]any{"spec": map[string]any{"replicas": int64(g.Spec.NodeCount)}}); err != nil {
			return fmt.Errorf("scaling %s: %w", group.Object, err)
		}
		scaled = true
	}
	if !scaled {
		return nil
	}
	return p.lookAgain(ctx)
}

// letGo ends the deletion of groups whose machines are gone.
func (p *pass) letGo(ctx context.Context) error {
	if p.trouble != nil {
		return nil
	}
	var still []*v1alpha1.NodeGroup
	for _, g := range p.leaving {
		machines := slices.ContainsFunc(p.objects.Machines, func(m *unstructured.Unstructured) bool { return ofThe(g, m) })
		if g.Spec.Role != v1alpha1.RoleMaster && (machines || p.group(g).Exists) {
			still = append(still, g)
			continue
		}
		if err := p.finish(ctx, g); err != nil {
			return err
		}
	}
	p.leaving = still
	return nil
}

// finish takes the finalizer from a group.
func (p *pass) finish(ctx context.Context, g *v1alpha1.NodeGroup) error {
	before := g.DeepCopy()
	if !controllerutil.RemoveFinalizer(g, v1alpha1.FinalizerNodeGroup) {
		return nil
	}
	if err := p.client.Patch(ctx, g, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("completing the deletion of node group %s: %w", g.Title(), err)
	}
	return nil
}

// orphans ends the deletion of groups whose cluster is gone.
func (p *pass) orphans(ctx context.Context) error {
	if err := p.readGroups(ctx); err != nil {
		return err
	}
	for _, g := range p.leaving {
		if err := p.finish(ctx, g); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
