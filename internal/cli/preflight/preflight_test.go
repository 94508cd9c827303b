package preflight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

// run runs the command against the sandbox with an environment file. The
// process environment names clouds.yaml, so that these tests are one after
// the other.
func run(t *testing.T, sandbox *sandboxtest.Cloud, spec string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("OS_CLIENT_CONFIG_FILE", sandbox.CloudsYAML())
	for _, name := range []string{"OS_CLOUD", "OS_REGION_NAME", "OS_INTERFACE", "OS_CLIENT_SECURE_FILE"} {
		t.Setenv(name, "")
	}
	file := filepath.Join(t.TempDir(), "slipway.yaml")
	text := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\nspec: {cloud: sandbox, " + spec + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := New(ui.Streams{Out: &out, Err: &out}, []string{"network", "seed"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"-f", file}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// calls records what reaches the cloud besides logging in.
func fault403(t *testing.T, sandbox *sandboxtest.Cloud, service, path string) {
	t.Helper()
	if _, err := sandbox.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Path: path, Status: http.StatusForbidden}); err != nil {
		t.Fatal(err)
	}
}

func TestHealthySandbox(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	text, err := run(t, sandbox, "", "-o", "json", "--skip-check", "bundle")
	var result preflight.Result
	if err != nil || json.Unmarshal([]byte(text), &result) != nil || result.Refused() {
		t.Fatalf("printed %s (%v)", text, err)
	}
	if result.Choices.FlavorName != "m1.large" || result.Choices.ExternalNetworkName != "public" || len(result.Quota) < 8 {
		t.Errorf("chosen %+v with quota %+v", result.Choices, result.Quota)
	}
}

// proves: F65
func TestEverythingWrongIsToldBeforeAnythingIsMade(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	setCores(t, sandbox, 2)
	second := external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "internet"}, External: gophercloud.Enabled}
	if _, err := networks.Create(t.Context(), sandbox.Admin.Network(t), second).Extract(); err != nil {
		t.Fatal(err)
	}
	if _, err := networks.Create(t.Context(), sandbox.Member.Network(t), networks.CreateOpts{Name: "prod-network"}).Extract(); err != nil {
		t.Fatal(err)
	}
	fault403(t, sandbox, "volumev3", "/v3/*/types")
	text, err := run(t, sandbox, "seed: {image: absent, availabilityZone: mars}")
	if fault.ExitCode(err) != fault.ExitPreflight {
		t.Errorf("ended with %v", err)
	}
	for _, want := range []string{"there are 2: internet", "image absent", "availability zone mars", "quota cores of compute", "network prod-network", "there is no bundle here",
		"volume types cannot be listed", "fix: ", "4 of 2 ", "0 of 2  (2 missing)"} {
		if !strings.Contains(text, want) {
			t.Errorf("printed\n%s\nwithout %q", text, want)
		}
	}
	page, err := networks.List(sandbox.Admin.Network(t), networks.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := networks.ExtractNetworks(page); err != nil || len(all) != 3 {
		t.Errorf("there are %d networks now (%v)", len(all), err)
	}
}

// setCores changes the quota of the project demo.
func setCores(t *testing.T, sandbox *sandboxtest.Cloud, cores int) {
	t.Helper()
	page, err := projects.List(sandbox.Admin.Identity(t), projects.ListOpts{Name: "demo"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := projects.ExtractProjects(page)
	if err != nil || len(all) != 1 {
		t.Fatalf("projects %v (%v)", all, err)
	}
	if _, err := quotasets.Update(t.Context(), sandbox.Admin.Compute(t), all[0].ID, quotasets.UpdateOpts{Cores: &cores}).Extract(); err != nil {
		t.Fatal(err)
	}
}

func TestSkippedChecksDoNotRefuse(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	text, err := run(t, sandbox, "seed: {image: absent}", "--skip-check", "image,bundle")
	if err != nil || strings.Contains(text, "absent") {
		t.Errorf("printed %s (%v)", text, err)
	}
	if _, err := run(t, sandbox, "", "--skip-check", "imgae"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("unknown check: %v", err)
	}
}

// TestTheCatalogOfAnotherProjectIsAFinding, and an administrator who is none.
func TestTheCatalogOfAnotherProjectIsAFinding(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	const spec = "managementCluster: {controlPlane: {count: 1}}, magnum: {adminCloud: %s}"
	found := func(administrator string, args ...string) []preflight.Finding {
		t.Helper()
		text, err := run(t, sandbox, fmt.Sprintf(spec, administrator), append(args, "-o", "json")...)
		var result preflight.Result
		if broken := json.Unmarshal([]byte(text), &result); broken != nil {
			t.Fatalf("printed %s (%v): %v", text, err, broken)
		}
		return slices.DeleteFunc(result.Findings, func(f preflight.Finding) bool { return f.ID != preflight.CatalogCheck })
	}
	if got := found("sandbox-admin"); len(got) > 0 {
		t.Errorf("a catalog without a Magnum API: %+v", got)
	}
	if got := found("sandbox"); len(got) != 1 || got[0].Level != preflight.Error || got[0].Object != "spec.magnum.adminCloud" || !strings.Contains(got[0].Cause, "not an administrator") {
		t.Errorf("an administrator who is none: %+v", got)
	}
	admin := sandbox.Admin.Identity(t)
	service, err := services.Create(t.Context(), admin, services.CreateOpts{Type: "container-infra", Name: "magnum"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	theirs := ownership.New("stage", stacks.StepMagnumCatalog).DescriptionOf("", "elsewhere")
	endpoint, err := endpoints.Create(t.Context(), admin, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: "RegionOne", URL: "https://stage:9511/v1", ServiceID: service.ID, Description: theirs}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if got := found("sandbox-admin, catalog: false"); len(got) > 0 {
		t.Errorf("an API that will not be in the catalog: %+v", got)
	}
	got := found("sandbox-admin")
	if len(got) != 1 || got[0].Level != preflight.Error || !strings.Contains(got[0].Cause, "environment stage of project elsewhere has it in region RegionOne") || !strings.Contains(got[0].Remedy, "openstack endpoint set --disable for each of "+endpoint.ID) {
		t.Errorf("the catalog of another project: %+v", got)
	}
	if got := found("sandbox-admin", "--skip-check", preflight.CatalogCheck); len(got) > 0 {
		t.Errorf("skipped: %+v", got)
	}
}

func TestCloudThatCannotBeOpened(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	_, err := run(t, sandbox, "region: Mars", "--skip-check", "bundle")
	if fault.ExitCode(err) != fault.ExitPreflight {
		t.Errorf("a region without services: %v", err)
	}
	t.Setenv("HOME", t.TempDir())
	var out bytes.Buffer
	cmd := New(ui.Streams{Out: &out, Err: &out}, nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"-f", filepath.Join(t.TempDir(), "absent.yaml")})
	if err := cmd.ExecuteContext(t.Context()); fault.ExitCode(err) != fault.ExitUsage || !slices.ContainsFunc(fault.All(err), func(e error) bool { return strings.Contains(fault.Remedy(e), "slipway init") }) {
		t.Errorf("no file: %v", err)
	}
}
