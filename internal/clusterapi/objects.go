package clusterapi

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Label is the label with the cluster's name on machines and templates.
const Label = "cluster.x-k8s.io/cluster-name"

// The kinds of a cluster on OpenStack, in the versions that Cluster API 1.12, CAPO
// 0.14 and the addon provider store.
var (
	clusters           = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	machines           = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}
	machineDeployments = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machinedeployments"}
	healthChecks       = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machinehealthchecks"}
	controlPlanes      = schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"}
	openStackClusters  = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackclusters"}
	openStackMachines  = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachines"}
	openStackServers   = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Resource: "openstackservers"}
	helmReleases       = schema.GroupVersionResource{Group: "addons.stackhpc.com", Version: "v1alpha1", Resource: "helmreleases"}
	manifests          = schema.GroupVersionResource{Group: "addons.stackhpc.com", Version: "v1alpha1", Resource: "manifests"}
	eventKind          = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	serverGroups       = schema.GroupVersionResource{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Resource: "servergroups"}
)

// resources lists the kinds.
func resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{clusters, machines, machineDeployments, controlPlanes, openStackClusters, openStackMachines, openStackServers, helmReleases, manifests, serverGroups, healthChecks}
}

// kinds are the kinds by their name.
func kinds() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{"Cluster": clusters, "OpenStackCluster": openStackClusters, "KubeadmControlPlane": controlPlanes, "MachineDeployment": machineDeployments,
		"MachineHealthCheck": healthChecks, "ServerGroup": serverGroups, "HelmRelease": helmReleases, "Manifests": manifests, "Machine": machines,
		"OpenStackMachine": openStackMachines, "OpenStackServer": openStackServers}
}

// resourceOf is the resource of a kind.
func resourceOf(kind string) schema.GroupVersionResource { return kinds()[kind] }

// labelled are the kinds whose objects say themselves which cluster they are of.
func labelled() map[schema.GroupVersionResource]string {
	all := map[schema.GroupVersionResource]string{}
	for _, kind := range []string{"KubeadmControlPlane", "MachineDeployment", "MachineHealthCheck", "ServerGroup", "HelmRelease", "Manifests", "Machine"} {
		all[resourceOf(kind)] = kind
	}
	return all
}

// objects are those of a namespace, by kind.
type objects map[schema.GroupVersionResource][]*unstructured.Unstructured

// named returns the object of a kind and name, nil if there is none.
func (o objects) named(kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(o[kind], func(u *unstructured.Unstructured) bool { return u.GetName() == name })
	if i < 0 {
		return nil
	}
	return o[kind][i]
}

// of returns the objects of a cluster in the order of their age.
func (o objects) of(kind schema.GroupVersionResource, cluster string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range o[kind] {
		if text(object, "metadata", "labels", Label) == cluster || text(object, "spec", "clusterName") == cluster {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(x, y *unstructured.Unstructured) int {
		return cmp.Or(x.GetCreationTimestamp().Compare(y.GetCreationTimestamp().Time), cmp.Compare(x.GetName(), y.GetName()))
	})
	return found
}

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

func flag(object *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object.Object, path...)
	return value
}

// number returns a whole number; 0 if the field is missing.
func number(object *unstructured.Unstructured, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object.Object, path...)
	return value
}

// conditions reads status.conditions; Cluster API's form and Kubernetes' own both
// have these fields.
func conditions(object *unstructured.Unstructured) []cause.Condition { return cause.Conditions(object) }

func find(all []cause.Condition, kind string) cause.Condition {
	i := slices.IndexFunc(all, func(c cause.Condition) bool { return c.Type == kind })
	if i < 0 {
		return cause.Condition{}
	}
	return all[i]
}

// scene returns the objects of a cluster as the engine of causes reads them.
func (o objects) scene(name string) cause.Objects {
	found := cause.Objects{}
	add := func(kind string, list ...*unstructured.Unstructured) { found[kind] = append(found[kind], list...) }
	cluster := o.named(clusters, name)
	add("Cluster", cluster)
	if infrastructure := o.named(openStackClusters, text(cluster, "spec", "infrastructureRef", "name")); infrastructure != nil {
		add("OpenStackCluster", infrastructure)
	}
	for resource, kind := range labelled() {
		add(kind, o.of(resource, name)...)
	}
	for _, machine := range o.of(machines, name) {
		below := text(machine, "spec", "infrastructureRef", "name")
		for _, kind := range []string{"OpenStackMachine", "OpenStackServer"} {
			if object := o.named(resourceOf(kind), below); object != nil {
				add(kind, object)
			}
		}
	}
	add("Event", o[eventKind]...) // the engine takes those about the objects above
	return found
}
