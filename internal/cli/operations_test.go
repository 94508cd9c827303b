package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

func TestWrongUseOfChecksAndCertificates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "slipway.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"days":          {[]string{"certs", "--within", "-1", "-f", file}, []string{"--within", "no number of days"}},
		"two mistakes":  {[]string{"check", "storage", "--skip", "egress", "--egress", "nowhere", "-f", file}, []string{"--skip egress", "--egress nowhere"}},
		"a step's time": {[]string{"check", "quick", "--step-timeout", "0s", "-f", file}, []string{"--step-timeout"}},
		"a check":       {[]string{"check", "quik"}, []string{`unknown command "quik"`, "did you mean quick?"}},
		"two clusters":  {[]string{"check", "quick", "a", "b"}, []string{"slipway check quick --help"}},
		"no cluster":    {[]string{"certs", "renew"}, []string{"slipway certs renew --help"}},
	} {
		code, _, said := run(t.Context(), test.args...)
		if code != fault.ExitUsage {
			t.Errorf("%s: exit code %d\n%s", name, code, said)
		}
		for _, want := range test.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: told %q, without %q", name, said, want)
			}
		}
	}
}

// TestNobodyKnowsWhatLives without an environment, so nothing is an orphan.
func TestNobodyKnowsWhatLives(t *testing.T) {
	_, file := project(t)
	if code, out, said := run(t.Context(), "sweep", "--delete", "--yes", "-f", file); code != fault.ExitFailure || out != "" || !strings.Contains(said, "nobody knows which clusters exist") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
}

type purgeData struct{ Project, Left []struct{ ID, Type string } }

// TestPurge deletes everything in a project, by its ID only, and goes on after a failure.
//
// proves: S-78
func TestPurge(t *testing.T) {
	cloud, file := project(t)
	network := cloud.Member.Network(t)
	n, err := networks.Create(t.Context(), network, networks.CreateOpts{Name: "of somebody"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnets.Create(t.Context(), network, subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.9.0.0/24"}).Extract(); err != nil {
		t.Fatal(err)
	}
	if _, err := ports.Create(t.Context(), network, ports.CreateOpts{NetworkID: n.ID}).Extract(); err != nil {
		t.Fatal(err)
	}
	block := cloud.Member.BlockStorage(t)
	v, err := volumes.Create(t.Context(), block, volumes.CreateOpts{Name: "theirs", Size: 1}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshots.Create(t.Context(), block, snapshots.CreateOpts{VolumeID: v.ID, Name: "theirs", Force: true}).Extract(); err != nil {
		t.Fatal(err)
	}
	if _, err := keypairs.Create(t.Context(), cloud.Member.Compute(t), keypairs.CreateOpts{Name: "a user's"}).Extract(); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{n.ID, "demo", n.ProjectID[:8]} {
		if code, _, said := run(t.Context(), "down", "--yes", "--purge-project", wrong, "-f", file); code != fault.ExitUsage || !strings.Contains(said, "--purge-project") {
			t.Errorf("%s: exit code %d\n%s", wrong, code, said)
		}
	}
	if code, _, said := run(t.Context(), "down", "--purge-project", n.ProjectID, "-f", file); code != fault.ExitUsage || !strings.Contains(said, "1 snapshot, 1 volume, 1 image") || !strings.Contains(said, "not confirmed") {
		t.Errorf("unconfirmed: exit code %d\n%s", code, said)
	}
	if all := data[purgeData](t, "down", "--dry-run", "--purge-project", n.ProjectID, "-f", file, "-o", "json"); len(all.Project) != 6 {
		t.Errorf("would be purged: %+v", all)
	}
	if _, err := cloud.Env.Faults.Add(faultinject.Rule{Service: "volumev3", Method: "DELETE", Path: "/v3/*/volumes/*", Status: http.StatusForbidden}); err != nil {
		t.Fatal(err)
	}
	if code, _, said := run(t.Context(), "down", "--yes", "--purge-project", n.ProjectID, "-f", file); code != fault.ExitPartial || !strings.Contains(said, "volume theirs") {
		t.Errorf("with a failure: exit code %d\n%s", code, said)
	}
	if err := cloud.Env.Faults.Clear(); err != nil {
		t.Fatal(err)
	}
	if left := data[purgeData](t, "down", "--yes", "--purge-project", n.ProjectID, "-f", file, "-o", "json"); len(left.Project) != 0 || len(left.Left) != 0 {
		t.Errorf("left: %+v", left)
	}
	if _, err := keypairs.Get(t.Context(), cloud.Member.Compute(t), "a user's", nil).Extract(); err != nil {
		t.Errorf("the key pair of a user: %v", err)
	}
}
