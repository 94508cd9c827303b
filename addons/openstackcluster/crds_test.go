package openstackcluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
)

// definitionSources are where modules have the definitions of what the chart renders.
func definitionSources() map[string][]string {
	return map[string][]string{
		"sigs.k8s.io/cluster-api@" + component.ClusterAPIVersion: {
			"config/crd/bases/cluster.x-k8s.io_*.yaml",
			"bootstrap/kubeadm/config/crd/bases/*.yaml",
			"controlplane/kubeadm/config/crd/bases/*.yaml"},
		"sigs.k8s.io/cluster-api-provider-openstack@" + component.CAPOVersion:       {"config/crd/bases/*.yaml"},
		"github.com/k-orc/openstack-resource-controller/v2@" + component.ORCVersion: {"config/crd/bases/*servergroups.yaml"},
	}
}

// definitions are read once, because they are some megabytes.
var definitions = sync.OnceValues(readDefinitions)

func readDefinitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := filepath.Glob("../addonprovider/v1alpha1/crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for module, patterns := range definitionSources() {
		dir, err := moduleDir(module)
		if err != nil {
			return nil, err
		}
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(found) == 0 {
				return nil, fmt.Errorf("%s has no %s (%v)", module, pattern, err)
			}
			paths = append(paths, found...)
		}
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, definition); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, definition)
	}
	return all, nil
}

// moduleDir is where Go keeps a module, which it fetches if need be.
func moduleDir(module string) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", module)
	command.Dir = os.TempDir() // not the main module: it need not depend on it
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GONOSUMDB=*")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	var answer struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &answer); err == nil && decodeErr != nil {
		err = decodeErr
	}
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w: %s %s", module, err, answer.Error, stderr.String())
	}
	return answer.Dir, nil
}

// version finds the definition of an object's kind and version.
func version(t *testing.T, object *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	all, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	for _, definition := range all {
		if definition.Spec.Group != kind.Group || definition.Spec.Names.Kind != kind.Kind {
			continue
		}
		for i := range definition.Spec.Versions {
			if definition.Spec.Versions[i].Name == kind.Version {
				return &definition.Spec.Versions[i]
			}
		}
	}
	return nil
}

// check holds an object against the schema of its definition: what the API
// server would refuse, and what it would drop in silence.
func check(object *unstructured.Unstructured, of *apiextensionsv1.CustomResourceDefinitionVersion) error {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(of.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return err
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return err
	}
	object = object.DeepCopy()
	defaulting.Default(object.Object, structural)
	if errs := validation.ValidateCustomResource(nil, object.Object, validator); len(errs) > 0 {
		return errs.ToAggregate()
	}
	dropped := pruning.PruneWithOptions(runtime.DeepCopyJSON(object.Object), structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(dropped) > 0 {
		return fmt.Errorf("the schema does not know %s", strings.Join(dropped, ", "))
	}
	return nil
}

// TestSchemas holds every object of the configurations against the definitions
// of Cluster API, CAPO, ORC and the addon provider.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range configurations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAll(t, values(t, read(t, name+".yaml")))
		})
	}
}

// checkAll renders values and holds all that has a definition against it.
func checkAll(t *testing.T, given map[string]any) {
	t.Helper()
	text, err := Render(Release{Name: "c1", Namespace: "clusters", Values: given})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, object := range decode(t, text) {
		of := version(t, object)
		if of == nil {
			if strings.Contains(object.GroupVersionKind().Group, "x-k8s.io") || strings.Contains(object.GroupVersionKind().Group, "stackhpc.com") {
				t.Errorf("no definition of %s %s", object.GetAPIVersion(), object.GetKind())
			}
			continue
		}
		checked++
		if err := check(object, of); err != nil {
			t.Errorf("%s: %v", kube.Describe(object), err)
		}
	}
	if checked < 8 {
		t.Errorf("only %d objects have definitions", checked)
	}
}

// TestCheck shows that the comparison would tell: a wrong type, an unknown key.
func TestCheck(t *testing.T) {
	t.Parallel()
	cloud := render(t)["OpenStackCluster"]
	for text, wrong := range map[string]any{"spec.identityRef": "creds", "spec.identityReff": "creds"} {
		broken := cloud.DeepCopy()
		broken.Object["spec"].(map[string]any)[strings.TrimPrefix(text, "spec.")] = wrong
		if err := check(broken, version(t, cloud)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
