package devstack_test

import (
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/localseed/localseedtest"
)

// TestAKindClusterOnADevcloud is TestPhasesOnADevcloud in mode kind: the management cluster is
// a container of a real Podman in the network of the host, which lets in what the plugin opens
// and answers to itself. A second stack.sh keeps the container; unstack.sh ends it.
//
// proves: D-07, D-19
func TestAKindClusterOnADevcloud(t *testing.T) {
	d := openDevcloud(t)
	d.lets("-m conntrack --ctstate ESTABLISHED,RELATED")
	d.enter(d.onDevcloud(), "SLIPWAY_MODE=kind")
	d.kubeconfig = d.path("stack/data/slipway/kubeconfig")
	d.podman()
	d.k3sProgram()
	before, host := d.rows(), d.plugged()

	stack := []string{"stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config"}
	d.phases(stack...)
	node, made := d.container()
	d.pods = netip.PrefixFrom(node, node.BitLen()) // what its pods send comes from there
	d.stacked(0)
	d.node()
	d.versions()
	d.shop()
	d.mine()
	servers := d.servers()

	d.web.Close()
	d.conf("OFFLINE=True")
	d.phases(stack...)
	d.stacked(1)
	if _, again := d.container(); again != made {
		t.Errorf("container %s after %s", again, made)
	}
	if now := d.servers(); !slices.Equal(now, servers) {
		t.Errorf("servers %q became %q", servers, now)
	}

	d.phases("unstack")
	d.ended()
	d.openstack("keypair", "delete", keypair())
	d.counted(before)
	d.noContainer()
	d.phases("clean")
	d.noContainer()
	if now := d.plugged(); now != host {
		t.Errorf("clean left on the host, by lines:\n%s", added(host, now))
	}
}

// podman gives the host a Podman of its own, as a user of DevStack may use Docker. It ends with
// the host.
func (d *devstackHost) podman() {
	d.t.Helper()
	dir := d.path("podman")
	d.must(os.Mkdir(dir, 0o755))
	d.env = append(d.env, localseedtest.Podman(d.t, dir, filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "bin", "runc"))...)
	// kind mounts the host's kernel modules, which not every machine has.
	d.do("/bin/bash", "-c", `mkdir -p /run/netns
[[ ! -e /lib/modules ]] || exit 0
mkdir -p "$WORK/host/usr/lib" "$WORK/host/.work/usr/lib"
mount -t overlay overlay -o "lowerdir=/usr/lib,upperdir=$WORK/host/usr/lib,workdir=$WORK/host/.work/usr/lib" /usr/lib
mkdir /usr/lib/modules`)
}

// k3sProgram is where kubectl comes from.
func (d *devstackHost) k3sProgram() {
	d.t.Helper()
	folder, err := bundle.Open(os.Getenv("SLIPWAY_BUNDLE"))
	d.must(err)
	from, err := os.Open(folder.Blob(folder.Bill().Item("k3s").SHA256))
	d.must(err)
	defer from.Close()
	d.k3s = d.path("programs/k3s")
	d.must(os.MkdirAll(filepath.Dir(d.k3s), 0o755))
	to, err := os.OpenFile(d.k3s, os.O_CREATE|os.O_WRONLY, 0o755)
	d.must(err)
	_, err = io.Copy(to, from)
	d.must(err)
	d.must(to.Close())
}

// container is the only one of the host: its address and its ID.
func (d *devstackHost) container() (address netip.Addr, id string) {
	d.t.Helper()
	said := strings.Fields(d.do("podman", "ps", "--all", "--format", "{{.ID}} {{.Names}}"))
	if len(said) != 2 || said[1] != "slipway-devstack-control-plane" {
		d.t.Fatalf("the containers are %q", said)
	}
	address, err := netip.ParseAddr(strings.TrimSpace(d.do("podman", "inspect", "--format", "{{.NetworkSettings.Networks.kind.IPAddress}}", said[0])))
	d.must(err)
	return address, said[0]
}

// noContainer looks for what a kind cluster leaves.
func (d *devstackHost) noContainer() {
	d.t.Helper()
	if left := d.do("podman", "ps", "--all", "--quiet") + d.do("podman", "volume", "ls", "--quiet"); left != "" {
		d.t.Errorf("left of the kind cluster:\n%s", left)
	}
}
