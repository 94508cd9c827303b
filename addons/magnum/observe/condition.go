package observe

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cause"
)

// condition is the first of a type.
func condition(o *unstructured.Unstructured, kind string) (cause.Condition, bool) {
	for _, c := range cause.Conditions(o) {
		if c.Type == kind {
			return c, true
		}
	}
	return cause.Condition{}, false
}

// isTrue reports whether the first of several conditions that an object has is true: the same is
// called otherwise in each contract.
func isTrue(o *unstructured.Unstructured, kinds ...string) bool {
	for _, kind := range kinds {
		if c, ok := condition(o, kind); ok {
			return c.Status == "True"
		}
	}
	return false
}

func conditionMessage(o *unstructured.Unstructured, kinds ...string) string {
	for _, kind := range kinds {
		if c, ok := condition(o, kind); ok && c.Message != "" {
			return c.Message
		}
	}
	return ""
}

// seen reports whether the controller has looked at the present specification. Objects without the
// field come from before it.
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
