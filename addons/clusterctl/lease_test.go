package clusterctl

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestControllersOfOneNodeHaveNoElection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, want []string }{
		"a manager":              {[]string{"--leader-elect", "--v=2"}, []string{"--leader-elect=false", "--v=2"}},
		"cert-manager":           {[]string{"--v=2", "--leader-election-namespace=kube-system"}, []string{"--v=2", "--leader-election-namespace=kube-system", "--leader-elect=false"}},
		"a webhook":              {[]string{"--v=2"}, nil},
		"nothing":                {nil, nil},
		"on by the operator":     {[]string{"--leader-elect=true"}, nil},
		"durations of the lease": {[]string{"--leader-elect-lease-duration=60s"}, nil},
	} {
		container := map[string]any{"name": "manager"}
		if c.args != nil {
			if err := unstructured.SetNestedStringSlice(container, c.args, "args"); err != nil {
				t.Fatal(err)
			}
		}
		deployment := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment"}}
		if err := unstructured.SetNestedSlice(deployment.Object, []any{container}, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
		if err := withoutLeases([]*unstructured.Unstructured{deployment}); err != nil {
			t.Fatal(err)
		}
		want := c.want
		if want == nil {
			want = c.args
		}
		containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
		if got, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		surge, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "strategy", "rollingUpdate", "maxUnavailable")
		if (surge == 1) != (c.want != nil) {
			t.Errorf("%s: %d pods may be away during an update", name, surge)
		}
	}
}
