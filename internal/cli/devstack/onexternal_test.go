package devstack_test

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/addonprovider/template"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/addonprovider/values"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// TestAnotherClusterBehindTLSOnADevcloud stacks on a cluster that is on the host already, with
// the pod network of devstack-plugin-container's, and with TLS before every service. The cluster
// has nothing of Cluster API at first, and all of it in the second run.
func TestAnotherClusterBehindTLSOnADevcloud(t *testing.T) {
	var proxy *tlsProxy
	kubeconfig := filepath.Join(t.TempDir(), "admin.conf")
	d := newDevstackHost(t, func(d *devstackHost, on *site) []string {
		proxy = newTLSProxy(d)
		proxy.secured(d, on)
		return []string{"SLIPWAY_MODE=external", "SLIPWAY_KUBECONFIG=" + kubeconfig}
	})
	d.kubeconfig, d.k3s, d.pods, d.external = kubeconfig, d.path("other/bin/k3s"), netip.MustParsePrefix("10.244.0.0/24"), true
	proxy.given(d)
	before := d.rows()
	d.other(kubeconfig)
	stack := []string{"stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config"}
	d.phases(stack...)
	d.beside()
	d.versions()
	d.shop()
	d.trusted("shop", proxy.authority)
	d.mine()
	servers := d.servers()
	if said := d.phases(stack...); !strings.Contains(said, "the cluster has Cluster API already") {
		t.Errorf("the second run does not find Cluster API:\n%s", said)
	}
	d.beside()
	if now := d.servers(); len(now) != 1 || now[0] != servers[0] {
		t.Errorf("servers %q became %q", servers, now)
	}
	d.phases("unstack")
	d.ended()
	d.openstack("keypair", "delete", keypair())
	d.counted(before)
	if out := d.kubectl("get", "nodes", "--no-headers"); !strings.Contains(out, " Ready ") {
		t.Errorf("unstack ended the cluster of somebody else:\n%s", out)
	}
	d.phases("clean")
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Errorf("clean removed the kubeconfig of somebody else: %v", err)
	}
	if rules := d.inNetwork("iptables-save"); strings.Contains(rules, devstack.Tag) {
		t.Errorf("clean left rules:\n%s", rules)
	}
}

// other starts a cluster that is none of the plugin's: a k3s in a folder of its own, with the
// networks that kubeadm has in devstack-plugin-container. Container images are there, as if a
// registry had been.
func (d *devstackHost) other(kubeconfig string) {
	d.t.Helper()
	s := devstack.Settings{Mode: devstack.K3s, Dir: d.path("other"), Bundle: os.Getenv("SLIPWAY_BUNDLE"), HostIP: d.cloud.Address(), K3sPort: 7443,
		Pods: netip.MustParsePrefix("10.244.0.0/16"), Services: netip.MustParsePrefix("10.96.0.0/16"), ServicePassword: "none", Image: devstack.Image{URL: "none"}}
	d.must(s.Equip(d.t.Context(), event.Discard{}))
	d.must(s.Configure())
	d.adapted(s.Dir)
	command, err := s.Command(devstack.ServiceK3s)
	d.must(err)
	d.do(append([]string{"systemd-run", "--unit=other", "--property=KillMode=process"}, strings.Fields(command.Line)...)...)
	d.t.Cleanup(func() {
		if _, err := d.room.command(d.t.Context(), "systemctl", "stop", "other").CombinedOutput(); err != nil {
			d.t.Logf("stopping the other cluster: %v", err)
		}
	})
	d.eventually("the kubeconfig of the other cluster", func() bool { _, err := os.Stat(s.K3sKubeconfig()); return err == nil }, func() string { return "" })
	text, err := os.ReadFile(s.K3sKubeconfig())
	d.must(err)
	d.must(os.WriteFile(kubeconfig, text, 0o600))
}

// beside checks what the plugin does beside a cluster of somebody else: no k3s of its own,
// and its pods are let in.
func (d *devstackHost) beside() {
	d.t.Helper()
	if _, err := os.Stat(d.path("stack/data/slipway/k3s")); err == nil || d.is("active", "slipway-k3s") {
		d.t.Error("the plugin has a k3s of its own")
	}
	d.running()
}

// trusted checks that the authority is with the credential of a cluster, which CAPO reads, and
// in what the addon provider writes for the cloud controller manager and the CSI drivers.
func (d *devstackHost) trusted(name string, authority []byte) {
	d.t.Helper()
	var list struct{ Items []unstructured.Unstructured }
	d.must(json.Unmarshal([]byte(d.kubectl("get", "secrets", "--all-namespaces", "--output=json")), &list))
	found := 0
	for _, secret := range list.Items {
		data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
		if strings.HasPrefix(secret.GetName(), name) && data["clouds.yaml"] != "" {
			found++
			if text, err := base64.StdEncoding.DecodeString(data["cacert"]); err != nil || string(text) != string(authority) {
				d.t.Errorf("Secret %s has another authority: %q (%v)", secret.GetName(), text, err)
			}
			d.written(secret.Object, data["cacert"])
		}
	}
	if found != 1 {
		d.t.Errorf("%d Secrets with a credential of %s", found, name)
	}
}

// written renders what the addon provider writes into a cluster for the cloud controller manager
// and the CSI drivers, with the credential of the cluster: nobody boots the cluster's machines.
func (d *devstackHost) written(credential map[string]any, authority string) {
	d.t.Helper()
	var list struct{ Items []v1alpha1.Manifests }
	d.must(json.Unmarshal([]byte(d.kubectl("get", "manifests.addons.stackhpc.com", "--all-namespaces", "--output=json")), &list))
	found := 0
	for _, manifests := range list.Items {
		for _, source := range manifests.Spec.ManifestSources {
			if source.Template == nil || !strings.Contains(*source.Template, "name: cloud-config") {
				continue
			}
			found++
			text, err := template.Render(d.t.Context(), *source.Template, map[string]any{"cloud_identity": values.Of(credential),
				"infra_cluster": values.Of(map[string]any{"status": map[string]any{"network": map[string]any{"name": "any"}}})})
			d.must(err)
			if !strings.Contains(text, "ca-file=/etc/config/cacert") || !strings.Contains(text, "cacert: "+authority) || strings.Contains(text, "tls-insecure") {
				d.t.Errorf("the cloud controller manager is not told of the authority (%d bytes of cloud-config)", len(text))
			}
		}
	}
	if found == 0 {
		d.t.Error("no addon writes the Secret cloud-config")
	}
}
