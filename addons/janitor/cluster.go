package janitor

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// target is what the janitor reads of an OpenStackCluster.
type target struct {
	object *unstructured.Unstructured
	// name is the name of the cluster in the texts that OCCM and Cinder CSI write on their
	// resources.
	name     string
	identity identityRef
	// networks, subnets and routers are the IDs of those that CAPO made or found for the cluster:
	// nothing else identifies a cluster reliably.
	networks, subnets, routers set
}

// identityRef is spec.identityRef: a Secret beside the cluster, or a
// ClusterIdentity, with an entry of its clouds.yaml.
type identityRef struct{ kind, name, cloud, region string }

const identityOfCluster = "ClusterIdentity"

type set map[string]bool

func (s set) add(id string) {
	if id != "" {
		s[id] = true
	}
}

func read(object *unstructured.Unstructured) target {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, fields...)
		return value
	}
	t := target{object: object, name: clusterName(object), networks: set{}, subnets: set{}, routers: set{}}
	t.identity = identityRef{kind: text("spec", "identityRef", "type"), name: text("spec", "identityRef", "name"),
		cloud: text("spec", "identityRef", "cloudName"), region: text("spec", "identityRef", "region")}
	t.networks.add(text("status", "network", "id"))
	t.routers.add(text("status", "router", "id"))
	subnets, _, _ := unstructured.NestedSlice(object.Object, "status", "network", "subnets")
	for _, subnet := range subnets {
		if fields, ok := subnet.(map[string]any); ok {
			id, _ := fields["id"].(string)
			t.subnets.add(id)
		}
	}
	return t
}

// clusterName is the name in the label, or else the object's own name.
func clusterName(object metav1.Object) string {
	if name := object.GetLabels()[clusterNameLabel]; name != "" {
		return name
	}
	return object.GetName()
}

func (t target) key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.object.GetNamespace(), Name: t.object.GetName()}
}

func (t target) annotation(name string) string { return t.object.GetAnnotations()[name] }

// volumesPolicy is the annotation, or else the operator's setting; only one word deletes.
func (t target) deletesVolumes(o Options) bool {
	policy, given := t.object.GetAnnotations()[VolumesPolicyAnnotation]
	if !given {
		policy = o.DefaultVolumesPolicy
	}
	return policy == policyDelete
}

// neverProvisioned reports whether no machine can have run: then neither OCCM nor Cinder CSI did.
// What it checks survives `clusterctl move` too.
func (t target) neverProvisioned() bool {
	host, _, _ := unstructured.NestedString(t.object.Object, "spec", "controlPlaneEndpoint", "host")
	ready, _, _ := unstructured.NestedBool(t.object.Object, "status", "ready")
	provisioned, _, _ := unstructured.NestedBool(t.object.Object, "status", "initialization", "provisioned")
	return host == "" && !ready && !provisioned && len(t.networks) == 0
}

// last reports whether the janitor's finalizer is the only one left.
func (t target) last() bool {
	return slices.Equal(t.object.GetFinalizers(), []string{Finalizer})
}

// owner is the reference to the Cluster that the object belongs to; nil before a Cluster has
// adopted it.
func (t target) owner() *metav1.OwnerReference {
	references := t.object.GetOwnerReferences()
	for i := range references {
		if references[i].Kind == ownerKind().Kind {
			return &references[i]
		}
	}
	return nil
}
