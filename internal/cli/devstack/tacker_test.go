package devstack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// tacker answers as Tacker does about VIMs and packages; Debian has none.
type tacker struct {
	mu       sync.Mutex
	vims     []map[string]any
	packages []map[string]any
	content  [][]byte
}

func (k *tacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Header.Get("X-Auth-Token") == "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	if strings.HasPrefix(r.URL.Path, "/v1.0/vims") {
		k.vim(w, r.Method, body)
		return
	}
	switch id := strings.TrimPrefix(r.URL.Path, "/vnfpkgm/v1/vnf_packages"); {
	case r.Method == http.MethodPatch || r.Method == http.MethodDelete:
		k.change(w, r.Method, strings.TrimPrefix(id, "/"), body)
	case id == "" && r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(append([]map[string]any{}, k.packages...))
	case id == "":
		k.packages = append(k.packages, map[string]any{"id": fmt.Sprint(len(k.packages)), "onboardingState": "CREATED", "operationalState": "DISABLED"})
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(k.packages[len(k.packages)-1])
	case r.Method == http.MethodPut:
		k.content = append(k.content, body)
		p := k.packages[len(k.packages)-1]
		if read, err := csar.Verify(body); err == nil { // as Tacker does
			p["vnfdId"], p["onboardingState"], p["operationalState"] = read.ID, "ONBOARDED", "ENABLED"
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		_ = json.NewEncoder(w).Encode(k.packages[len(k.packages)-1])
	}
}

// change disables a package, or deletes one that is disabled.
func (k *tacker) change(w http.ResponseWriter, method, id string, body []byte) {
	at := slices.IndexFunc(k.packages, func(p map[string]any) bool { return p["id"] == id })
	switch {
	case at < 0:
		w.WriteHeader(http.StatusNotFound)
	case method == http.MethodPatch:
		_ = json.Unmarshal(body, &k.packages[at])
		_, _ = w.Write(body)
	case k.packages[at]["operationalState"] == "ENABLED":
		w.WriteHeader(http.StatusConflict)
	default:
		k.packages = slices.Delete(k.packages, at, at+1)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (k *tacker) vim(w http.ResponseWriter, method string, body []byte) {
	var sent struct {
		VIM map[string]any `json:"vim"`
	}
	_ = json.Unmarshal(body, &sent)
	switch method {
	case http.MethodPost:
		sent.VIM["id"] = "vim"
		k.vims = append(k.vims, sent.VIM)
		w.WriteHeader(http.StatusCreated)
	case http.MethodPut:
		k.vims[0]["auth_cred"] = sent.VIM["auth_cred"]
	case http.MethodDelete:
		k.vims = nil
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"vims": append([]map[string]any{}, k.vims...)})
	}
}

// registered has Keystone's catalog name a server as Tacker.
func registered(t *testing.T, sandbox *sandboxtest.Cloud, url string) {
	t.Helper()
	identity := sandbox.Admin.Identity(t)
	made, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "nfv-orchestration", Extra: map[string]any{"name": "tacker"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	o := endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Name: "tacker", Region: "RegionOne", ServiceID: made.ID, URL: url}
	if _, err := endpoints.Create(t.Context(), identity, o).Extract(); err != nil {
		t.Fatal(err)
	}
}

