package clusterctl

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
)

// proves: F23
func TestControllersAreGivenTrustedCertificates(t *testing.T) {
	t.Parallel()
	read := func() []*unstructured.Unstructured {
		t.Helper()
		objects, err := kube.Decode(strings.NewReader(strings.ReplaceAll(components, "${REPLICAS:=1}", "1")))
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	same, err := trust(read(), "")
	if err != nil || len(same) != 2 {
		t.Fatalf("without certificates: %d objects (%v)", len(same), err)
	}
	given, err := trust(read(), "PEM")
	if err != nil || len(given) != 3 {
		t.Fatalf("%d objects (%v)", len(given), err)
	}
	// In the order in which they are applied: the namespace, what is mounted, and
	// who mounts it.
	config, deployment := given[1], given[2]
	if text, _, _ := unstructured.NestedString(config.Object, "data", "ca.crt"); text != "PEM" || config.GetKind() != "ConfigMap" || config.GetNamespace() != "capi-system" {
		t.Errorf("the bundle is %v", config.Object)
	}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	volumes, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "volumes")
	container := containers[0].(map[string]any)
	mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
	env, _, _ := unstructured.NestedSlice(container, "env")
	if len(volumes) != 1 || len(mounts) != 1 || len(env) != 1 {
		t.Fatalf("volumes %v, mounts %v, environment %v", volumes, mounts, env)
	}
	source, _, _ := unstructured.NestedString(volumes[0].(map[string]any), "configMap", "name")
	at := mounts[0].(map[string]any)
	variable := env[0].(map[string]any)
	if source != config.GetName() || at["name"] != volumes[0].(map[string]any)["name"] || variable["name"] != "SSL_CERT_DIR" ||
		!strings.HasSuffix(variable["value"].(string), ":"+at["mountPath"].(string)) {
		t.Errorf("volume of %q, mount %v, environment %v", source, at, variable)
	}
	if args, _, _ := unstructured.NestedSlice(container, "args"); len(args) != 3 {
		t.Errorf("arguments are lost: %v", args)
	}
	digest := func(pem string) string {
		all, err := trust(read(), pem)
		if err != nil {
			t.Fatal(err)
		}
		annotations, _, _ := unstructured.NestedStringMap(all[2].Object, "spec", "template", "metadata", "annotations")
		return annotations["slipway.sh/trust"]
	}
	if digest("PEM") == "" || digest("PEM") == digest("OTHER") {
		t.Error("pods do not notice other certificates")
	}
}
