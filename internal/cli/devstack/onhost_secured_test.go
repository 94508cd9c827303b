package devstack_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// tenantConfig is where the cloud controller manager and the CSI driver find the Secret
// cloud-config.
const tenantConfig = "/etc/config/"

// TestAClusterOfSomebodyElseBehindTLS stacks on a cluster that another plugin made, on an
// OpenStack whose services are behind a proxy for TLS. The authority of its certificate is in
// SSL_BUNDLE_FILE and nowhere else on the host: Cluster API's provider, the cloud controller
// manager and the CSI driver of a cluster get it from the plugin, and nobody logs in without.
// The other plugin's cluster is afterwards as it was.
//
// proves: D-07, D-24
func TestAClusterOfSomebodyElseBehindTLS(t *testing.T) {
	d := openDevcloud(t)
	f := d.newFront()
	d.opened()
	f.only("10.244.0.0/16")
	d.enter(f.site(d.onDevcloud()), "SLIPWAY_MODE=external", "SLIPWAY_KUBECONFIG="+adminFile)
	d.copied(f.certificates.Bundle, "stack/data/ca-bundle.pem")
	d.copied(f.certificates.Certificate, "stack/data/devstack-cert.pem")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the services answered\n%s", f.callers())
		}
	})
	before := d.rows()
	d.foreign()
	owned, host := d.owned(), d.plugged()

	d.phases("stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config")
	d.stacked(0)
	d.node()
	d.shop()
	d.mine()
	if !f.login("cluster-api-provider-openstack", "10.244.0.") {
		t.Error("Cluster API's provider, in a pod, did not log in by the proxy")
	}
	if !f.answered("slipway", d.site.host) {
		t.Error("the plugin's services did not get through the proxy")
	}
	d.blind()
	d.tenant(f)

	d.phases("unstack")
	d.ended()
	d.openstack("keypair", "delete", keypair())
	d.counted(before)
	d.phases("clean")
	if now := d.owned(); !slices.Equal(now, owned) {
		t.Errorf("the cluster is not as it was, by lines:\n%s", added(strings.Join(owned, "\n")+"\n", strings.Join(now, "\n")+"\n"))
	}
	if now := d.plugged(); now != host {
		t.Errorf("clean left on the host, by lines:\n%s", added(host, now))
	}
}

// copied copies a file into the host's work folder.
func (d *devstackHost) copied(from, name string) {
	d.t.Helper()
	text, err := os.ReadFile(from)
	d.must(err)
	d.must(os.WriteFile(d.path(name), text, 0o600))
}

// blind has a cluster whose Secret is the plugin's but for the authority: nothing of it is
// made. Cluster API's provider keeps its logins by what is in clouds.yaml alone, so that this
// one says more than the plugin's.
func (d *devstackHost) blind() {
	d.t.Helper()
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	d.must(json.Unmarshal([]byte(d.kubectl("get", "secret", "slipway-devstack-cloud", "--output=json")), &secret))
	if len(secret.Data["cacert"]) == 0 {
		d.t.Fatal("the plugin's Secret has no authority")
	}
	text, err := os.ReadFile(d.path("mine.yaml"))
	d.must(err)
	copied, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "blind-cloud", "namespace": "default"},
		"data": map[string][]byte{"clouds.yaml": d.another(secret.Data["clouds.yaml"])}})
	d.must(err)
	objects := strings.NewReplacer("slipway-devstack-cloud", "blind-cloud", "mine", "blind", "10.61.0", "10.63.0").Replace(string(text)) + "---\n" + string(copied) + "\n"
	d.must(os.WriteFile(d.path("blind.yaml"), []byte(objects), 0o600))
	d.applied("blind.yaml")
	d.eventually("the refusal of a cluster without the authority", func() bool {
		said := d.kubectl("--namespace", "capo-system", "logs", "deployment/capo-controller-manager", "--tail=200")
		return slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool {
			return strings.Contains(line, "blind") && strings.Contains(line, "certificate signed by unknown authority")
		})
	}, d.objects)
	// With the authority it can be deleted.
	d.kubectl("patch", "secret", "blind-cloud", "--patch", `{"data": {"cacert": "`+base64.StdEncoding.EncodeToString(secret.Data["cacert"])+`"}}`)
	d.kubectl("delete", "clusters.cluster.x-k8s.io", "blind", "--wait=false")
	d.eventually("the end of a cluster that has the authority now", func() bool {
		return !strings.Contains(d.kubectl("get", "openstackclusters,clusters.cluster.x-k8s.io", "--output=name"), "blind")
	}, d.objects)
	d.kubectl("delete", "secret", "blind-cloud")
}

// another is a clouds.yaml with the same login that is not the same text.
func (d *devstackHost) another(text []byte) []byte {
	d.t.Helper()
	var file struct {
		Clouds map[string]map[string]any `json:"clouds"`
	}
	d.must(yaml.Unmarshal(text, &file))
	for _, entry := range file.Clouds {
		entry["volume_api_version"] = "3"
	}
	other, err := yaml.Marshal(file)
	d.must(err)
	return other
}

