package worker

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestConditions: the condition of a Cluster is found in the versions of Cluster API that are
// served. In v1beta1, what is in the place of v1beta2's conditions follows other rules.
func TestConditions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		holds  bool
		said   string
	}{
		"v1beta2": {`{"conditions":[{"type":"Available","status":"True"}]}`, true, ""},
		"v1beta1": {`{"conditions":[{"type":"Ready","status":"True"}],"v1beta2":{"conditions":[{"type":"Available","status":"True"}]}}`, true, ""},
		"v1beta1, and another of the old ones": {`{"conditions":[{"type":"Available","status":"True"}],"v1beta2":{"conditions":[{"type":"Available","status":"False","message":"no quota"}]}}`,
			false, ": no quota"},
		"none": {`{}`, false, ""},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		var status map[string]any
		if err := json.Unmarshal([]byte(test.status), &status); err != nil {
			t.Fatal(err)
		}
		o.Object["status"] = status
		if holds(o, "Available") != test.holds || said(o, "Available") != test.said {
			t.Errorf("%s: %v %q", name, holds(o, "Available"), said(o, "Available"))
		}
	}
}

// TestRollout: the patch sets what is read, in both versions.
func TestRollout(t *testing.T) {
	t.Parallel()
	const after = "2026-11-27T23:00:00Z"
	for version, want := range map[string]string{"cluster.x-k8s.io/v1beta1": "rolloutAfter", "controlplane.cluster.x-k8s.io/v1beta2": "rollout"} {
		path, patch := rollout(version, after)
		var body map[string]any
		if err := json.Unmarshal([]byte(patch), &body); err != nil {
			t.Fatal(err)
		}
		if got, _, err := unstructured.NestedString(body, path...); err != nil || got != after || path[1] != want {
			t.Errorf("%s: %v in %s: %q, %v", version, path, patch, got, err)
		}
	}
}
