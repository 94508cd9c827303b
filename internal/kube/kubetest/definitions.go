package kubetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
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
	config := rest.CopyConfig(s.Config)
	config.QPS = -1
	client, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, text := range more {
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
		for end := time.Now().Add(defineTime); ; time.Sleep(100 * time.Millisecond) {
			now, err := definitions.Get(t.Context(), definition.Name, metav1.GetOptions{})
			if err == nil && apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("definition %s is not served: %v", definition.Name, err)
			}
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
