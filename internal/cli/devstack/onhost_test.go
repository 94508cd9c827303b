package devstack_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/component"
)

// patience is how long something may take that others do, on a machine that is busy.
const patience = 6 * time.Minute

// TestPhasesOnADevcloud is TestPhasesOnACloud on the services that stack.sh would have
// started: systemd, iptables, k3s with its node, Cluster API and its provider for OpenStack
// are real, and rows are counted in the services' databases. Only guests boot nothing.
//
// proves: D-06, D-08, D-13, D-14, D-16, D-18, D-19
func TestPhasesOnADevcloud(t *testing.T) {
	d := newDevstackHost(t)
	host, before := d.host(), d.rows()
	fetches := 1 - len(d.nodeImages()) // an earlier run on the devcloud has left the image
	d.adapted(d.path("stack/data/slipway"))
	stack := []string{"stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config"}
	d.phases(stack...)
	d.stacked(0)
	d.node()
	d.versions()
	image := d.nodeImages()[0]
	credential := d.credential()
	d.acceptance(image)
	d.shop()
	d.mine()
	servers := d.servers()

	// Once more, without network and without the secret of the credential. Clusters stay.
	d.web.Close()
	d.conf("OFFLINE=True")
	d.must(os.Remove(d.path("stack/data/slipway/credential/clouds.yaml")))
	d.phases(stack...)
	d.stacked(1)
	if again := d.nodeImages()[0]; again.ID != image.ID || d.requests.uploads != fetches {
		t.Errorf("image %s after %s, fetched %d times", again.ID, image.ID, d.requests.uploads)
	}
	if again := d.credential(); again == credential {
		t.Error("the lost credential is still used")
	}
	if now := d.servers(); !slices.Equal(now, servers) {
		t.Errorf("servers %q became %q", servers, now)
	}

	d.phases("unstack")
	d.ended()
	d.openstack("keypair", "delete", keypair())
	d.counted(before)
	if asked := d.outside.hosts(); len(asked) > 0 {
		t.Errorf("asked for %q", asked)
	}
	d.phases("clean")
	if now := d.host(); now != host {
		t.Errorf("clean left on the host, by lines:\n%s", added(host, now))
	}
}

// stacked checks what there is after each stack.sh.
func (d *devstackHost) stacked(run int) {
	d.t.Helper()
	list := d.nodeImages()
	if len(list) != 1 || list[0].Status != images.ImageStatusActive || list[0].Visibility != images.ImageVisibilityPublic {
		d.t.Fatalf("run %d: images %+v", run, list)
	}
	d.inCatalog(run)
	d.running()
}

// node checks k3s and the file that leads to it.
func (d *devstackHost) node() {
	d.t.Helper()
	if out := d.kubectl("get", "nodes", "--no-headers"); strings.Count(out, "\n") != 1 || strings.Fields(out)[1] != "Ready" {
		d.t.Errorf("nodes:\n%s", out)
	}
	if out := d.kubectl("get", "deployments,daemonsets,services", "--all-namespaces", "--output=name"); strings.Contains(out, "traefik") {
		d.t.Errorf("traefik is there:\n%s", out)
	}
	info, err := os.Stat(d.kubeconfig)
	d.must(err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; info.Mode().Perm() != 0o600 || int(owner) != os.Geteuid() {
		d.t.Errorf("the kubeconfig is %s of user %d", info.Mode(), owner)
	}
}

// versions compares what runs with the table of versions, and looks at what came first: CAPO
// ends without ORC's kinds.
func (d *devstackHost) versions() {
	d.t.Helper()
	v := component.DefaultVersions()
	var list struct {
		Items []struct {
			Metadata struct {
				Name              string
				CreationTimestamp time.Time
			}
			Spec struct {
				Replicas int
				Template struct {
					Spec struct{ Containers []struct{ Image string } }
				}
			}
			Status struct{ UpdatedReplicas, AvailableReplicas int }
		}
	}
	d.must(json.Unmarshal([]byte(d.kubectl("get", "deployments", "--all-namespaces", "--output=json")), &list))
	made, wanted := map[string]time.Time{}, map[string]string{"capi-controller-manager": v.ClusterAPI, "capi-kubeadm-bootstrap-controller-manager": v.ClusterAPI,
		"capi-kubeadm-control-plane-controller-manager": v.ClusterAPI, "capo-controller-manager": v.CAPO, "orc-controller-manager": v.ORC}
	for _, one := range list.Items {
		version, known := wanted[one.Metadata.Name]
		if !known {
			continue
		}
		made[one.Metadata.Name] = one.Metadata.CreationTimestamp
		if image := one.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
			d.t.Errorf("%s is of image %s, the table has %s", one.Metadata.Name, image, version)
		}
		if one.Status.UpdatedReplicas != one.Spec.Replicas || one.Status.AvailableReplicas != one.Spec.Replicas || one.Spec.Replicas == 0 {
			d.t.Errorf("%s is not rolled out: %+v", one.Metadata.Name, one.Status)
		}
	}
	if len(made) != len(wanted) || made["orc-controller-manager"].After(made["capo-controller-manager"]) {
		d.t.Errorf("deployments were made at %v", made)
	}
}

