package moving

import (
	"context"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// look is what the management cluster has of a cluster; nil is not there.
type look struct {
	release        *helmrelease.Release
	cluster, plane *unstructured.Unstructured
	// deployments by the name of their node group.
	deployments map[string]*unstructured.Unstructured
	machines    int
	// secrets by what follows the stack's name.
	secrets map[string]*corev1.Secret
}

// suffixes are the Secrets of a cluster: authorities, credential, kubeconfig.
func suffixes() []string {
	return []string{"ca", "etcd", "proxy", "cloud-credentials", "kubeconfig"}
}

func kindOf(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

func capiKind(kind string) schema.GroupVersionKind {
	return kindOf("cluster.x-k8s.io", "v1beta2", kind)
}

// see reads what there is of a stack.
func (s Site) see(ctx context.Context, namespace, stack string) (*look, error) {
	l := &look{deployments: map[string]*unstructured.Unstructured{}, secrets: map[string]*corev1.Secret{}}
	var err error
	if l.cluster, err = s.object(ctx, capiKind("Cluster"), namespace, stack); err != nil {
		return nil, err
	}
	plane := kindOf("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane")
	if l.plane, err = s.object(ctx, plane, namespace, stack+"-control-plane"); err != nil {
		return nil, err
	}
	if err := s.seeMachines(ctx, l, namespace, stack); err != nil {
		return nil, err
	}
	for _, suffix := range suffixes() {
		secret := &corev1.Secret{}
		err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: stack + "-" + suffix}, secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s-%s: %w", stack, suffix, err)
		}
		l.secrets[suffix] = secret
	}
	return l, nil
}

// seeMachines lists MachineDeployments and Machines by their labels.
func (s Site) seeMachines(ctx context.Context, l *look, namespace, stack string) error {
	deployments, err := s.list(ctx, capiKind("MachineDeployment"), namespace, client.MatchingLabels{observe.LabelStack: stack})
	if err != nil {
		return err
	}
	for i := range deployments {
		l.deployments[deployments[i].GetLabels()[observe.LabelGroup]] = &deployments[i]
	}
	machines, err := s.list(ctx, capiKind("Machine"), namespace, client.MatchingLabels{v1alpha1.LabelStack: stack})
	l.machines = len(machines)
	return err
}

func (s Site) object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, noKind(kind, err)
}

func (s Site) list(ctx context.Context, kind schema.GroupVersionKind, namespace string, how client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	if err := s.Client.List(ctx, list, client.InNamespace(namespace), how); err != nil {
		return nil, noKind(kind, err)
	}
	return list.Items, nil
}

// noKind tells of a cluster that is not the right one.
func noKind(kind schema.GroupVersionKind, err error) error {
	if err == nil {
		return nil
	}
	if meta.IsNoMatchError(err) {
		return fault.New("management cluster", fmt.Errorf("it has no %s of %s", kind.Kind, kind.GroupVersion()),
			"use the kubeconfig of the cluster that Magnum's driver writes to, with Cluster API 1.11 or later and Slipway's controllers")
	}
	return fmt.Errorf("reading %s: %w", kind.Kind, err)
}

// value is a value of the release by its path.
func (l *look) value(path ...string) any {
	if l.release == nil {
		return nil
	}
	found, _, err := unstructured.NestedFieldNoCopy(l.release.Config, path...)
	if err != nil {
		return nil
	}
	return found
}

func (l *look) text(path ...string) string {
	text, _ := l.value(path...).(string)
	return text
}

// integer is a number as Helm keeps it, in JSON.
func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case float64:
		return int64(n), true
	case int64:
		return n, true
	case int:
		return int64(n), true
	}
	return 0, false
}

// replicas is the size that an object of Cluster API is to have.
func replicas(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return n
}
