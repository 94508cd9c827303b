package prune

import (
	"context"
	"fmt"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reference names a template within a namespace.
type reference struct{ kind, name string }

type references map[reference]bool

// used are the templates that a cluster refers to: for machines to come by its
// control plane, MachineDeployments and MachineSets (old ones too: they may
// still replace a machine), and for those that are there by what was cloned.
func (r *reconciler) used(ctx context.Context, cluster *clusterv1.Cluster) (references, error) {
	all := references{}
	if err := r.usedByControlPlane(ctx, cluster, all); err != nil {
		return nil, err
	}
	if err := r.usedByWorkers(ctx, cluster, all); err != nil {
		return nil, err
	}
	for i, kind := range cloneKinds() {
		clones, err := r.list(ctx, cluster.Namespace, kind)
		if err != nil {
			return nil, err
		}
		for _, clone := range clones.Items {
			all[reference{templateKinds()[i].Kind, clone.Annotations[clusterv1.TemplateClonedFromNameAnnotation]}] = true
		}
	}
	return all, nil
}

func (r *reconciler) usedByControlPlane(ctx context.Context, cluster *clusterv1.Cluster, all references) error {
	ref := cluster.Spec.ControlPlaneRef
	if ref.Kind != "KubeadmControlPlane" {
		return nil
	}
	plane := &controlplanev1.KubeadmControlPlane{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, plane); err != nil {
		return fmt.Errorf("reading control plane %s: %w", ref.Name, err)
	}
	infrastructure := plane.Spec.MachineTemplate.Spec.InfrastructureRef
	all[reference{infrastructure.Kind, infrastructure.Name}] = true
	return nil
}

func (r *reconciler) usedByWorkers(ctx context.Context, cluster *clusterv1.Cluster, all references) error {
	deployments, sets := &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := r.client.List(ctx, list, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the owners of machines: %w", err)
		}
	}
	add := func(of string, spec clusterv1.MachineSpec) {
		if of != cluster.Name {
			return
		}
		all[reference{spec.InfrastructureRef.Kind, spec.InfrastructureRef.Name}] = true
		all[reference{spec.Bootstrap.ConfigRef.Kind, spec.Bootstrap.ConfigRef.Name}] = true
	}
	for _, d := range deployments.Items {
		add(d.Spec.ClusterName, d.Spec.Template.Spec)
	}
	for _, s := range sets.Items {
		add(s.Spec.ClusterName, s.Spec.Template.Spec)
	}
	return nil
}
