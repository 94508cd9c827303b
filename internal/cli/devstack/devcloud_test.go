package devstack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	cloudlogin "github.com/gophercloud/gophercloud/v2/openstack/config"
	cloudconfig "github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	devcloud "github.com/slipway-sh/slipway/test/devcloud/cloud"
)

// devstackHost is a host of DevStack: the services are those of a devcloud, whose network and
// address the host has.
type devstackHost struct {
	*world
	cloud *devcloud.Cloud
	demo  *devcloud.Project
	// network is the path of the network namespace.
	network string
	// k3s is the program of the management cluster, pods the network that must be let in.
	k3s  string
	pods netip.Prefix
}

// newDevstackHost is a host with its own k3s, which reaches the services as they are.
func newDevstackHost(t *testing.T) *devstackHost {
	t.Helper()
	d := openDevcloud(t)
	d.enter(d.onDevcloud())
	d.serviced = true
	d.kubeconfig, d.k3s, d.pods = d.path("stack/data/slipway/kubeconfig"), d.path("stack/data/slipway/bin/k3s"), netip.MustParsePrefix("10.42.0.0/16")
	return d
}

// openDevcloud finds the devcloud, or skips the test.
func openDevcloud(t *testing.T) *devstackHost {
	t.Helper()
	dir := os.Getenv("SLIPWAY_DEVCLOUD")
	if dir == "" || os.Getenv("SLIPWAY_BUNDLE") == "" {
		t.Skip("SLIPWAY_DEVCLOUD names no devcloud, or SLIPWAY_BUNDLE no bundle: run make devcloud-devstack")
	}
	return onCloudOf(t, dir)
}

// onCloudOf is a host beside the devcloud of a folder.
func onCloudOf(t *testing.T, dir string) *devstackHost {
	t.Helper()
	d := &devstackHost{world: &world{t: t}}
	var err error
	d.cloud, err = devcloud.New(dir)
	d.must(err)
	d.network, err = d.cloud.Network()
	d.must(err)
	d.demo, err = d.cloud.Project(t.Context(), "demo")
	d.must(err)
	d.withoutMagnum(d.login(d.cloud.CloudsYAML(), "devcloud-admin"))
	d.closed()
	return d
}

// enter makes the host, with lines of local.conf.
func (d *devstackHost) enter(on site, local ...string) {
	d.t.Helper()
	d.world = newWorld(d.t, on, local...)
}

