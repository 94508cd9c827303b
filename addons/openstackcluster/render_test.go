package openstackcluster

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/kube"
)

// minimal is the least that makes a cluster.
const minimal = `
kubernetesVersion: 1.34.4
machineImageId: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1
cloudCredentialsSecretName: creds
controlPlane: {machineFlavor: m1.medium}
nodeGroupDefaults: {machineFlavor: m1.large}
`

// objects are those of a rendered cluster, by "Kind name" without the
// cluster's name: "MachineDeployment md-0", "Cluster".
type objects map[string]*unstructured.Unstructured

// values reads a user's values, several files one over the other.
func values(t *testing.T, texts ...string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, text := range texts {
		one := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &one); err != nil {
			t.Fatalf("values: %v\n%s", err, text)
		}
		mergeInto(all, one)
	}
	return all
}

func mergeInto(all, one map[string]any) {
	for key, value := range one {
		below, isMap := value.(map[string]any)
		there, wasMap := all[key].(map[string]any)
		if isMap && wasMap {
			mergeInto(there, below)
			continue
		}
		all[key] = value
	}
}

// render renders minimal and what is given over it, for a cluster c1.
func render(t *testing.T, texts ...string) objects {
	t.Helper()
	return renderRelease(t, Release{Name: "c1", Values: values(t, append([]string{minimal}, texts...)...)})
}

func renderRelease(t *testing.T, r Release) objects {
	t.Helper()
	text, err := Render(r)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for _, object := range decode(t, text) {
		name := strings.TrimSpace(object.GetKind() + " " + strings.TrimPrefix(strings.TrimPrefix(object.GetName(), r.Name), "-"))
		if all[name] != nil {
			t.Fatalf("%s is rendered twice", name)
		}
		all[name] = object
	}
	return all
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	decoded, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// refuse renders values that must not render, and wants the words in the error.
func refuse(t *testing.T, text string, words ...string) {
	t.Helper()
	_, err := Render(Release{Name: "c1", Values: values(t, minimal, text)})
	if err == nil {
		t.Fatalf("rendered, but should not have:\n%s", text)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not tell %q", err, word)
		}
	}
}

// get finds an object.
func (o objects) get(t *testing.T, name string) map[string]any {
	t.Helper()
	if o[name] == nil {
		t.Fatalf("no %s", name)
	}
	return o[name].Object
}

// template finds the one object of a kind whose name begins so and ends in a hash.
func (o objects) template(t *testing.T, kind, group string) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	for name, object := range o {
		rest, ok := strings.CutPrefix(name, kind+" "+group+"-")
		if !ok || len(rest) != 8 {
			continue
		}
		if found != nil {
			t.Fatalf("two %s of %s", kind, group)
		}
		found = object
	}
	if found == nil {
		t.Fatalf("no %s of %s", kind, group)
	}
	return found
}

// at follows a path of keys and indexes through a tree; nil if it ends early.
func at(tree any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			branch, _ := tree.(map[string]any)
			tree = branch[key]
		case int:
			list, _ := tree.([]any)
			if key >= len(list) {
				return nil
			}
			tree = list[key]
		}
	}
	return tree
}

// want compares what is at a path with YAML.
func want(t *testing.T, tree any, text string, path ...any) {
	t.Helper()
	got, err := yaml.Marshal(at(tree, path...))
	if err != nil {
		t.Fatal(err)
	}
	var expected any
	if err := yaml.Unmarshal([]byte(text), &expected); err != nil {
		t.Fatal(err)
	}
	wanted, _ := yaml.Marshal(expected)
	if string(got) != string(wanted) {
		t.Errorf("%s is\n%swant\n%s", pathText(path), got, wanted)
	}
}

func pathText(path []any) string {
	parts := make([]string, len(path))
	for i, step := range path {
		parts[i] = fmt.Sprint(step)
	}
	return strings.Join(parts, ".")
}

// arguments are a list of {name, value} as "name=value".
func arguments(list any) []string {
	var all []string
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, fmt.Sprintf("%v=%v", at(item, "name"), at(item, "value")))
	}
	return all
}
