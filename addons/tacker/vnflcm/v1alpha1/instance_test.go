package v1alpha1

import "testing"

// TestSame: versions of a kind are one object; other groups, kinds, namespaces and names are
// others.
func TestSame(t *testing.T) {
	t.Parallel()
	ref := ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Namespace: "a", Name: "c"}
	for _, test := range []struct {
		other ObjectRef
		want  bool
	}{
		{ref, true},
		{ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Namespace: "a", Name: "c"}, true},
		{ObjectRef{APIVersion: "other.x-k8s.io/v1beta1", Kind: "Cluster", Namespace: "a", Name: "c"}, false},
		{ObjectRef{APIVersion: "v1", Kind: "Cluster", Namespace: "a", Name: "c"}, false},
		{ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Namespace: "a", Name: "c"}, false},
		{ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Namespace: "b", Name: "c"}, false},
		{ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Namespace: "a", Name: "d"}, false},
	} {
		if got := ref.Same(test.other); got != test.want {
			t.Errorf("%v: %v", test.other, got)
		}
	}
}
