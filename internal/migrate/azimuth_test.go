package migrate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// folder writes files below a folder of the test.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads a result as `slipway up` would.
func load(t *testing.T, r *Result) *config.Environment {
	t.Helper()
	loaded, err := config.Load(filepath.Join(folder(t, r.Files), "slipway.yaml"))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Files["slipway.yaml"])
	}
	return loaded.Environment
}

// notes are what became of the settings, by name.
func notes(r *Result) map[string]Note {
	all := map[string]Note{}
	for _, n := range r.Notes {
		all[n.Setting] = n
	}
	return all
}

// certificate is an authority of nobody, in PEM.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func azimuth() map[string]string {
	return map[string]string{
		"environments/prod/ansible.cfg":                              "[defaults]\ninventory = ../base/inventory,../ha/inventory,./inventory\nhost_key_checking = False\n",
		"environments/base/inventory/group_vars/all.yml":             "infra_network_cidr: 192.168.100.0/24\nazimuth_release_version: 1.2.3\ninfra_flavor_id: from-base\ncapi_cluster_worker_flavor: \"{{ infra_flavor_name }}\"\n",
		"environments/ha/inventory/group_vars/all/ha.yml":            "install_mode: ha\ncapi_cluster_control_plane_count: 3\n",
		"environments/prod/inventory/group_vars/all/variables.yml":   prodVariables,
		"environments/prod/inventory/group_vars/all/secrets.yml":     "\x00GITCRYPT\x00...",
		"environments/prod/inventory/group_vars/all/sops.yml":        "harbor_admin_password: ENC[AES256_GCM]\nsops: {age: []}\n",
		"environments/prod/inventory/group_vars/all/plain.yml":       "harbor_secret_key: do-not-copy\n",
		"environments/prod/inventory/group_vars/all/variables.j2":    "not: read\n",
		"environments/prod/inventory/group_vars/terraform_provision": "x: 1\n",
	}
}

const prodVariables = `infra_external_network_id: 6f7d9a0e
infra_flavor_id: m1.large
infra_network_dns_nameservers: [192.0.2.53]
infra_use_floatingip: true
infra_fixed_floatingip: 203.0.113.9
infra_root_volume_enabled: true
infra_root_volume_size: 60
infra_data_volume_size: "80"
infra_exposed_port_ranges: [{name: http, min: 80, max: 81}]
capi_cluster_control_plane_flavor: m1.xlarge
capi_cluster_worker_count: 5
capi_cluster_worker_failure_domain: null
capi_cluster_root_volume_size: 100
capi_cluster_worker_root_volume_size: 200
capi_cluster_etcd_blockdevice_size: 10
capi_cluster_pods_cidr: 172.20.0.0/16
capi_cluster_apiserver_floating_ip: false
capi_cluster_release_overrides: {addons: {monitoring: {enabled: false}}}
capi_cluster_service_account_enabled: true
capi_cluster_volumes_policy: keep
capi_cluster_registry_mirrors: {docker.io: ["https://mirror.example.org"]}
capi_cluster_kubernetes_version: 1.31.2
terraform_backend_type: http
velero_enabled: true
my_own: 1
`

