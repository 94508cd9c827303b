package template_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/cli/serve"
	"github.com/slipway-sh/slipway/internal/cli/template"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

const twoTemplates = `apiVersion: slipway.sh/v1alpha1
kind: ClusterTemplates
metadata: {name: standard}
spec:
  defaults: {externalNetwork: public, flavor: m1.medium, masterFlavor: m1.medium, networkDriver: calico, masterLB: true, floatingIP: true, labels: {auto_healing_enabled: "true"}}
  templates:
    - {kubernetesVersion: v1.33.5, image: node-133, settings: {dnsNameserver: "192.0.2.1,192.0.2.2", dockerVolumeSize: 5, volumeDriver: cinder}}
    - {kubernetesVersion: v1.34.2, image: node-134, settings: {flavor: m1.large, labels: {monitoring_enabled: "true"}}}
`

// TestSlipwaysOwnMagnum keeps templates in Slipway's own endpoint on a real API
// server, and looks at them with Debian's client.
func TestSlipwaysOwnMagnum(t *testing.T) {
	server := kubetest.Start(t)
	sandbox := sandboxtest.Start(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("OS_CLIENT_CONFIG_FILE", sandbox.CloudsYAML())
	t.Setenv("HOME", dir)
	for _, name := range []string{"OS_CLOUD", "OS_REGION_NAME", "OS_INTERFACE", "OS_CLIENT_SECURE_FILE"} {
		t.Setenv(name, "")
	}
	for name, version := range map[string]string{"node-133": "v1.33.5", "node-134": "1.34.2", "node-134b": "1.34.2"} {
		upload(t, sandbox.Member.Image(t), name, version)
	}
	write(t, "kubeconfig", server.Kubeconfig)
	endpoint(t, sandbox.Admin.Identity(t), "http://"+serveMagnum(t, "kubeconfig")+"/v1")

	write(t, "templates.yaml", []byte(twoTemplates))
	steps(t, "diff", "create create")
	if rows := listed(t); len(rows) != 0 {
		t.Errorf("diff made %v", rows)
	}
	steps(t, "sync", "create create")
	steps(t, "sync", "keep keep")
	steps(t, "diff", "keep keep")
	rows := listed(t)
	if len(rows) != 2 || rows[0]["kubernetesVersion"] != "1.33.5" || rows[1]["image"] != "node-134" || rows[1]["problem"] != nil {
		t.Errorf("listed %v", rows)
	}
	if shown := client(t, "coe", "cluster", "template", "list", "-f", "value", "-c", "name", "--sort-key", "name"); shown != "kubernetes-1.33.5\nkubernetes-1.34.2\n" {
		t.Errorf("the client lists %q", shown)
	}
	shown := client(t, "coe", "cluster", "template", "show", "kubernetes-1.34.2", "-f", "json")
	for _, want := range []string{`"flavor_id": "m1.large"`, `"network_driver": "calico"`, `"auto_healing_enabled": "true"`, `"monitoring_enabled": "true"`, `"tags": "slipway:set=standard"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("the client shows %s, without %s", shown, want)
		}
	}

	changed := strings.Replace(twoTemplates, "image: node-134,", "image: node-134b,", 1)
	write(t, "templates.yaml", []byte(strings.Replace(changed, "dockerVolumeSize: 5", "dockerVolumeSize: 7", 1)))
	steps(t, "sync", "replace replace")
	if again := listed(t); len(again) != 2 || again[1]["image"] != "node-134b" || again[1]["uuid"] == rows[1]["uuid"] {
		t.Errorf("listed %v", again)
	}
	write(t, "templates.yaml", []byte(twoTemplates[:strings.Index(twoTemplates, "    - {kubernetesVersion: v1.34.2")]+"    - {kubernetesVersion: v1.34.9, image: node-134}\n"))
	text, err := run(t, "sync")
	if fault.ExitCode(err) != fault.ExitPartial || !strings.Contains(err.Error(), "kube_version: it is v1.34.2, expected v1.34.9") || !strings.Contains(text, "retire") {
		t.Errorf("an image of another version: %s (%v)", text, err)
	}
}

// steps runs a command and compares the steps that it tells, sorted by name.
func steps(t *testing.T, verb, want string) {
	t.Helper()
	text, err := run(t, verb, "-o", "json")
	var changes []struct{ Step, UUID string }
	if jsonErr := json.Unmarshal([]byte(text), &changes); err != nil || jsonErr != nil {
		t.Fatalf("%s: %v, %v: %s", verb, err, jsonErr, text)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.Step)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%s told %s, want %s", verb, text, want)
	}
}

func listed(t *testing.T) (rows []map[string]any) {
	t.Helper()
	text, err := run(t, "list", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := template.New(ui.Streams{Out: &out, Err: io.Discard})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--cloud", "sandbox"))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// client runs Debian's openstack command.
func client(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openstack", append([]string{"--os-cloud", "sandbox"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("openstack %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func upload(t *testing.T, client *gophercloud.ServiceClient, name, version string) {
	t.Helper()
	i, err := images.Create(t.Context(), client, images.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw", Properties: map[string]string{"os_distro": "ubuntu", "kube_version": version}}).Extract()
	if err == nil {
		err = imagedata.Upload(t.Context(), client, i.ID, strings.NewReader(name)).ExtractErr()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func endpoint(t *testing.T, identity *gophercloud.ServiceClient, url string) {
	t.Helper()
	service, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra", Extra: map[string]any{"name": "magnum"}}).Extract()
	if err == nil {
		_, err = endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: "RegionOne", URL: url, ServiceID: service.ID}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serveMagnum serves the API as `slipway serve magnum` does, until the test
// ends, and returns its address.
func serveMagnum(t *testing.T, kubeconfig string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	kubeconfig, err = filepath.Abs(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cmd := serve.New(ui.Streams{Err: io.Discard, Out: io.Discard})
	cmd.SetArgs([]string{"magnum", "--kubeconfig", kubeconfig, "--listen", address, "--metrics-address", "0", "--drain-time", "0s", "--os-cloud", "sandbox-admin", "--install-crds"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serving Magnum: %v", err)
		}
	})
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if response, err := http.Get("http://" + address + "/healthcheck"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return address
			}
		}
	}
	t.Fatal("Magnum is not ready")
	return ""
}