// adapted tells k3s what kind of machine this is, by files that k3s reads besides the
// plugin's in the folder of k3s. The disk is shared with all that others keep on it, and root
// may not lower the OOM score of a process everywhere.
func (d *devstackHost) adapted(dir string) {
	d.t.Helper()
	for name, text := range map[string]string{
		"k3s.yaml.d/room.yaml":                         "kubelet-arg: [\"eviction-hard=nodefs.available<1Gi,imagefs.available<1Gi,nodefs.inodesFree<1%,memory.available<100Mi\", image-gc-high-threshold=100]\n",
		"k3s/agent/etc/containerd/config-v3.toml.tmpl": "imports = [\"" + filepath.Join(dir, "room.toml") + "\"]\n{{ template \"base\" . }}\n",
		"room.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n",
	} {
		file := filepath.Join(dir, name)
		d.must(errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
	}
}

// onDevcloud is the devcloud as DevStack would tell of it: the administrator of the whole
// system has no project.
func (d *devstackHost) onDevcloud() site {
	d.t.Helper()
	text, err := os.ReadFile(d.cloud.CloudsYAML())
	d.must(err)
	var file struct {
		Clouds map[string]map[string]any `json:"clouds"`
	}
	d.must(yaml.Unmarshal(text, &file))
	system := maps.Clone(file.Clouds["devcloud-admin"])
	auth := maps.Clone(system["auth"].(map[string]any))
	delete(auth, "project_name")
	delete(auth, "project_domain_id")
	auth["system_scope"] = "all"
	system["auth"] = auth
	text, err = yaml.Marshal(map[string]any{"clouds": map[string]any{
		"devstack": file.Clouds["devcloud"], "devstack-admin": file.Clouds["devcloud-admin"], "devstack-system-admin": system}})
	d.must(err)
	path := filepath.Join(d.t.TempDir(), "clouds.yaml")
	d.must(os.WriteFile(path, text, 0o600))
	return site{admin: d.login(path, "devstack-admin"), member: d.login(path, "devstack"), keystone: "http://" + d.cloud.Address().String() + ":5000/v3", clouds: path,
		host: d.cloud.Address().String(), test: d.cloud.HostAddress().String(), network: d.network,
		// The machine may be busy with other tests.
		variables: []string{"FLOATING_RANGE=" + d.cloud.External().String(), "SERVICE_TIMEOUT=600"}}
}

func (d *devstackHost) login(path, entry string) sandboxtest.Clients {
	d.t.Helper()
	auth, endpoint, trust, err := cloudconfig.Parse(cloudconfig.WithCloudName(entry), cloudconfig.WithLocations(path))
	d.must(err)
	provider, err := cloudlogin.NewProviderClient(d.t.Context(), auth, cloudlogin.WithTLSConfig(trust))
	d.must(err)
	return sandboxtest.NewClients(provider, endpoint)
}

// withoutMagnum takes the devcloud's Magnum away until the test ends: DevStack starts none,
// and the plugin has to make the entry of the catalog.
func (d *devstackHost) withoutMagnum(admin sandboxtest.Clients) {
	d.t.Helper()
	d.magnum("stop")
	d.t.Cleanup(func() { d.magnum("start") })
	identity := admin.Identity(d.t)
	d.noContainers(d.t.Context(), identity)
	d.t.Cleanup(func() {
		ctx := context.Background()
		d.noContainers(ctx, identity) // the plugin's
		made, err := services.Create(ctx, identity, services.CreateOpts{Type: "container-infra", Extra: map[string]any{"name": "magnum"}}).Extract()
		d.must(err)
		for _, face := range []gophercloud.Availability{gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin} {
			o := endpoints.CreateOpts{Availability: face, Name: "magnum", Region: "RegionOne", ServiceID: made.ID, URL: "http://" + d.cloud.Address().String() + ":9511/v1"}
			_, err := endpoints.Create(ctx, identity, o).Extract()
			d.must(err)
		}
	})
}

func (d *devstackHost) magnum(action string) {
	d.t.Helper()
	cmd, err := d.cloud.Command(context.Background(), "supervisorctl", "-c", "/etc/devcloud/supervisord.conf", action, "magnum-api", "magnum-conductor")
	d.must(err)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("supervisorctl %s: %v: %s", action, err, out)
	}
}

// noContainers deletes the service, and with it Keystone deletes its endpoints.
func (d *devstackHost) noContainers(ctx context.Context, identity *gophercloud.ServiceClient) {
	d.t.Helper()
	pages, err := services.List(identity, services.ListOpts{ServiceType: "container-infra"}).AllPages(ctx)
	d.must(err)
	list, err := services.ExtractServices(pages)
	d.must(err)
	for _, service := range list {
		d.must(services.Delete(ctx, identity, service.ID).ExtractErr())
	}
}

// closed makes the host one that lets in nobody but itself and the test, as hosts of Zuul do:
// what pods send must be let in by the plugin. It has a way out, as every host.
func (d *devstackHost) closed() {
	d.t.Helper()
	d.tables()
	d.restored()
	test := d.cloud.HostAddress().String()
	undo := [][]string{}
	for _, step := range [][2]string{
		{"ip route add default via " + test, "ip route del default"},
		{"iptables -w -A INPUT -i lo -j ACCEPT", "iptables -w -D INPUT -i lo -j ACCEPT"},
		{"iptables -w -A INPUT -s " + test + " -j ACCEPT", "iptables -w -D INPUT -s " + test + " -j ACCEPT"},
		{"iptables -w -P INPUT DROP", "iptables -w -P INPUT ACCEPT"},
	} {
		d.inNetwork(strings.Fields(step[0])...)
		undo = append(undo, strings.Fields(step[1]))
	}
	d.t.Cleanup(func() {
		for _, step := range slices.Backward(undo) {
			d.inNetwork(step...)
		}
	})
}

