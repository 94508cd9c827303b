package worker

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// available says what Clusters wait for.
func (j *job) available(ctx context.Context, refs []v1alpha1.ObjectRef) (string, error) {
	for _, ref := range refs {
		if !machine.IsCluster(ref) {
			continue
		}
		there, err := j.find(ctx, ref)
		if err != nil {
			return "", err
		}
		if there == nil {
			return kube.Describe(object(ref)) + " does not exist", nil
		}
		if !holds(there, "Available") {
			return kube.Describe(there) + " is not available" + said(there, "Available"), nil
		}
	}
	return "", nil
}

// rolled says what machines are missing on levels.
func (j *job) rolled(ctx context.Context, targets []v1alpha1.Target, levels map[string]int32) (string, error) {
	for _, t := range targets {
		there, err := j.find(ctx, t.ObjectRef)
		if err != nil {
			return "", err
		}
		if waiting := counts(t, there, t.Count(levels)); waiting != "" {
			return waiting, nil
		}
	}
	return "", nil
}

// counts compares the numbers in an object's status.
func counts(t v1alpha1.Target, o *unstructured.Unstructured, want int64) string {
	name := kube.Describe(object(t.ObjectRef))
	if o == nil {
		return name + " does not exist"
	}
	number := func(names ...string) int64 {
		for _, name := range names {
			if n, ok, _ := unstructured.NestedInt64(o.Object, "status", name); ok {
				return n
			}
		}
		return 0
	}
	have, ready, current := number("replicas"), number("readyReplicas"), number("upToDateReplicas", "updatedReplicas")
	if t.Kind == "ReplicaSet" {
		current = have // it has no older ones
	}
	if number("observedGeneration") < o.GetGeneration() || have != want || ready != want || current != want {
		return fmt.Sprintf("%s: %d of %d machines are ready, %d up to date", name, ready, want, current) + said(o, "Available")
	}
	return ""
}

// condition is one of an object. Cluster API's v1beta1 has the conditions of today below
// status.v1beta2, and others, by other rules, in their place.
func condition(o *unstructured.Unstructured, kind string) map[string]any {
	for _, path := range [][]string{{"status", "v1beta2", "conditions"}, {"status", "conditions"}} {
		list, _, _ := unstructured.NestedSlice(o.Object, path...)
		for _, one := range list {
			if c, ok := one.(map[string]any); ok && c["type"] == kind {
				return c
			}
		}
	}
	return nil
}

func holds(o *unstructured.Unstructured, kind string) bool {
	return condition(o, kind)["status"] == "True"
}

// said is what a condition says, after a colon.
func said(o *unstructured.Unstructured, kind string) string {
	if text, _ := condition(o, kind)["message"].(string); text != "" {
		return ": " + text
	}
	return ""
}
