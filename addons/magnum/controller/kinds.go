package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind that is read without its Go types, so that fields of other
// versions of its provider do no harm.
type kind struct{ group, version, name string }

func (k kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.name}
}

func (k kind) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.gvk())
	return o
}

func (k kind) list() *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.name + "List"})
	return l
}

func capiCluster() kind { return kind{"cluster.x-k8s.io", "v1beta2", "Cluster"} }
func deployment() kind  { return kind{"cluster.x-k8s.io", "v1beta2", "MachineDeployment"} }
func machine() kind     { return kind{"cluster.x-k8s.io", "v1beta2", "Machine"} }
func healthCheck() kind { return kind{"cluster.x-k8s.io", "v1beta2", "MachineHealthCheck"} }
func controlPlane() kind {
	return kind{"controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane"}
}
func infrastructure() kind {
	return kind{"infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackCluster"}
}
func server() kind    { return kind{"infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackMachine"} }
func instance() kind  { return kind{"infrastructure.cluster.x-k8s.io", "v1alpha1", "OpenStackServer"} }
func release() kind   { return kind{"addons.stackhpc.com", "v1alpha1", "HelmRelease"} }
func manifests() kind { return kind{"addons.stackhpc.com", "v1alpha1", "Manifests"} }

// serverGroup is the resource controller's, which CAPO needs from 0.12 on.
func serverGroup() kind { return kind{"openstack.k-orc.cloud", "v1alpha1", "ServerGroup"} }

// watched are the kinds whose changes are news of a cluster.
func watched() []kind {
	return []kind{capiCluster(), deployment(), machine(), controlPlane(), infrastructure(), server(), instance(), serverGroup(), release(), manifests(), healthCheck()}
}

// leftBehind are kinds that the chart keeps when it is uninstalled, because
// Cluster API takes them away with the Cluster. Where there was never a
// Cluster, they are taken away by these controllers. Server groups are deleted with
// the release, and in OpenStack only as long as the credential is there.
func leftBehind() []kind {
	return []kind{controlPlane(), infrastructure(), serverGroup(),
		{"infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackMachineTemplate"},
		{"bootstrap.cluster.x-k8s.io", "v1beta2", "KubeadmConfigTemplate"}}
}
