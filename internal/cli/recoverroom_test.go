package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestARebuildWithoutRoomChangesNothing: all servers of an environment are lost. Where the
// project has no room for the rebuild, and something else has a name and an address that it
// needs, recover says all of it, and leaves the cloud and the state as they are: also the port
// of a lost machine, which it deletes otherwise.
func TestARebuildWithoutRoomChangesNothing(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	w.cores(3)
	_, err := networks.Create(t.Context(), w.cloud.Member.Network(t), networks.CreateOpts{Name: "prod-seed"}).Extract()
	w.ok(err)
	address := w.address(w.port)
	text, err := os.ReadFile(w.file)
	w.ok(err)
	w.ok(os.WriteFile(w.file, []byte(strings.Replace(string(text), "seed: {image: debian}", "seed: {image: debian, floatingIP: {address: "+address+"}}", 1)), 0o600))
	w.refused("quota cores of compute: it needs 12", "only 3 of 3 are free", "9 more",
		"network prod-seed: it has the name of a resource of this environment but not its ownership tag",
		"floating IP "+address+": it is in use by port "+w.port)
}

// lostWorld is an environment of which a state, a backup and the port of a machine are left.
type lostWorld struct {
	*testing.T
	cloud *sandboxtest.Cloud
	// file is the environment file, identity that of the backup's private key.
	file, identity string
	port           string
}

func newLostWorld(t *testing.T) lostWorld {
	t.Helper()
	w := lostWorld{T: t, identity: filepath.Join(t.TempDir(), "key.txt")}
	w.cloud, w.file = project(t)
	upToTheSeed(t, w.file)
	key, err := age.GenerateX25519Identity()
	w.ok(err)
	w.ok(os.WriteFile(w.identity, []byte(key.String()+"\n"), 0o600))
	text, err := os.ReadFile(w.file)
	w.ok(err)
	w.ok(os.WriteFile(w.file, append(text, "  managementCluster: {controlPlane: {count: 3}, image: debian}\n  backup: {target: file://./backups, recipients: ["+key.Recipient().String()+"]}\n"...), 0o600))
	withManagement(t, w.file, []byte("none"))
	w.backup(key)
	for _, s := range listed(t, w.cloud.Member.Compute(t)) {
		deleted(t, w.cloud.Member.Compute(t), s.ID)
	}
	for _, v := range volumesOf(t, w.cloud.Member.BlockStorage(t)) {
		w.ok(volumes.Delete(t.Context(), w.cloud.Member.BlockStorage(t), v.ID, nil).ExtractErr())
	}
	w.port = w.loose()
	return w
}

func (w lostWorld) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// refused runs recover, which has to say the words and to change nothing.
func (w lostWorld) refused(words ...string) {
	w.Helper()
	compute := w.cloud.Member.Compute(w.T)
	state := data[map[string]any](w.T, "state", "export", "-f", w.file)
	code, stdout, stderr := run(w.Context(), "recover", "--yes", "-f", w.file, "--identity", w.identity, "--skip-check", "bundle")
	if code != fault.ExitPreflight {
		w.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, word := range words {
		if !strings.Contains(stderr, word) {
			w.Errorf("no %q in\n%s", word, stderr)
		}
	}
	if now := data[map[string]any](w.T, "state", "export", "-f", w.file); !reflect.DeepEqual(state, now) {
		w.Error("the state was changed")
	}
	if kept, _ := filepath.Glob(filepath.Join(filepath.Dir(w.file), ".slipway", "state-before-rebuild*")); len(kept) > 0 {
		w.Errorf("the state was put away: %v", kept)
	}
	if servers := listed(w.T, compute); len(servers) > 0 {
		w.Errorf("servers were made: %v", servers)
	}
	if _, err := ports.Get(w.Context(), w.cloud.Member.Network(w.T), w.port).Extract(); err != nil {
		w.Errorf("the port of the lost machine: %v", err)
	}
}

// cores sets the quota.
func (w lostWorld) cores(n int) {
	w.Helper()
	text, err := os.ReadFile(w.cloud.CloudsYAML())
	w.ok(err)
	c, err := cloud.Open(w.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	w.ok(err)
	defer c.Close()
	token, err := c.Token()
	w.ok(err)
	_, err = quotasets.Update(w.Context(), w.cloud.Admin.Compute(w.T), token.ProjectID, quotasets.UpdateOpts{Cores: &n}).Extract()
	w.ok(err)
}

// loose makes a port on the environment's network, as Cluster API's provider makes them.
func (w lostWorld) loose() string {
	w.Helper()
	network := w.cloud.Member.Network(w.T)
	pages, err := networks.List(network, networks.ListOpts{Name: "prod-network"}).AllPages(w.Context())
	w.ok(err)
	list, err := networks.ExtractNetworks(pages)
	if err != nil || len(list) != 1 {
		w.Fatalf("networks of the environment: %v, %v", list, err)
	}
	port, err := ports.Create(w.Context(), network, ports.CreateOpts{NetworkID: list[0].ID, Name: "prod-control-plane-a-0"}).Extract()
	w.ok(err)
	tags := ownership.New("prod", stacks.StepManagementCluster).Tags()
	_, err = attributestags.ReplaceAll(w.Context(), network, "ports", port.ID, attributestags.ReplaceAllOpts{Tags: tags}).Extract()
	w.ok(err)
	return port.ID
}

// address is that of a floating IP of a port.
func (w lostWorld) address(port string) string {
	w.Helper()
	network, outside := w.cloud.Member.Network(w.T), true
	pages, err := networks.List(network, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &outside}).AllPages(w.Context())
	w.ok(err)
	list, err := networks.ExtractNetworks(pages)
	if err != nil || len(list) == 0 {
		w.Fatalf("external networks: %v, %v", list, err)
	}
	f, err := floatingips.Create(w.Context(), network, floatingips.CreateOpts{FloatingNetworkID: list[0].ID, PortID: port}).Extract()
	w.ok(err)
	return f.FloatingIP
}

// backup writes one that the environment's management cluster could have made.
func (w lostWorld) backup(reader *age.X25519Identity) {
	w.Helper()
	to, err := target.Open(location.Location{Scheme: location.Folder, Folder: filepath.Join(filepath.Dir(w.file), "backups")}, target.Access{})
	w.ok(err)
	key, err := backup.NewKey()
	w.ok(err)
	r, err := backup.Open(w.Context(), to, backup.Options{Environment: "prod", Now: time.Now, Key: key, Recipients: []string{reader.Recipient().String()}})
	w.ok(err)
	content := recoverytest.New("shop").Snapshot
	content.Environment, content.Taken = "prod", time.Now().Add(-time.Hour)
	_, err = r.Write(w.Context(), content)
	w.ok(err)
}
