package clusterctl

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestControllersAreGivenVariables beside their own; the namespace is left alone.
//
// proves: S-57
func TestControllersAreGivenVariables(t *testing.T) {
	t.Parallel()
	objects, err := kube.Decode(strings.NewReader(strings.ReplaceAll(components, "${REPLICAS:=1}", "1")))
	if err != nil {
		t.Fatal(err)
	}
	path := []string{"spec", "template", "spec", "containers"}
	variables := func() string {
		containers, _, _ := unstructured.NestedSlice(objects[1].Object, path...)
		return fmt.Sprint(containers[0].(map[string]any)["env"])
	}
	before := fmt.Sprint(objects)
	if err := setVariables(objects, nil); err != nil || fmt.Sprint(objects) != before {
		t.Errorf("none change something (%v)", err)
	}
	for _, proxy := range []string{"http://old:1", "http://new:1"} {
		if err := setVariables(objects, map[string]string{"NO_PROXY": ".svc", "HTTPS_PROXY": proxy}); err != nil {
			t.Fatal(err)
		}
		if got, want := variables(), "[map[name:HTTPS_PROXY value:"+proxy+"] map[name:NO_PROXY value:.svc]]"; got != want {
			t.Errorf("variables %s, want %s", got, want)
		}
	}
	own := withVariables([]any{map[string]any{"name": "OWN", "value": "x"}}, map[string]string{"A": "b"})
	if fmt.Sprint(own) != "[map[name:OWN value:x] map[name:A value:b]]" {
		t.Errorf("own variables are lost: %v", own)
	}
}
