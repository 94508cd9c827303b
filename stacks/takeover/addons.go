package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// the version that Azimuth's operator and Slipway's serve.
const addonVersion = "v1alpha1"

// addons looks at the definitions and at each object of the kinds that both operators
// serve: what Slipway's definitions would refuse or drop, and what is still at work.
func (c *Cluster) addons(ctx context.Context) error {
	for _, wanted := range c.wanted {
		group, _, _ := unstructured.NestedString(wanted.Object, "spec", "group")
		if wanted.GetKind() != definitions.Kind || group != v1alpha1.Group {
			continue
		}
		live, err := c.live(ctx, wanted)
		if err != nil {
			return err
		}
		if live == nil {
			continue // there are no objects, either
		}
		if !c.knownDefinition(live) {
			continue
		}
		kind, _, _ := unstructured.NestedString(wanted.Object, "spec", "names", "kind")
		all, err := c.all(ctx, gvk.GroupVersionKind{Group: group, Version: addonVersion, Kind: kind})
		if err != nil {
			return err
		}
		checked, err := newChecker(wanted)
		if err != nil {
			return err
		}
		for i := range all {
			c.addon(&all[i], checked)
		}
	}
	return nil
}

// knownDefinition refuses a definition of other versions than the known one.
func (c *Cluster) knownDefinition(live *unstructured.Unstructured) bool {
	var versions []string
	list, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
	for _, one := range list {
		if version, ok := one.(map[string]any); ok {
			name, _ := version["name"].(string)
			versions = append(versions, name)
		}
	}
	stored, _, _ := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	if slices.Equal(versions, []string{addonVersion}) && slices.Equal(stored, []string{addonVersion}) {
		return true
	}
	c.problem(describe(live), "use a slipway that knows them", "it has versions %s, and objects are stored as %s; only %s is known", join(versions), join(stored), addonVersion)
	return false
}

// addon is what becomes of a HelmRelease or of Manifests.
func (c *Cluster) addon(o *unstructured.Unstructured, by *checker) {
	item := Item{Object: describe(o), Verdict: Keep}
	item.Version, _, _ = unstructured.NestedString(o.Object, "spec", "chart", "version")
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	digest, _, _ := unstructured.NestedString(o.Object, "status", "digest")
	switch {
	case c.State != New: // as for clusters
	case o.GetDeletionTimestamp() != nil, phase == string(v1alpha1.PhaseUninstalling):
		c.problem(item.Object, "wait until it is gone, then run the same command again", "it is being deleted")
	case digest != "": // Slipway's controllers know it
	case slices.Contains([]string{string(v1alpha1.PhasePreparing), string(v1alpha1.PhaseInstalling), string(v1alpha1.PhaseUpgrading)}, phase):
		c.problem(item.Object, "wait until it is Deployed or Failed, then run the same command again", "it is %s", phase)
	case o.GetKind() == "Manifests" && phase == string(v1alpha1.PhaseDeployed):
		item.Note = "gets a new revision with the same resources"
	}
	for _, wrong := range by.check(o) {
		c.problem(item.Object, "correct it, then run the same command again", "Slipway's definition refuses it: %s", wrong)
	}
	c.Items = append(c.Items, item)
}

// checker says what a definition would refuse of an object, or drop. It asks the validator that
// the API server asks, without the server's package around it: that one brings CEL, feature gates
// and metrics into every command, and rules in CEL are not checked here.
type checker struct {
	structural *schema.Structural
	validator  *validate.SchemaValidator
}

func newChecker(definition *unstructured.Unstructured) (*checker, error) {
	external := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, external); err != nil {
		return nil, fmt.Errorf("reading %s: %w", describe(definition), err)
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(external.Spec.Versions[0].Schema, internal, nil); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", describe(definition), err)
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", describe(definition), err)
	}
	return &checker{structural, validate.NewSchemaValidator(typed(structural.ToKubeOpenAPI()), nil, "", strfmt.Default)}, nil
}

// typed gives a schema the types of what is a number or a string.
func typed(s *spec.Schema) *spec.Schema {
	if yes, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); yes {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	for name, property := range s.Properties {
		s.Properties[name] = *typed(&property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		typed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		typed(s.AdditionalProperties.Schema)
	}
	return s
}

func (k *checker) check(o *unstructured.Unstructured) []string {
	bare := o.DeepCopy().Object
	var all []string
	for _, path := range pruning.PruneWithOptions(bare, k.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		all = append(all, path+" is not known")
	}
	for _, err := range k.validator.Validate(o.Object).Errors {
		all = append(all, strings.TrimPrefix(err.Error(), "."))
	}
	return all
}
