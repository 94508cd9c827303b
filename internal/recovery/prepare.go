package recovery

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// UIDs are the new UIDs of objects by those of the backup.
type UIDs map[types.UID]types.UID

// Prepare makes an object of a snapshot ready to be created: without what the API
// server sets and without status, held, with the owners' new UIDs. Owners without a
// new UID are left out. Finalizers stay: what they stand for in the cloud is there.
// An object that was being deleted is created as one that is not; Pending tells of it.
func Prepare(o *unstructured.Unstructured, uids UIDs) *unstructured.Unstructured {
	old, created := o.GetUID(), o.GetCreationTimestamp()
	o = o.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp", "generation", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	// A backup that was made while a recovery held clusters has them paused: they come back as they
	// were before that.
	if !Release(o) {
		unannotate(o, AnnotationHeld)
	}
	annotate(o, AnnotationUID, string(old))
	if _, known := o.GetAnnotations()[annotationCreated]; o.GroupVersionKind().Group == groupMagnum && !known && !created.IsZero() {
		annotate(o, annotationCreated, created.UTC().Format(time.RFC3339)) // Kubernetes sets that of the restore
	}
	var owners []metav1.OwnerReference
	for _, r := range o.GetOwnerReferences() {
		if uid, known := uids[r.UID]; known {
			r.UID = uid
			owners = append(owners, r)
		}
	}
	o.SetOwnerReferences(owners)
	Hold(o)
	if spec, ok := o.Object["spec"]; ok {
		o.Object["spec"] = uids.renewed(spec)
	}
	if o.GetKind() == kindNamespace {
		unstructured.RemoveNestedField(o.Object, "spec", "finalizers") // Kubernetes adds its own
	}
	return o
}

// Status is the status of an object of a snapshot for the live object: with new UIDs,
// and with the live object's generation where a controller had seen the latest one,
// so that nobody takes an old spec for a change. That the former controllers saw an object
// paused or not says nothing of the new ones: the condition goes, and is there again once
// those have looked. ok is false if it has none.
func Status(o, live *unstructured.Unstructured, uids UIDs) (status map[string]any, ok bool) {
	was, ok := o.Object["status"].(map[string]any)
	if !ok || len(was) == 0 {
		return nil, false
	}
	status, _ = uids.renewed(was).(map[string]any)
	regenerate(status, o.GetGeneration(), live.GetGeneration())
	unsee(status)
	if newer, ok := status["v1beta2"].(map[string]any); ok { // of an object of v1beta1
		unsee(newer)
	}
	return status, true
}

// unsee takes the condition Paused out of a status.
func unsee(status map[string]any) {
	if conditions, ok := status["conditions"].([]any); ok {
		status["conditions"] = slices.DeleteFunc(conditions, func(one any) bool {
			condition, _ := one.(map[string]any)
			return text(condition, "type") == ConditionPaused
		})
	}
}

// renewed is a copy of a value with new UIDs in fields "uid".
func (u UIDs) renewed(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = u.renewed(one)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, below := range v {
			fields[key] = u.renewed(below)
			if old, ok := below.(string); ok && key == "uid" {
				if uid, known := u[types.UID(old)]; known {
					fields[key] = string(uid)
				}
			}
		}
		return fields
	}
	return value
}

// regenerate puts the new generation where the old one was, and one less where an
// older one was. The first generation has none before it, and a schema wants at least 1
// (Cluster API's Cluster): the field goes, as for what nobody has observed.
func regenerate(value any, old, now int64) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			regenerate(one, old, now)
		}
	case map[string]any:
		for key, below := range v {
			seen, ok := below.(int64)
			if !ok || key != "observedGeneration" {
				regenerate(below, old, now)
				continue
			}
			switch {
			case seen >= old:
				v[key] = now
			case now > 1:
				v[key] = now - 1
			default:
				delete(v, key)
			}
		}
	}
}

// Same reports whether a live object is the restored one of the backup's UID, or the
// original itself, which was never gone.
func Same(live *unstructured.Unstructured, old types.UID) bool {
	return live.GetUID() == old || live.GetAnnotations()[AnnotationUID] == string(old)
}

// Has reports whether a live status says all that a restored one says. Conditions are
// left out: controllers write into them also while the object is paused.
func Has(live, restored map[string]any) bool {
	for key, wanted := range restored {
		if key == "conditions" || key == "observedGeneration" || key == "v1beta2" || key == "deprecated" {
			continue
		}
		if !contains(live[key], wanted) {
			return false
		}
	}
	return typed(live, restored)
}

// typed reports whether every type of condition is there.
func typed(live, restored map[string]any) bool {
	there := map[any]bool{}
	for _, condition := range list(live["conditions"]) {
		there[condition["type"]] = true
	}
	for _, condition := range list(restored["conditions"]) {
		if !there[condition["type"]] {
			return false
		}
	}
	return true
}

// list are the maps in a list.
func list(value any) (all []map[string]any) {
	values, _ := value.([]any)
	for _, v := range values {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func contains(live, wanted any) bool {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for key, below := range w {
			if !ok || !contains(l[key], below) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(w) {
			return false
		}
		for i := range w {
			if !contains(l[i], w[i]) {
				return false
			}
		}
		return true
	}
	return fmt.Sprint(live) == fmt.Sprint(wanted)
}
