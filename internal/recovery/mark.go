package recovery

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The annotations of restored objects.
const (
	// AnnotationUID is the UID that the object had in the backup. It says that an
	// object is the restored one, and not another of the same name.
	AnnotationUID = "recovery.slipway.sh/uid"
	// AnnotationHeld is on objects that wait for the proofs. Its value is what the
	// object had before, as JSON (see held).
	AnnotationHeld = "recovery.slipway.sh/held"
	// AnnotationPaused is Cluster API's; Slipway's own controllers honour it too.
	AnnotationPaused = "cluster.x-k8s.io/paused"
)

// ConditionPaused is the condition by which a controller of Cluster API says whether it sees
// that an object is paused.
const ConditionPaused = "Paused"

// annotationCreated is that of the Magnum API's objects, which shows when they were made
// first (v1alpha1.AnnotationFirstCreatedAt).
const annotationCreated = groupMagnum + "/first-created-at"

// The groups of the kinds that recovery knows.
const (
	groupClusterAPI   = "cluster.x-k8s.io"
	groupControlPlane = "controlplane.cluster.x-k8s.io"
	groupBootstrap    = "bootstrap.cluster.x-k8s.io"
	groupOpenStack    = "infrastructure.cluster.x-k8s.io"
	groupAddons       = "addons.stackhpc.com"
	groupMagnum       = "magnum.slipway.sh"
	groupResources    = "openstack.k-orc.cloud"
	groupDefinitions  = "apiextensions.k8s.io"
	groupApps         = "apps"
)

// labelCluster is on everything of a Cluster.
const labelCluster = "cluster.x-k8s.io/cluster-name"

// held is what an object had before it was held.
type held struct {
	// Paused is spec.paused, or whether the annotation was there: the operator
	// paused it, so it stays paused.
	Paused bool `json:"paused,omitempty"`
	// Replicas are those of a Deployment.
	Replicas *int64 `json:"replicas,omitempty"`
}

// Hold makes an object one that no controller acts on, and notes what it was:
// Clusters by spec.paused, which Cluster API's and CAPO's controllers heed for all
// that belongs to them; Deployments by no replicas; addons by the annotation. It
// returns false for kinds that nothing acts on, or whose Cluster is held.
func Hold(o *unstructured.Unstructured) bool {
	if Held(o) {
		return true
	}
	var was held
	switch {
	case is(o, groupClusterAPI, "Cluster"):
		was.Paused, _, _ = unstructured.NestedBool(o.Object, "spec", "paused")
		setField(o, true, "spec", "paused")
	case is(o, groupApps, "Deployment"):
		replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if !found {
			replicas = 1
		}
		was.Replicas = &replicas
		setField(o, int64(0), "spec", "replicas")
	case group(o) == groupAddons, is(o, "addons.cluster.x-k8s.io", "ClusterResourceSet"):
		_, was.Paused = o.GetAnnotations()[AnnotationPaused]
		annotate(o, AnnotationPaused, "true")
	default:
		return false
	}
	text, err := json.Marshal(was)
	if err != nil { // a struct of two plain fields
		return false
	}
	annotate(o, AnnotationHeld, string(text))
	return true
}

// Release undoes Hold. It returns false if the object is not held; what was paused
// before the backup stays so.
func Release(o *unstructured.Unstructured) bool {
	text, there := o.GetAnnotations()[AnnotationHeld]
	if !there {
		return false
	}
	var was held
	if json.Unmarshal([]byte(text), &was) != nil {
		return false // somebody wrote it; a person decides
	}
	switch {
	case is(o, groupClusterAPI, "Cluster"):
		if !was.Paused {
			unstructured.RemoveNestedField(o.Object, "spec", "paused")
		}
	case was.Replicas != nil:
		if !started(o) {
			setField(o, *was.Replicas, "spec", "replicas")
		}
	case !was.Paused:
		unannotate(o, AnnotationPaused)
	}
	unannotate(o, AnnotationHeld)
	return true
}

// Held reports whether an object waits for the proofs.
func Held(o *unstructured.Unstructured) bool {
	_, there := o.GetAnnotations()[AnnotationHeld]
	return there && !started(o)
}

// started reports whether an object is a Deployment with replicas. One that has the annotation
// was started by somebody else, as slipway up does, so that what it had before counts no more.
func started(o *unstructured.Unstructured) bool {
	replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return is(o, groupApps, "Deployment") && (!found || replicas > 0)
}

// Condition is the condition of a type that an object has, if it has one.
func Condition(o *unstructured.Unstructured, kind string) (map[string]any, bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, condition := range list(any(conditions)) {
		if text(condition, "type") == kind {
			return condition, true
		}
	}
	return nil, false
}

func setField(o *unstructured.Unstructured, value any, path ...string) {
	// It fails only where a parent is no object, which no API server stores.
	_ = unstructured.SetNestedField(o.Object, value, path...)
}

func annotate(o *unstructured.Unstructured, key, value string) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	o.SetAnnotations(all)
}

func unannotate(o *unstructured.Unstructured, key string) {
	all := o.GetAnnotations()
	delete(all, key)
	if len(all) == 0 {
		all = nil
	}
	o.SetAnnotations(all)
}

func group(o *unstructured.Unstructured) string { return o.GroupVersionKind().Group }

func is(o *unstructured.Unstructured, group, kind string) bool {
	k := o.GroupVersionKind()
	return k.Group == group && k.Kind == kind
}
