package takeover

import (
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

const release = `
apiVersion: addons.stackhpc.com/v1alpha1
kind: HelmRelease
metadata: {name: a, namespace: default}
spec: {clusterName: c, targetNamespace: t, chart: {repo: "https://x", name: chart, version: 1.2.3}}
`

// TestCheckerRefusesWhatTheServerRefuses changes a field of an addon, and asks the API server's
// own package as well.
func TestCheckerRefusesWhatTheServerRefuses(t *testing.T) {
	t.Parallel()
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(v1alpha1.Definitions()["helmreleases.yaml"], &definition.Object); err != nil {
		t.Fatal(err)
	}
	ours, err := newChecker(definition)
	if err != nil {
		t.Fatal(err)
	}
	theirs := server(t)
	for name, c := range map[string]struct {
		value any
		path  string
		want  string
	}{
		"nothing":             {"c", "spec.clusterName", ""},
		"a number":            {int64(5), "spec.clusterName", `spec.clusterName in body must be of type string: "integer"`},
		"nothing at all":      {nil, "spec.clusterName", "spec.clusterName in body must be of type string"},
		"too short":           {"", "spec.clusterName", "spec.clusterName in body should be at least 1 chars long"},
		"another pattern":     {"A_b", "spec.targetNamespace", "spec.targetNamespace in body should match"},
		"no chart":            {map[string]any{}, "spec.chart", "spec.chart.name in body is required"},
		"seconds":             {int64(30), "spec.releaseTimeout", ""},
		"a duration":          {"30s", "spec.releaseTimeout", ""},
		"none":                {nil, "spec.releaseTimeout", ""},
		"neither":             {true, "spec.releaseTimeout", "spec.releaseTimeout in body must be of type"},
		"a word for a switch": {"yes", "spec.paused", "spec.paused in body must be of type boolean"},
		"unknown":             {"x", "spec.colour", "spec.colour is not known"},
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(release), &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(o.Object, c.value, strings.Split(c.path, ".")...); err != nil {
			t.Fatal(err)
		}
		got := ours.check(o)
		if c.want == "" && len(got) > 0 || c.want != "" && !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if refused := validation.ValidateCustomResource(nil, o.Object, theirs); len(refused) != len(got) && !strings.HasSuffix(c.want, "is not known") {
			t.Errorf("%s: %q, the server %q", name, got, refused)
		}
	}
}

func server(t *testing.T) validation.SchemaValidator {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(v1alpha1.Definitions()["helmreleases.yaml"], &definition); err != nil {
		t.Fatal(err)
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition.Spec.Versions[0].Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return validator
}