// servers are the running ones of the project, by Nova's database.
func (d *devstackHost) servers() []string {
	d.t.Helper()
	rows, err := d.cloud.Query(d.t.Context(), "nova", fmt.Sprintf("SELECT uuid FROM instances WHERE project_id = '%s' AND deleted = 0 AND vm_state = 'active' ORDER BY uuid", d.demo.ID()))
	d.must(err)
	return rows
}

// counted compares the databases after unstack with those of before: of the project's things
// none is left, and otherwise only what stack.sh finds again, unless an earlier run left that.
func (d *devstackHost) counted(before map[string]string) {
	d.t.Helper()
	expected := map[string]string{}
	for table, rows := range map[string]string{"all: keystone.user 1=1": "2", "all: keystone.service 1=1": "1", "all: keystone.endpoint 1=1": "3", "all: nova_api.flavors 1=1": "1", "all: glance.images deleted = 0": "1"} {
		var was, more int
		_, _ = fmt.Sscan(before[table], &was)
		_, _ = fmt.Sscan(rows, &more)
		expected[table] = fmt.Sprintf("%d, %d before", was+more, was)
	}
	differ := d.more(before)
	for table, rows := range differ {
		if expected[table] != rows {
			d.t.Errorf("unstack left rows: %s: %s", table, rows)
		}
	}
}

// host is what the plugin could leave on a host: files, rules, links, mounts, processes. Not in
// it are logs of pods and states of containers in folders that a second containerd of the host
// would share.
func (d *devstackHost) host() string {
	d.t.Helper()
	return d.do("/bin/bash", "-c", `
find "$WORK/host/etc" "$WORK/host/var" /run ! -type d ! -type c ! -path '/run/systemd/*' ! -path '/run/log/*' |
    grep -vE '/host/var/(log/(pods|containers)|lib/cni)/|^/run/(containerd|netns|nri)/' | sort
for program in iptables ip6tables; do $program-save | grep -v '^#' | sed "s/\[.*\]//; s/^/$program: /" | sort; done
ip -br link | sed 's/ .*//'
cut -d' ' -f2 /proc/self/mounts | grep -vxFf "$WORK/foreign" | sort
find "$WORK/stack" -type f
for process in /proc/[0-9]*; do readlink "$process/exe"; done | grep -vE '/(bash|find|sort|grep|readlink|nsenter|systemd-journald|systemd)$' | sort
true`)
}

// added are the lines that only the second text has, or only the first.
func added(before, after string) string {
	var all []string
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			all = append(all, "+ "+line)
		}
	}
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			all = append(all, "- "+line)
		}
	}
	return strings.Join(all, "")
}
