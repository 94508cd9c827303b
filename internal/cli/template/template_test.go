package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// box is a sandbox with an image and with a Magnum that keeps what it is given.
func box(t *testing.T) {
	t.Helper()
	sandbox := sandboxtest.Start(t)
	t.Setenv("OS_CLIENT_CONFIG_FILE", sandbox.CloudsYAML())
	for _, name := range []string{"OS_CLOUD", "OS_REGION_NAME", "OS_INTERFACE", "OS_CLIENT_SECURE_FILE"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir())
	client := sandbox.Member.Image(t)
	i, err := images.Create(t.Context(), client, images.CreateOpts{Name: "node", ContainerFormat: "bare", DiskFormat: "raw", Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := imagedata.Upload(t.Context(), client, i.ID, strings.NewReader("x")).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	list := []map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			var in map[string]any
			_ = json.NewDecoder(r.Body).Decode(&in)
			in["uuid"], in["project_id"] = fmt.Sprintf("uuid-%d", len(list)), i.Owner
			list = append(list, in)
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(in)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"clustertemplates": list})
	}))
	t.Cleanup(server.Close)
	identity := sandbox.Admin.Identity(t)
	service, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: "RegionOne", URL: server.URL + "/v1", ServiceID: service.ID}).Extract(); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, progress bytes.Buffer
	cmd := New(ui.Streams{Out: &out, Err: &progress})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--cloud", "sandbox"))
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDiffSyncList(t *testing.T) {
	box(t)
	text := "apiVersion: slipway.sh/v1alpha1\nkind: ClusterTemplates\nmetadata: {name: a}\nspec:\n  templates:\n    - {kubernetesVersion: v1.34.2, image: node}\n    - {kubernetesVersion: v1.35.0, image: node}\n"
	if err := os.WriteFile("templates.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run(t, "diff"); !strings.Contains(text, "create") || err == nil || !strings.Contains(err.Error(), "kube_version") {
		t.Errorf("diff: %s (%v)", text, err)
	}
	if text, err := run(t, "list"); err != nil || strings.Contains(text, "uuid-0") {
		t.Errorf("diff changed something: %s (%v)", text, err)
	}
	if text, err := run(t, "sync"); !strings.Contains(text, "uuid-0") || fault.ExitCode(err) != fault.ExitPartial {
		t.Errorf("sync: %s (%v)", text, err)
	}
	if text, err := run(t, "list", "-o", "json"); err != nil || !strings.Contains(text, `"kubernetesVersion": "1.34.2"`) || !strings.Contains(text, `"image": "node"`) {
		t.Errorf("list: %s (%v)", text, err)
	}
	if text, err := run(t, "sync"); !strings.Contains(text, "keep") || fault.ExitCode(err) != fault.ExitFailure {
		t.Errorf("sync again: %s (%v)", text, err)
	}
}
