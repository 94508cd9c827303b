// Package machine finds the machines of VNF instances: Cluster API's Machines of their
// Clusters.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// Resource is that of Machines.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: clusterGroup, Version: "v1beta2", Resource: "machines"}
}

const (
	clusterGroup = "cluster.x-k8s.io"
	clusterLabel = clusterGroup + "/cluster-name"
	planeLabel   = clusterGroup + "/control-plane"
	deployLabel  = clusterGroup + "/deployment-name"
)

// IsCluster reports whether an object is a Cluster of Cluster API.
func IsCluster(ref v1alpha1.ObjectRef) bool {
	return ref.Kind == "Cluster" && strings.HasPrefix(ref.APIVersion, clusterGroup+"/")
}

// List returns an instance's machines in order of their names.
func List(ctx context.Context, client dynamic.Interface, i *v1alpha1.VNFInstance) ([]v1alpha1.Machine, error) {
	var all []v1alpha1.Machine
	for _, ref := range i.Status.Objects {
		if !IsCluster(ref) {
			continue
		}
		list, err := client.Resource(Resource()).Namespace(ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + ref.Name})
		if kube.Absent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing machines of %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		for n := range list.Items {
			all = append(all, of(i, &list.Items[n]))
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func of(i *v1alpha1.VNFInstance, o *unstructured.Unstructured) v1alpha1.Machine {
	m := v1alpha1.Machine{Name: o.GetName(), Namespace: o.GetNamespace()}
	id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	m.Server = id[strings.LastIndexByte(id, '/')+1:]
	m.Node, _, _ = unstructured.NestedString(o.Object, "status", "nodeRef", "name")
	labels := o.GetLabels()
	_, plane := labels[planeLabel]
	for _, t := range i.Status.Targets {
		if t.Namespace == m.Namespace && (plane && strings.HasSuffix(t.Kind, "ControlPlane") || !plane && t.Name == labels[deployLabel]) {
			m.Unit = t.Unit
		}
	}
	if plane {
		m.Unit = cmp.Or(m.Unit, csar.ControlPlane)
	}
	m.Unit = cmp.Or(m.Unit, labels[deployLabel])
	return m
}
