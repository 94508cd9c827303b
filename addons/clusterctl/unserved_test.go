package clusterctl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestVersionsThatNobodyUsesAreLeftOut of definitions: those that are neither served nor stored.
func TestVersionsThatNobodyUsesAreLeftOut(t *testing.T) {
	t.Parallel()
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\nspec:\n  versions:\n"
	for _, v := range []struct {
		name           string
		served, stored bool
	}{{"v1alpha3", false, false}, {"v1alpha4", false, true}, {"v1beta1", true, false}, {"v1beta2", true, false}} {
		text += fmt.Sprintf("  - {name: %s, served: %t, storage: %t}\n", v.name, v.served, v.stored)
	}
	objects, err := kube.Decode(strings.NewReader(text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dropUnserved(objects); err != nil {
		t.Fatal(err)
	}
	if got, want := versionsOf(objects[0]), []string{"v1alpha4", "v1beta1", "v1beta2"}; !slices.Equal(got, want) {
		t.Errorf("the versions are %v, want %v", got, want)
	}
}

// TestTheBundlesDefinitionsHaveNoUnusedVersions as they are applied: an API server would keep a
// cache of objects for each, and fill it through a webhook.
func TestTheBundlesDefinitionsHaveNoUnusedVersions(t *testing.T) {
	t.Parallel()
	of := map[string][]string{}
	for _, object := range ofTheBundle(t) {
		if object.GetKind() != definitionKind {
			continue
		}
		of[object.GetName()] = versionsOf(object)
		versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
		for _, version := range versions {
			if one := version.(map[string]any); one["served"] != true && one["storage"] != true {
				t.Errorf("%s has version %v, which nobody uses", object.GetName(), one["name"])
			}
		}
	}
	if got, want := of["clusters.cluster.x-k8s.io"], []string{"v1beta1", "v1beta2"}; !slices.Equal(got, want) {
		t.Errorf("Clusters have versions %v, want %v", got, want)
	}
}
