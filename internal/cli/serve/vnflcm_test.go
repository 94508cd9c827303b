package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func TestVNFLCMWrongFlags(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(rules, []byte("os_nfv_orchestration_api_v2:vnf_instances:crate: '@'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"--public-endpoint", "https://cloud.example:9890"}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no endpoint":        {[]string{"--public-endpoint", ""}, "--public-endpoint"},
		"a wrong endpoint":   {[]string{"--public-endpoint", "cloud.example"}, "--public-endpoint"},
		"a page size":        {[]string{"--page-size", "-1"}, "--page-size"},
		"a policy file":      {[]string{"--policy-file", rules}, "vnf_instances:crate: the endpoint has no such rule"},
		"an allowed network": {[]string{"--callback-allow", "10.0.0.0/99"}, "--callback-allow"},
		"a CA of callbacks":  {[]string{"--callback-ca", "/nonexistent"}, "--callback-ca"},
		"a kubeconfig":       {[]string{"--kubeconfig", "/nonexistent"}, "--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, append(append([]string{"vnflcm"}, good...), test.args...)...)
			if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), test.want) || fault.Remedy(err) == "" {
				t.Errorf("error %v, exit code %d; want %q", err, fault.ExitCode(err), test.want)
			}
		})
	}
}

// TestVNFLCMServing runs the command on a real API server with tokens of a Keystone: it
// installs its definitions, becomes the leader and performs an operation.
func TestVNFLCMServing(t *testing.T) {
	server := kubetest.Start(t)
	sandbox := sandboxtest.Start(t)
	kubeconfig := files(t, server, sandbox)
	r := startServer(t, "vnflcm", kubeconfig, sandbox.Admin.Provider.Token(), "--install-crds", "--leader-election-namespace", "kube-system", "--public-endpoint", "http://127.0.0.1")
	r.ready()
	r.do(http.MethodGet, "/vnflcm/api_versions", nil, http.StatusOK)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	id := offered(t, kube)
	const instances = "/vnflcm/v2/vnf_instances"
	made := r.do(http.MethodPost, instances, map[string]any{"vnfdId": id}, http.StatusCreated)
	one := fmt.Sprint(instances, "/", made["id"])
	r.do(http.MethodPatch, one, map[string]any{"vnfInstanceName": "renamed"}, http.StatusAccepted)
	eventually(t, "an operation that is performed", func() bool { return r.do(http.MethodGet, one, nil, http.StatusOK)["vnfInstanceName"] == "renamed" })
	eventually(t, "an operation that has ended", func() bool {
		var all v1alpha1.VNFOperationList
		return kube.List(t.Context(), &all) == nil && len(all.Items) == 1 && all.Items[0].Status.State == v1alpha1.Completed
	})
	r.do(http.MethodDelete, one, nil, http.StatusNoContent)
	r.token = "nobody"
	r.do(http.MethodGet, instances, nil, http.StatusUnauthorized)
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// offered stores the example's package.
func offered(t *testing.T, kube client.Client) string {
	t.Helper()
	text, err := os.ReadFile("../../../addons/tacker/csar/testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := csar.ParseSpec("shop.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}
	p, err := csar.Workload(spec, csar.Options{Variant: csar.Raw, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := p.Zip()
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), &v1alpha1.VNFPackage{ObjectMeta: metav1.ObjectMeta{Name: p.ID}, Spec: v1alpha1.VNFPackageSpec{Content: packed}}); err != nil {
		t.Fatal(err)
	}
	return p.ID
}
