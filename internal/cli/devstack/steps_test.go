package devstack_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cli"
	"github.com/slipway-sh/slipway/internal/cli/devstack"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestMain lets the test's binary be slipway, which the plugin's scripts call.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "slipway" {
		streams := ui.SystemStreams()
		os.Exit(int(cli.Report(streams, cli.Run(context.Background(), streams, os.Args[1:]))))
	}
	os.Exit(m.Run())
}

// settings are the variables of a host in a folder of the test; more wins.
func settings(t *testing.T, more map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	all := map[string]string{"SLIPWAY_BIN": "/opt/stack/bin/slipway", "SLIPWAY_DIR": filepath.Join(dir, "slipway"), "SLIPWAY_BUNDLE_DIR": filepath.Join(dir, "bundle"),
		"SLIPWAY_MODE": "", "SLIPWAY_SMALL_MACHINE": "", "HOST_IP": "192.0.2.7", "SERVICE_HOST": "192.0.2.7", "REGION_NAME": "RegionOne", "KEYSTONE_SERVICE_URI": "http://192.0.2.7/identity",
		"SERVICE_PASSWORD": "hidden", "OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "none.yaml"), "OS_CLOUD": "", "HOME": dir, "http_proxy": "", "https_proxy": "", "no_proxy": "",
		"SLIPWAY_NODE_IMAGE_URL": "https://example.org/x", "SLIPWAY_NODE_IMAGE_SHA256": strings.Repeat("0", 64), "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION": "v1.34.4"}
	maps.Copy(all, more)
	for name, value := range all {
		t.Setenv(name, value)
	}
	return dir
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, said bytes.Buffer
	cmd := devstack.New(ui.Streams{Out: &out, Err: &said})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String() + said.String(), err
}

// TestEarlyStepsNeedNoCloud runs what the phases before extra call, where there is no
// clouds.yaml and no OpenStack.
//
// proves: D-03
func TestEarlyStepsNeedNoCloud(t *testing.T) {
	dir := settings(t, map[string]string{"SLIPWAY_SMALL_MACHINE": "True"})
	for _, args := range [][]string{{"check"}, {"missing"}, {"configure"}, {"command", "slipway-k3s"}, {"command", "slipway-api"}} {
		text, err := run(t, args...)
		if err != nil || strings.Contains(text, "hidden") {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
		switch args[0] {
		case "missing":
			if !strings.Contains(text, "k3s\n") || strings.Contains(text, "node\n") {
				t.Errorf("without a bundle these lack:\n%s", text)
			}
		case "command":
			if !strings.HasPrefix(text, "/") || strings.Count(text, "\n") != 2 {
				t.Errorf("%v: %q", args, text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "slipway/clouds.yaml")); err != nil {
		t.Error(err)
	}
	if _, err := run(t, "equip"); err == nil || fault.Remedy(err) == "" {
		t.Errorf("equip without a bundle: %v", err)
	}
	if _, err := run(t, "command", "nova"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("an unknown service: %v", err)
	}
	if _, err := run(t, "cluster"); err != nil {
		t.Errorf("the step of mode kind in another mode: %v", err)
	}
	t.Setenv("SLIPWAY_MODE", "kind")
	text, err := run(t, "missing")
	if err != nil || !strings.Contains(text, "kind-node\n") || strings.Contains(text, "k3s\n") || strings.Contains(text, "coredns\n") {
		t.Errorf("kind needs: %v\n%s", err, text)
	}
}

// clouds are the entries of devstack's clouds.yaml for a sandbox.
func clouds(t *testing.T, sandbox *sandboxtest.Cloud) string {
	t.Helper()
	text, err := os.ReadFile(sandbox.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Clouds map[string]any `json:"clouds"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"devstack": file.Clouds["sandbox"], "devstack-admin": file.Clouds["sandbox-admin"], "devstack-system-admin": file.Clouds["sandbox-admin"]}
	if text, err = yaml.Marshal(map[string]any{"clouds": all}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// held counts the application credentials of the user demo.
func held(t *testing.T, admin, member sandboxtest.Clients) int {
	t.Helper()
	pages, err := users.List(admin.Identity(t), users.ListOpts{Name: "demo"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := users.ExtractUsers(pages)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v (%v)", list, err)
	}
	pages, err = applicationcredentials.List(member.Identity(t), list[0].ID, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := applicationcredentials.ExtractApplicationCredentials(pages)
	if err != nil {
		t.Fatal(err)
	}
	return len(credentials)
}

func TestPrepareAndUnstack(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	dir := settings(t, map[string]string{"OS_CLIENT_CONFIG_FILE": clouds(t, sandbox), "KEYSTONE_SERVICE_URI": sandbox.URL() + "/identity"})
	for range 2 {
		text, err := run(t, "prepare")
		if want := dir + "/slipway/images.yaml\n" + dir + "/slipway/templates.yaml\n"; err != nil || text != want {
			t.Fatalf("%v: %s", err, text)
		}
		if n := held(t, sandbox.Admin, sandbox.Member); n != 1 {
			t.Errorf("%d credentials", n)
		}
	}
	if _, err := run(t, "tempest"); err == nil || !strings.Contains(err.Error(), "image slipway-node-v1.34.4") {
		t.Errorf("without an image: %v", err)
	}
	for range 2 { // there is no management cluster, as after a stack.sh that failed early
		if text, err := run(t, "unstack"); err != nil || held(t, sandbox.Admin, sandbox.Member) != 0 {
			t.Errorf("%v: %s", err, text)
		}
	}
}
