package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// state is one condition.
type state struct {
	kind, status, reason, message, severity string
	since                                   time.Time
}

// conditionPaths are where Cluster API keeps conditions: the object's own
// contract, the old one in new objects, the new one in old objects.
func conditionPaths() [][]string {
	return [][]string{{"status", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}, {"status", "v1beta2", "conditions"}}
}

// conditions are all of an object, those of its own contract first.
func conditions(o *unstructured.Unstructured) []state {
	if o == nil {
		return nil
	}
	var all []state
	for _, path := range conditionPaths() {
		entries, _, _ := unstructured.NestedSlice(o.Object, path...)
		for _, entry := range entries {
			c, _ := entry.(map[string]any)
			get := func(key string) string { value, _ := c[key].(string); return value }
			since, _ := time.Parse(time.RFC3339, get("lastTransitionTime"))
			all = append(all, state{get("type"), get("status"), get("reason"), get("message"), get("severity"), since})
		}
	}
	return all
}

// condition is the first of a type.
func condition(o *unstructured.Unstructured, kind string) (state, bool) {
	for _, c := range conditions(o) {
		if c.kind == kind {
			return c, true
		}
	}
	return state{}, false
}

// isTrue says whether the first of several conditions that an object has is
// true: the same is called otherwise in each contract.
func isTrue(o *unstructured.Unstructured, kinds ...string) bool {
	for _, kind := range kinds {
		if c, ok := condition(o, kind); ok {
			return c.status == "True"
		}
	}
	return false
}

func conditionMessage(o *unstructured.Unstructured, kinds ...string) string {
	for _, kind := range kinds {
		if c, ok := condition(o, kind); ok && c.message != "" {
			return c.message
		}
	}
	return ""
}

// seen says whether the controller has looked at the present specification.
// Objects without the field come from before it.
func seen(o *unstructured.Unstructured) bool {
	observed, found, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	return !found && o.GetGeneration() <= 1 || observed >= o.GetGeneration()
}

// upToDate is how many replicas have the present specification.
func upToDate(o *unstructured.Unstructured) int64 {
	for _, path := range [][]string{{"status", "upToDateReplicas"}, {"status", "updatedReplicas"}, {"status", "deprecated", "v1beta1", "updatedReplicas"}} {
		if value, found, _ := unstructured.NestedInt64(o.Object, path...); found {
			return value
		}
	}
	return 0
}

func text(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

func number(o *unstructured.Unstructured, path ...string) int64 {
	if o == nil {
		return 0
	}
	value, _, _ := unstructured.NestedInt64(o.Object, path...)
	return value
}

func describe(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

func name(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return o.GetName()
}