func TestAzimuthLayers(t *testing.T) {
	t.Parallel()
	files, authority := azimuth(), certificate(t)
	bundle, err := json.Marshal(map[string]any{"trust_bundle": map[string]string{"ours": authority}})
	if err != nil {
		t.Fatal(err)
	}
	files["environments/prod/inventory/group_vars/all/trust.json"] = string(bundle)
	dir := folder(t, files)
	r, err := Azimuth(filepath.Join(dir, "environments/prod"), "")
	if err != nil {
		t.Fatal(err)
	}
	e := load(t, r)
	m := e.Spec.ManagementCluster
	if e.Metadata.Name != "prod" || e.Spec.ExternalNetwork != "6f7d9a0e" || e.Spec.Seed.Flavor != "m1.large" || e.Spec.Seed.RootVolume.SizeGiB != 60 || e.Spec.Seed.DataVolume.SizeGiB != 80 ||
		string(e.Spec.VolumesPolicy) != "keep" || len(e.Spec.Registries["docker.io"].Mirrors) != 1 || filepath.Base(string(e.Spec.CABundle)) != "trust.pem" {
		t.Errorf("%+v\n%s", e.Spec, r.Files["slipway.yaml"])
	}
	if m == nil || m.ControlPlane.Count != 3 || m.ControlPlane.Flavor != "m1.xlarge" || m.ControlPlane.RootVolume.SizeGiB != 100 || m.ControlPlane.EtcdVolume.SizeGiB != 10 ||
		len(m.NodeGroups) != 1 || m.NodeGroups[0].Count != 5 || m.NodeGroups[0].RootVolume.SizeGiB != 200 || m.Kubeconfig.Token == nil {
		t.Errorf("%+v", m)
	}
	text := r.Files["slipway.yaml"]
	for _, want := range []string{"podCIDR: 172.20.0.0/16", "floatingIP: false", "address: 203.0.113.9", "endPort: 81", "cidr: 192.168.100.0/24", "monitoring:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(r.Files["trust.pem"], strings.TrimSpace(authority)) {
		t.Error(r.Files)
	}
	all := notes(r)
	for name, level := range map[string]Level{"infra_flavor_id": Converted, "azimuth_release_version": Dropped, "capi_cluster_worker_flavor": Changed, "secrets.yml": Secret, "sops.yml": Secret,
		"harbor_secret_key": Secret, "terraform_backend_type": Dropped, "velero_enabled": Dropped, "my_own": Dropped, "capi_cluster_kubernetes_version": Dropped, "capi_cluster_release_overrides": Changed,
		"capi_cluster_worker_failure_domain": Converted, "trust_bundle": Converted} {
		if got := all[name]; got.Level != level || got.Origin == "" || level != Converted && got.Text == "" {
			t.Errorf("%s: %+v, want %s", name, got, level)
		}
	}
	if !strings.Contains(all["sops.yml"].Text, "sops") || !strings.Contains(all["secrets.yml"].Text, "git-crypt") || !strings.Contains(all["velero_enabled"].Text, "Velero") {
		t.Errorf("%+v", all)
	}
	for name, file := range r.Files {
		if strings.Contains(file, "do-not-copy") || strings.Contains(file, "ENC[") {
			t.Errorf("%s has a secret", name)
		}
	}
	for _, n := range r.Notes {
		if strings.Contains(n.Text, "do-not-copy") || n.Setting == "not" || n.Setting == "x" {
			t.Errorf("%+v", n)
		}
	}
}

func TestAzimuthWithOneNodeOrBrokenFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"one/inventory/group_vars/all/v.yml": "install_mode: singlenode\ninfra_flavor_id: m1.large\ninfra_use_floatingip: 'no'\ninfra_network_id: mine\ncapi_cluster_control_plane_flavor: m1.xlarge\n",
		"broken/inventory/group_vars/all/v.yml": "a: [1\n", "layers/ansible.cfg": "inventory = ../base/inventory,./inventory\n", "empty/inventory/hosts": "",
		"wrong/inventory/group_vars/all/v.yml": "infra_data_volume_size: plenty\ncapi_cluster_worker_count: some\ninfra_network_mtu: 1400\n", "bad/inventory/group_vars/all/v.yml": "capi_cluster_control_plane_count: 2\n"})
	r, err := Azimuth(filepath.Join(dir, "one"), "my-name")
	if err != nil {
		t.Fatal(err)
	}
	if e := load(t, r); e.Spec.ManagementCluster != nil || e.Metadata.Name != "my-name" || e.Spec.Seed.Network.Existing != "mine" || notes(r)["capi_cluster_control_plane_flavor"].Level != Dropped || string(e.Spec.Seed.FloatingIP.Mode) != "none" {
		t.Errorf("%s\n%+v", r.Files["slipway.yaml"], r.Notes)
	}
	r, err = Azimuth(filepath.Join(dir, "wrong"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"infra_data_volume_size", "capi_cluster_worker_count"} {
		if n := notes(r)[name]; n.Level != Changed || !strings.Contains(n.Text, "write the value yourself") {
			t.Errorf("%+v", n)
		}
	}
	if load(t, r).Spec.Seed.Network.MTU != 1400 {
		t.Error(r.Files["slipway.yaml"])
	}
	for name, want := range map[string]string{"broken": "v.yml", "layers": "../base/inventory", "empty": "no variables", "none": "none", "bad": "controlPlane.count"} {
		_, err := Azimuth(filepath.Join(dir, name), "")
		if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), strings.TrimPrefix(want, "../")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFoldersOfVariables are read as Ansible reads them, wherever the repository is.
func TestFoldersOfVariables(t *testing.T) {
	t.Parallel()
	const all = "[prod]/inventory/group_vars/all/"
	dir := folder(t, map[string]string{all + "10-seed/flavor.yml": "infra_flavor_id: 12345678\ninfra_network_mtu: 1300\n", all + "20.yml": "install_mode: singlenode\ninfra_network_mtu: 1400\n",
		all + ".hidden.yml": "a: [1\n", all + "old.d/v.yml": "a: [1\n"})
	r, err := Azimuth(filepath.Join(dir, "[prod]"), "")
	if err != nil {
		t.Fatal(err)
	}
	if e := load(t, r); e.Metadata.Name != "prod" || e.Spec.Seed.Flavor != "12345678" || e.Spec.Seed.Network.MTU != 1400 {
		t.Errorf("%s", r.Files["slipway.yaml"])
	}
}
