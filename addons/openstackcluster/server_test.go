package openstackcluster

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestServer has a real API server accept every object of the configurations:
// schemas, defaults, rules in CEL, and strictly no unknown field. Webhooks are
// not there, so versions are not converted.
func TestServer(t *testing.T) {
	server := kubetest.Start(t)
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.ApplyObjects(t.Context(), definitionObjects(t)); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}")); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kubernetes.NewForConfigOrDie(config).Discovery()))
	resources := dynamic.NewForConfigOrDie(config)
	for _, name := range configurations {
		text, err := Render(Release{Name: name, Namespace: "clusters", Values: values(t, read(t, name+".yaml"))})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range decode(t, text) {
			if err := tryCreate(t.Context(), mapper, resources, object); err != nil {
				t.Errorf("%s: %s: %v", name, kube.Describe(object), err)
			}
		}
	}
}

// tryCreate creates an object for show. A definition that was just made takes a
// moment until it is served.
func tryCreate(ctx context.Context, mapper meta.ResettableRESTMapper, resources dynamic.Interface, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	for patience := time.Now().Add(20 * time.Second); meta.IsNoMatchError(err) && time.Now().Before(patience); {
		time.Sleep(100 * time.Millisecond)
		mapper.Reset()
		mapping, err = mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return err
	}
	_, err = resources.Resource(mapping.Resource).Namespace("clusters").Create(ctx, object,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// definitionObjects are the definitions without their conversion webhooks.
func definitionObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	all, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, definition := range all {
		definition = definition.DeepCopy()
		definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		definition.APIVersion, definition.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "status")
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects
}
