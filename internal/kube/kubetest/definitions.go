package kubetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// defineTime is how long a definition may take until it is served.
const defineTime = 90 * time.Second

// Define makes the definitions of the bundle's providers of Cluster API, and
// those in more, each a stream of YAML documents, and waits until they are served.
// No provider runs that would convert, so only stored versions work.
func (s *Server) Define(t *testing.T, more ...[]byte) {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	files, err := filepath.Glob(filepath.Join(dir, "providers", "*", "*", "*-components.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no providers in the bundle: %v", err)
	}
	for _, file := range append(files, filepath.Join(dir, "manifests", "openstack-resource-controller.yaml")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		more = append(more, text)
	}
	s.Serve(t, more...)
}

// Serve makes the definitions in texts, each a stream of YAML documents, and waits
// until discovery names all of their versions: a controller asks it once, and gives up.
func (s *Server) Serve(t *testing.T, texts ...[]byte) {
	t.Helper()
	config := rest.CopyConfig(s.Config)
	config.QPS = -1
	client, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, text := range texts {
		all = append(all, definitionsIn(t, text)...)
	}
	for _, definition := range all {
		if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// One after the other: they are large, and a server that sends them all the
	// time has no time to take them in.
	for _, definition := range all {
		await(t, "definition "+definition.Name+" is established", func() (bool, error) {
			now, err := definitions.Get(t.Context(), definition.Name, metav1.GetOptions{})
			return err == nil && apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established), err
		})
	}
	// The list of all groups, as clients see it, is complete a moment after those of single versions.
	await(t, "all definitions are served", func() (bool, error) {
		_, lists, err := client.Discovery().ServerGroupsAndResources()
		served := map[string]bool{}
		for _, list := range lists {
			for _, r := range list.APIResources {
				served[list.GroupVersion+" "+r.Name] = true
			}
		}
		return !slices.ContainsFunc(all, func(definition *apiextensionsv1.CustomResourceDefinition) bool {
			return slices.ContainsFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return v.Served && !served[definition.Spec.Group+"/"+v.Name+" "+definition.Spec.Names.Plural]
			})
		}), err
	})
}

func await(t *testing.T, what string, done func() (bool, error)) {
	t.Helper()
	for end := time.Now().Add(defineTime); ; time.Sleep(100 * time.Millisecond) {
		ok, err := done()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not in time: %s: %v", what, err)
		}
	}
}

func definitionsIn(t *testing.T, text []byte) (all []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := decoder.Decode(definition)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if definition.Kind == "CustomResourceDefinition" {
			definition.Spec.Conversion = nil
			all = append(all, definition)
		}
	}
}
