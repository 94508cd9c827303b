package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
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
	t.Parallel()
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
	t.Parallel()
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
	if _, err := keypairs.Create(t.Context(), cloud.Member.Compute(t), keypairs.CreateOpts{Name: "theirs"}).Extract(); err != nil {
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
	if _, err := keypairs.Get(t.Context(), cloud.Member.Compute(t), "theirs", nil).Extract(); err != nil {
		t.Errorf("the key pair of a user: %v", err)
	}
}

type orphanData struct {
	Orphans, Deleted []struct{ Type, Name, Cluster, Kept string }
}

// storeOf makes the container of an object store, with an object.
func storeOf(t *testing.T, cloud *sandboxtest.Cloud, owner ownership.Owner) {
	t.Helper()
	client := cloud.Member.ObjectStorage(t)
	check(t, containers.Create(t.Context(), client, "store", containers.CreateOpts{Metadata: map[string]string{"Slipway-Owner": owner.Description()}}).Err)
	check(t, objects.Create(t.Context(), client, "store", "backup", objects.CreateOpts{Content: strings.NewReader("data")}).Err)
}

// TestOperationsOnAnEnvironment looks at certificates, checks a management cluster that has
// no nodes, and sweeps up after a cluster that was lost, but not after one that lives.
//
// proves: S-70, S-77, S-79
func TestOperationsOnAnEnvironment(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	var definitions [][]byte
	for _, text := range addons.Definitions() {
		definitions = append(definitions, text)
	}
	server.Define(t, definitions...)
	client, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	cloud, file := project(t)
	upToTheSeed(t, file)
	withManagement(t, file, server.Kubeconfig)

	certificates := data[struct {
		Certificates []struct{ Cluster, Object, RenewedBy string }
		Ending       int
	}](t, "certs", "-f", file, "-o", "json")
	seen := map[string]bool{}
	for _, c := range certificates.Certificates {
		seen[c.Cluster+" "+c.Object+" "+c.RenewedBy] = true
	}
	if !seen["prod kubeconfig in the state up"] || !seen["prod Secret kube-system/k3s-serving k3s"] || certificates.Ending != 0 {
		t.Errorf("certificates: %+v", certificates)
	}
	if code, out, said := run(t.Context(), "certs", "--within", "400", "-f", file); code != fault.ExitFailure || !strings.Contains(out, "k3s-serving") || !strings.Contains(said, "end within 400 days") {
		t.Errorf("ending certificates: exit code %d\n%s%s", code, out, said)
	}
	if code, _, said := run(t.Context(), "certs", "renew", "none", "--yes", "-f", file); code != fault.ExitUsage || !strings.Contains(said, "cluster none: it does not exist") {
		t.Errorf("renewing none: exit code %d\n%s", code, said)
	}

	junit := filepath.Join(t.TempDir(), "check.xml")
	code, out, said := run(t.Context(), "check", "storage", "--junit", junit, "--step-timeout", "60s", "-f", file)
	text, err := os.ReadFile(junit)
	if code != fault.ExitFailure || !strings.Contains(out, "the cluster has no node") || !strings.Contains(out, "nothing is left") || !strings.Contains(said, "steps failed: nodes") || err != nil || !strings.Contains(string(text), "<failure message=\"the cluster has no node\"") {
		t.Errorf("the check: exit code %d\n%s%s\n%s", code, out, said, text)
	}

	for _, name := range []string{"web", "my-shop"} {
		data[clusterData](t, "cluster", "create", name, "--file", file, "--wait", "none", "-o", "json")
	}
	if none := data[orphanData](t, "sweep", "-f", file, "-o", "json"); len(none.Orphans) != 0 {
		t.Errorf("while all live: %+v", none)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "my-shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); !apierrors.IsNotFound(err); time.Sleep(200 * time.Millisecond) {
		if _, err = client.CoreV1().Namespaces().Get(t.Context(), "my-shop", metav1.GetOptions{}); time.Now().After(end) {
			t.Fatalf("the namespace does not go: %v", err)
		}
	}
	if found := data[orphanData](t, "sweep", "-f", file, "-o", "json"); len(found.Orphans) != 1 || found.Orphans[0].Cluster != "my-shop" || found.Orphans[0].Kept != "" || len(found.Deleted) != 0 {
		t.Errorf("found %+v", found)
	}
	if code, _, said := run(t.Context(), "sweep", "--delete", "-f", file); code != fault.ExitUsage || !strings.Contains(said, "delete these 1 resources") {
		t.Errorf("unasked: exit code %d\n%s", code, said)
	}
	if code, _, said := run(t.Context(), "sweep", "--by-name", "web", "-f", file); code != fault.ExitUsage || !strings.Contains(said, "--by-name web") {
		t.Errorf("the name of one that lives: exit code %d\n%s", code, said)
	}
	storeOf(t, cloud, ownership.New("prod", ownership.ClusterStep("my-shop", "my-shop")))
	if swept := data[orphanData](t, "sweep", "--delete", "--yes", "-f", file, "-o", "json"); len(swept.Deleted) != 0 || len(swept.Orphans) != 2 {
		t.Errorf("swept beside a container with objects: %+v", swept)
	}
	if swept := data[orphanData](t, "sweep", "--delete", "--yes", "--object-stores", "delete", "-f", file, "-o", "json"); len(swept.Deleted) != 2 || len(swept.Orphans) != 0 {
		t.Errorf("swept %+v", swept)
	}
	if again := data[clusterData](t, "cluster", "create", "web", "--file", file, "--wait", "none", "-o", "json"); again.Change != "no changes" {
		t.Errorf("the one that lives is %s", again.Change)
	}
}