// restored puts the rules and links of now back when the test has ended: a cluster of somebody else
// leaves its own, and the next test has the same network.
func (d *devstackHost) restored() {
	d.t.Helper()
	folder, links := d.t.TempDir(), d.links()
	d.t.Cleanup(func() {
		for { // one by one: the end of a pair takes the other with it
			more := slices.DeleteFunc(d.links(), func(link string) bool { return slices.Contains(links, link) })
			if len(more) == 0 {
				return
			}
			d.inNetwork("ip", "link", "delete", more[0])
		}
	})
	for _, program := range []string{"iptables", "ip6tables"} {
		file := filepath.Join(folder, program)
		d.must(os.WriteFile(file, []byte(d.inNetwork(program+"-save")), 0o600))
		d.t.Cleanup(func() { d.inNetwork(program+"-restore", file) })
	}
}

// links are the names of the network's links.
func (d *devstackHost) links() (all []string) {
	d.t.Helper()
	for line := range strings.Lines(d.inNetwork("ip", "-br", "link")) {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "@") // name@peer
		all = append(all, name)
	}
	return all
}

// tables are there on every host of DevStack, because Neutron and libvirt have rules in them.
// Here the first rule of k3s would make them, and nothing takes an empty one away.
func (d *devstackHost) tables() {
	d.t.Helper()
	for table, chains := range map[string]string{"filter": "INPUT FORWARD OUTPUT", "nat": "PREROUTING INPUT OUTPUT POSTROUTING", "mangle": "PREROUTING INPUT FORWARD OUTPUT POSTROUTING"} {
		for _, chain := range strings.Fields(chains) {
			for _, program := range []string{"iptables", "ip6tables"} {
				d.inNetwork(program, "-w", "-t", table, "-P", chain, "ACCEPT")
			}
		}
	}
}

// inNetwork runs a program of the host's network, outside of the room.
func (d *devstackHost) inNetwork(args ...string) string {
	d.t.Helper()
	out, err := exec.Command("nsenter", append([]string{"--net=" + d.network}, args...)...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// do runs a program in the room.
func (d *devstackHost) do(args ...string) string {
	d.t.Helper()
	cmd := d.room.command(d.t.Context(), args[0], args[1:]...)
	cmd.Env = d.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%q: %v: %s%s\n%s", args, err, out, said.String(), d.logs())
	}
	return string(out)
}

// kubectl is that of the management cluster's k3s, with the plugin's kubeconfig.
func (d *devstackHost) kubectl(args ...string) string {
	d.t.Helper()
	return d.do(d.kubectlWith(d.kubeconfig, args...)...)
}

// kubectlWith is the command line of k3s' kubectl. It unpacks itself into a folder of the test:
// otherwise that would be one of the host, where clean.sh would seem to leave it.
func (d *devstackHost) kubectlWith(kubeconfig string, args ...string) []string {
	return append([]string{"env", "K3S_DATA_DIR=" + d.path("kubectl"), d.k3s, "kubectl", "--kubeconfig", kubeconfig}, args...)
}

// whole are tables whose rows are not of a project; what the plugin adds there stays until
// stack.sh makes the databases anew.
var whole = []string{
	"keystone.user 1=1", "keystone.service 1=1", "keystone.endpoint 1=1", "keystone.application_credential 1=1", "keystone.trust deleted_at IS NULL",
	"nova_api.flavors 1=1", "glance.images deleted = 0", "neutron.networks 1=1", "neutron.ports 1=1", "barbican.secrets deleted = 0",
}

// rows are the numbers of rows in the databases, of the project demo and of all.
func (d *devstackHost) rows() map[string]string {
	d.t.Helper()
	all, err := d.demo.Counts(d.t.Context())
	d.must(err)
	for _, table := range whole {
		all["all: "+table], err = d.demo.Count(d.t.Context(), table)
		d.must(err)
	}
	return all
}

// more are the tables that have other numbers of rows than before, with the difference.
func (d *devstackHost) more(before map[string]string) map[string]string {
	d.t.Helper()
	differ := map[string]string{}
	for table, now := range d.rows() {
		if now != before[table] {
			differ[table] = fmt.Sprintf("%s, %s before", now, before[table])
		}
	}
	return differ
}
