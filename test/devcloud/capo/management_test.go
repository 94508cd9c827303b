package capo

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"
	controllerruntime "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// provider is one of Cluster API's: its image and manifest in the bundle, and
// the account that the manifest gives rights to.
type provider struct{ image, manifest, account string }

func coreProvider() provider {
	return provider{"cluster-api-controller", "providers/cluster-api/*/core-components.yaml", "system:serviceaccount:capi-system:capi-manager"}
}

func infrastructureProvider() provider {
	return provider{"capi-openstack-controller", "providers/infrastructure-openstack/*/infrastructure-components.yaml", "system:serviceaccount:capo-system:capo-manager"}
}

// management is a management cluster without nodes: an API server, and beside
// it, as processes of the host, Cluster API, CAPO and the janitor. Each has the
// rights of its role alone.
type management struct {
	*testing.T
	server *kubetest.Server
	kube   *kube.Cluster
}

func newManagement(t *testing.T) *management {
	t.Helper()
	m := &management{T: t, server: kubetest.Start(t)}
	m.kube = need(kube.New(m.server.Config))(t)
	m.apply(read(t, "manifests/openstack-resource-controller.yaml"), nil) // CAPO reads its images
	for _, p := range []provider{coreProvider(), infrastructureProvider()} {
		program := newManager(t, p, need(kubetest.FreePorts(1))(t))
		m.apply(read(t, p.manifest), program)
		program.start(m.kubeconfig(p.account))
	}
	m.runJanitor()
	return m
}

// read decodes a manifest of the bundle.
func read(t *testing.T, pattern string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s in the bundle: %v, %v", pattern, files, err)
	}
	text := need(os.ReadFile(files[0]))(t)
	return need(kube.Decode(bytes.NewReader(text)))(t)
}

// apply applies a provider's manifest but for what runs the program: the API
// server calls its webhooks on the host instead.
func (m *management) apply(objects []*unstructured.Unstructured, program *manager) {
	m.Helper()
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return slices.Contains([]string{"Deployment", "Service", "Certificate", "Issuer"}, o.GetKind())
	})
	for _, object := range objects {
		redirect(object.Object, program)
	}
	if err := m.kube.ApplyObjects(m.Context(), objects); err != nil {
		m.Fatal(err)
	}
	// A controller without its kinds ends.
	if err := m.kube.AwaitServed(m.Context(), objects, func(string) {}); err != nil {
		m.Fatal(err)
	}
}

// redirect writes the program's address into every webhook of an object: those
// of admission, and those that convert.
func redirect(value any, program *manager) {
	switch value := value.(type) {
	case map[string]any:
		if service, ok := value["service"].(map[string]any); ok && program != nil && service["path"] != nil {
			delete(value, "service")
			value["url"] = program.url(service["path"].(string))
			value["caBundle"] = base64.StdEncoding.EncodeToString(program.authority)
			return
		}
		for _, inner := range value {
			redirect(inner, program)
		}
	case []any:
		for _, inner := range value {
			redirect(inner, program)
		}
	}
}

// kubeconfig is the administrator's, who acts as an account.
func (m *management) kubeconfig(account string) []byte {
	m.Helper()
	config := need(clientcmd.Load(m.server.Kubeconfig))(m)
	for _, user := range config.AuthInfos {
		user.Impersonate = account
	}
	return need(clientcmd.Write(*config))(m)
}

// runJanitor runs the janitor inside the test, with the roles of its chart.
func (m *management) runJanitor() {
	m.Helper()
	objects := need(controllers.Objects(controllers.Options{}))(m)
	m.apply(slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return !strings.HasPrefix(o.GetKind(), "ClusterRole") || o.GetName() != controllers.JanitorName
	}), nil)
	config := rest.CopyConfig(m.server.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + controllers.JanitorNamespace + ":" + controllers.JanitorName
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := janitor.AddToScheme(scheme); err != nil {
		m.Fatal(err)
	}
	runs := need(controllerruntime.New(config, controllerruntime.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}}))(m)
	if err := janitor.Setup(runs, janitor.DefaultOptions()); err != nil {
		m.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.Context()))
	ended := make(chan error, 1)
	go func() { ended <- runs.Start(ctx) }()
	m.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			m.Error(err)
		}
	})
}