// TestTackerGetsTheManagementCluster twice, with a real API server and Keystone's catalog: one
// VIM, whose token the API server takes, and two packages, which are as Tacker wants them.
func TestTackerGetsTheManagementCluster(t *testing.T) {
	server := kubetest.Start(t) // skips without SLIPWAY_BUNDLE
	sandbox, k := sandboxtest.Start(t), &tacker{}
	front := httptest.NewServer(k)
	t.Cleanup(front.Close)
	registered(t, sandbox, front.URL)
	types, kubeconfig := filepath.Join(t.TempDir(), "samples/Definitions"), filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.MkdirAll(types, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{kubeconfig: server.Kubeconfig, filepath.Join(types, "etsi_nfv_sol001_common_types.yaml"): []byte("description: common\n"),
		filepath.Join(types, "etsi_nfv_sol001_vnfd_types.yaml"): []byte("description: vnfd\n")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := settings(t, map[string]string{"OS_CLIENT_CONFIG_FILE": clouds(t, sandbox), "KEYSTONE_SERVICE_URI": sandbox.URL() + "/identity", "SLIPWAY_MODE": "external",
		"SLIPWAY_KUBECONFIG": kubeconfig, "SLIPWAY_BUNDLE_DIR": os.Getenv("SLIPWAY_BUNDLE"), "SLIPWAY_TACKER": "", "SLIPWAY_TACKER_TYPES": filepath.Dir(filepath.Dir(types)), "SLIPWAY_DNS_NAMESERVERS": "192.0.2.53"})
	if text, err := run(t, "tacker"); err != nil || len(k.vims)+len(k.packages) > 0 {
		t.Fatalf("nobody asked for it: %v, %v\n%s", err, k.vims, text)
	}
	t.Setenv("SLIPWAY_TACKER", "True")
	t.Setenv("SLIPWAY_SMALL_MACHINE", "True")
	if text, err := run(t, "check"); err != nil {
		t.Errorf("with definitions: %v\n%s", err, text)
	}
	t.Setenv("SLIPWAY_TACKER_TYPES", filepath.Join(dir, "none"))
	if text, err := run(t, "check"); err == nil || !strings.Contains(err.Error(), "SLIPWAY_TACKER_TYPES") {
		t.Errorf("without definitions: %v\n%s", err, text)
	}
	t.Setenv("SLIPWAY_TACKER_TYPES", filepath.Dir(filepath.Dir(types)))
	for range 2 {
		if text, err := run(t, "tacker", "--progress", "plain"); err != nil || len(k.vims) != 1 || len(k.packages) != 2 || len(k.content) != 2 {
			t.Fatalf("%v: %d VIMs, %d packages, %d uploads\n%s", err, len(k.vims), len(k.packages), len(k.content), text)
		}
	}
	token, _ := k.vims[0]["auth_cred"].(map[string]any)["bearer_token"].(string)
	for _, content := range k.content {
		if bytes.Contains(content, []byte(token)) || slices.Equal(content, nil) {
			t.Error("a package is empty or holds the token")
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "slipway/tacker-token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token: %v (%v)", info, err)
	}
	leaving(t, dir, k, front)
}

// leaving is unstack with a Tacker that runs, and with one that has ended.
func leaving(t *testing.T, dir string, k *tacker, front *httptest.Server) {
	t.Helper()
	client := clientOf(t, k)
	k.packages = append(k.packages, map[string]any{"id": "other", "vnfdId": "other", "onboardingState": "ONBOARDED", "operationalState": "ENABLED"})
	if text, err := run(t, "unstack"); err != nil || len(k.vims) != 0 || len(k.packages) != 1 || k.packages[0]["id"] != "other" {
		t.Errorf("after unstack: %v, %v, %v\n%s", err, k.vims, k.packages, text)
	}
	refused(t, client)

	// Tacker's plugin, which is the first, has stopped it when unstack.sh calls this one.
	if text, err := run(t, "tacker"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	client = clientOf(t, k)
	front.Close()
	if text, err := run(t, "unstack"); err != nil || !strings.Contains(text, "Tacker does not answer") {
		t.Errorf("without Tacker: %v\n%s", err, text)
	}
	refused(t, client)
	for _, file := range []string{"tacker-token", "tacker-packages"} {
		if _, err := os.Stat(filepath.Join(dir, "slipway", file)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("unstack left %s: %v", file, err)
		}
	}
}

// clientOf is a client with what Tacker has about the cluster.
func clientOf(t *testing.T, k *tacker) *kubernetes.Clientset {
	t.Helper()
	access, _ := k.vims[0]["auth_cred"].(map[string]any)
	token, _ := access["bearer_token"].(string)
	authority, _ := access["ssl_ca_cert"].(string)
	address, _ := k.vims[0]["auth_url"].(string)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(authority)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("Tacker cannot list namespaces, which it does first: %v", err)
	}
	return client
}

// refused waits until the API server has noticed that the token is revoked.
func refused(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		_, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if apierrors.IsUnauthorized(err) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the token that Tacker had is still taken: %v", err)
		}
	}
}