// tenant is the control plane of the cluster shop, as its first machine would make it: an API
// server of the cluster's authorities, at its address, with kubeadm's ConfigMap. Then the
// controllers bring the Secret cloud-config, and what reads it logs in.
func (d *devstackHost) tenant(f *front) {
	d.t.Helper()
	var namespace, name, address string
	lines := d.kubectl("get", "clusters.cluster.x-k8s.io", "--all-namespaces", `--output=jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.controlPlaneEndpoint.host}{"\n"}{end}`)
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, "magnum-") {
			_, err := fmt.Sscan(line, &namespace, &name, &address)
			d.must(err)
		}
	}
	folder := d.path("tenant")
	authority := d.secret(d.kubeconfig, namespace, name+"-ca")
	d.must(os.MkdirAll(folder+"/k3s/server/tls", 0o700))
	for _, name := range []string{"server-ca", "client-ca"} {
		d.must(errors.Join(os.WriteFile(folder+"/k3s/server/tls/"+name+".crt", authority["tls.crt"], 0o600), os.WriteFile(folder+"/k3s/server/tls/"+name+".key", authority["tls.key"], 0o600)))
	}
	kubeconfig := folder + "/kubeconfig"
	d.k3sUnit("tenant", folder, map[string]any{"disable-agent": true, "apiserver-port": 6454, "bind-address": address, "advertise-address": address, "node-ip": address, "tls-san": []string{address},
		"flannel-backend": "none", "disable-kube-proxy": true, "disable-scheduler": true, "disable-cloud-controller": true, "write-kubeconfig": kubeconfig,
		"disable":                     []string{"coredns", "traefik", "servicelb", "local-storage", "metrics-server"},
		"kube-controller-manager-arg": []string{"secure-port=0"}})
	inside := func(args ...string) string {
		return d.do(d.kubectlWith(kubeconfig, args...)...)
	}
	inside("--namespace", "kube-system", "create", "configmap", "kubeadm-config")
	d.eventually("the Secret cloud-config", func() bool {
		return strings.Contains(inside("get", "secrets", "--all-namespaces", "--output=name"), "secret/cloud-config")
	}, func() string {
		return d.kubectl("get", "manifests.addons.stackhpc.com,helmreleases.addons.stackhpc.com", "--all-namespaces") + d.objects()
	})
	config := d.secret(kubeconfig, "openstack-system", "cloud-config")
	if !strings.Contains(string(config["cloud.conf"]), "ca-file="+tenantConfig+"cacert\n") {
		d.t.Errorf("cloud.conf is\n%s", config["cloud.conf"])
	}
	for name, content := range config {
		d.enclosed(tenantConfig+name, content)
	}
	d.enclosed("/etc/blind/cloud.conf", []byte(strings.Replace(string(config["cloud.conf"]), "ca-file="+tenantConfig+"cacert\n", "", 1)))
	manager, driver := d.program("openstack-cloud-controller-manager", "/bin/openstack-cloud-controller-manager"), d.program("cinder-csi-plugin", "/bin/cinder-csi-plugin")
	for program, line := range map[string][]string{
		"openstack-cloud-controller-manager": {manager, "--kubeconfig", kubeconfig, "--controllers=service-lb-controller", "--cloud-provider=openstack", "--leader-elect=false", "--cluster-name=shop", "--bind-address=127.0.0.1", "--secure-port=10358"},
		"cinder-csi-plugin":                  {driver, "--endpoint=unix://" + d.path("csi.sock"), "--cluster=shop", "--provide-node-service=false"},
	} {
		d.reader(f, program, line)
	}
	d.do("systemctl", "stop", "tenant.service") // clusters are deleted as they are elsewhere
}

// secret is the data of a Secret.
func (d *devstackHost) secret(kubeconfig, namespace, name string) map[string][]byte {
	d.t.Helper()
	var secret struct{ Data map[string][]byte }
	d.must(json.Unmarshal([]byte(d.do(d.kubectlWith(kubeconfig, "--namespace", namespace, "get", "secret", name, "--output=json")...)), &secret))
	return secret.Data
}

// reader starts a program with cloud.conf, which logs in, and with one that does not name the
// authority, which ends.
func (d *devstackHost) reader(f *front, program string, line []string) {
	d.t.Helper()
	blind := d.room.command(d.t.Context(), "timeout", append([]string{"120"}, append(line, "--cloud-config=/etc/blind/cloud.conf")...)...)
	if out, err := blind.CombinedOutput(); blind.ProcessState.ExitCode() == 124 || !strings.Contains(string(out), "certificate signed by unknown authority") {
		d.t.Errorf("%s without the authority: %v\n%s", program, err, out)
	}
	if f.login(program, d.site.host) {
		d.t.Errorf("%s logged in without the authority", program)
	}
	log := d.path(program + ".log")
	unit := "[Service]\nExecStart=" + strings.Join(line, " ") + " --cloud-config=" + tenantConfig + "cloud.conf\nStandardOutput=file:" + log + "\nStandardError=file:" + log + "\n"
	d.must(os.WriteFile(d.path("systemd/"+program+".service"), []byte(unit), 0o600))
	d.do("systemctl", "daemon-reload")
	d.do("systemctl", "start", program+".service")
	d.eventually(program+" logs in", func() bool { return f.login(program, d.site.host) }, func() string {
		text, _ := os.ReadFile(log)
		return string(text)
	})
	time.Sleep(2 * time.Second) // one that cannot use its login ends
	if d.room.command(d.t.Context(), "systemctl", "is-active", "--quiet", program+".service").Run() != nil {
		text, _ := os.ReadFile(log)
		d.t.Errorf("%s ended:\n%s", program, text)
	}
	d.do("systemctl", "stop", program+".service")
}
