package openstackcluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kubeadm is the kubeadm configuration of the control plane.
func (o objects) kubeadm(t *testing.T) any {
	t.Helper()
	return at(o.get(t, "KubeadmControlPlane control-plane"), "spec", "kubeadmConfigSpec")
}

// file is one of the files of a kubeadm configuration.
func file(t *testing.T, spec any, path string) any {
	t.Helper()
	files, _ := at(spec, "files").([]any)
	for _, file := range files {
		if at(file, "path") == path {
			return file
		}
	}
	return nil
}

func apiServerArguments(t *testing.T, spec any) []string {
	t.Helper()
	return arguments(at(spec, "clusterConfiguration", "apiServer", "extraArgs"))
}

// proves: F86
func TestOIDC(t *testing.T) {
	t.Parallel()
	for _, argument := range apiServerArguments(t, render(t).kubeadm(t)) {
		if strings.HasPrefix(argument, "oidc-") {
			t.Errorf("%s without an issuer", argument)
		}
	}
	got := apiServerArguments(t, render(t, `oidc: {issuerUrl: "https://login", clientId: k8s, groupsClaim: roles}`).kubeadm(t))
	for _, argument := range []string{"oidc-issuer-url=https://login", "oidc-client-id=k8s", "oidc-username-claim=sub", "oidc-username-prefix=oidc:",
		"oidc-groups-claim=roles", "oidc-groups-prefix=oidc:", "oidc-signing-algs=RS256"} {
		if !slices.Contains(got, argument) {
			t.Errorf("no %s in %q", argument, got)
		}
	}
	refuse(t, `oidc: {issuerUrl: "https://login"}`, "oidc.clientId is required")
}

// TestAPIServerResources are a patch for kubeadm, in the folder of a user's own.
//
// proves: S-56
func TestAPIServerResources(t *testing.T) {
	t.Parallel()
	const limits = `apiServer: {resources: {requests: {memory: 512M}, limits: {memory: 6Gi, cpu: "3"}}}`
	for folder, text := range map[string]string{
		"/etc/kubernetes/patches": limits,
		"/mine":                   limits + "\ncontrolPlane: {kubeadmConfigSpec: {initConfiguration: {patches: {directory: /mine}}, joinConfiguration: {patches: {directory: /mine}}}}",
	} {
		spec := render(t, text).kubeadm(t)
		patch, _ := at(file(t, spec, folder+"/kube-apiserver0+strategic.yaml"), "content").(string)
		want(t, values(t, patch), `{spec: {containers: [{name: kube-apiserver, resources: {requests: {memory: 512M}, limits: {memory: 6Gi, cpu: "3"}}}]}}`)
		for _, phase := range []string{"initConfiguration", "joinConfiguration"} {
			want(t, spec, folder, phase, "patches", "directory")
		}
	}
	none := render(t).kubeadm(t)
	want(t, none, `null`, "initConfiguration", "patches")
	if file(t, none, "/etc/kubernetes/patches/kube-apiserver0+strategic.yaml") != nil {
		t.Error("a patch is there without resources")
	}
}

// TestEtcdTuning gives etcd any argument, and a disk of its own.
//
// proves: S-52
func TestEtcdTuning(t *testing.T) {
	t.Parallel()
	spec := render(t, `etcd: {extraArgs: {heartbeat-interval: "250", election-timeout: "2500", snapshot-count: 6400, auto-compaction-mode: periodic, auto-compaction-retention: 8h, unsafe-no-fsync: true}, blockDevice: {size: 10}}`).kubeadm(t)
	got := arguments(at(spec, "clusterConfiguration", "etcd", "local", "extraArgs"))
	for _, argument := range []string{"heartbeat-interval=250", "election-timeout=2500", "snapshot-count=6400", "auto-compaction-mode=periodic",
		"auto-compaction-retention=8h", "unsafe-no-fsync=true", "quota-backend-bytes=4294967296"} {
		if !slices.Contains(got, argument) {
			t.Errorf("no %s in %q", argument, got)
		}
	}
	want(t, spec, `[[LABEL=etcd_disk, /var/lib/etcd]]`, "mounts")
	if got := arguments(at(render(t).kubeadm(t), "clusterConfiguration", "etcd", "local", "extraArgs")); slices.ContainsFunc(got, func(a string) bool { return strings.HasPrefix(a, "unsafe") }) {
		t.Errorf("unsafe without being asked for: %q", got)
	}
}

// TestEtcdPriority is set by a timer, on request only.
func TestEtcdPriority(t *testing.T) {
	t.Parallel()
	spec := render(t, `etcd: {nice: -5}`).kubeadm(t)
	service, _ := at(file(t, spec, "/etc/systemd/system/etcd-priority.service"), "content").(string)
	timer, _ := at(file(t, spec, "/etc/systemd/system/etcd-priority.timer"), "content").(string)
	if !strings.Contains(service, "renice -n -5 -p ") || !strings.Contains(timer, "OnUnitInactiveSec=10s") {
		t.Errorf("service and timer:\n%s\n%s", service, timer)
	}
	commands, _ := at(spec, "preKubeadmCommands").([]any)
	if !slices.Contains(commands, any("systemctl enable --now etcd-priority.timer")) {
		t.Errorf("commands %v", commands)
	}
	if file(t, render(t).kubeadm(t), "/etc/systemd/system/etcd-priority.timer") != nil {
		t.Error("a priority that nobody asked for")
	}
	refuse(t, `etcd: {nice: -21}`, "nice")
}

// TestAdmission mounts the configuration, and rolls the control plane when it changes.
func TestAdmission(t *testing.T) {
	t.Parallel()
	const config = `apiServer: {admissionConfiguration: {PodSecurity: {defaults: {enforce: baseline}}}}`
	all := render(t, config)
	text := secret(t, all, "admission-configuration", "admission-configuration.yaml")
	var document any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	want(t, document, `[{name: PodSecurity, configuration: {defaults: {enforce: baseline}}}]`, "plugins")
	spec := all.kubeadm(t)
	want(t, file(t, spec, "/etc/kubernetes/admission/configuration.yaml"), `{secret: {name: c1-admission-configuration, key: admission-configuration.yaml}}`, "contentFrom")
	if !slices.Contains(apiServerArguments(t, spec), "admission-control-config-file=/etc/kubernetes/admission/configuration.yaml") {
		t.Error("the API server does not read it")
	}
	sum := func(o objects) any { return at(file(t, o.kubeadm(t), "/etc/kubernetes/admission/checksum"), "content") }
	if sum(all) == sum(render(t)) || sum(all) != sum(render(t, config)) {
		t.Error("the checksum does not follow the configuration")
	}
}

// TestCertificatesExpiry has machines replaced before their certificates end, also where the
// values say nothing of it.
func TestCertificatesExpiry(t *testing.T) {
	t.Parallel()
	want(t, render(t).get(t, "KubeadmControlPlane control-plane"), `{certificatesExpiryDays: 30}`, "spec", "rollout", "before")
	want(t, render(t, `controlPlane: {certificatesExpiryDays: 0}`).get(t, "KubeadmControlPlane control-plane"), `null`, "spec", "rollout", "before")
	want(t, render(t, `controlPlane: {certificatesExpiryDays: 21, rolloutStrategy: null}`).get(t, "KubeadmControlPlane control-plane"),
		`{before: {certificatesExpiryDays: 21}}`, "spec", "rollout")
}

// TestEtcdDevice puts etcd on a device of its own, made of a volume or local.
func TestEtcdDevice(t *testing.T) {
	t.Parallel()
	for text, storage := range map[string]string{
		`etcd: {blockDevice: {size: 20, volumeType: ssd}}`: `{type: Volume, volume: {type: ssd, availabilityZone: {from: Machine}}}`,
		`etcd: {blockDevice: {size: 20, type: Local}}`:     `{type: Local}`,
	} {
		all := render(t, text)
		machine := all.template(t, "OpenStackMachineTemplate", "control-plane").Object
		want(t, machine, `[{name: etcd, sizeGiB: 20, storage: `+storage+`}]`, "spec", "template", "spec", "additionalBlockDevices")
		want(t, machine, `true`, "spec", "template", "spec", "configDrive")
		spec := all.kubeadm(t)
		want(t, spec, `{filesystems: [{device: /dev/disk/openstack/by-tag/etcd, filesystem: ext4, label: etcd_disk}]}`, "diskSetup")
		want(t, spec, `[[LABEL=etcd_disk, /var/lib/etcd]]`, "mounts")
		for _, phase := range []string{"initConfiguration", "joinConfiguration"} {
			want(t, spec, `[DirAvailable--var-lib-etcd]`, phase, "nodeRegistration", "ignorePreflightErrors")
		}
		want(t, all.template(t, "OpenStackMachineTemplate", "md-0").Object, `null`, "spec", "template", "spec", "additionalBlockDevices")
	}
	moved := render(t, `etcd: {dataDir: /data/etcd, blockDevice: {size: 1}}`).kubeadm(t)
	want(t, moved, `/data/etcd`, "clusterConfiguration", "etcd", "local", "dataDir")
	want(t, moved, `[DirAvailable--data-etcd]`, "initConfiguration", "nodeRegistration", "ignorePreflightErrors")
	want(t, render(t).kubeadm(t), `null`, "diskSetup")
}

// TestDeviceLinks finds a tagged device by its serial number, as virtio and SCSI
// have it, or by its place, and leaves the links of udev's rules.
func TestDeviceLinks(t *testing.T) {
	t.Parallel()
	command, _ := at(render(t, `etcd: {blockDevice: {size: 1}}`).kubeadm(t), "bootCommands", 0).(string)
	const serial = "01234567-89ab-cdef-0123-456789abcdef"
	for name, c := range map[string]struct{ device, link string }{
		"virtio": {`{"type": "disk", "serial": "` + serial + `", "tags": ["etcd"]}`, "by-id/virtio-" + serial[:20]},
		"scsi":   {`{"serial": "` + serial + `", "tags": ["etcd"]}`, "by-id/scsi-0QEMU_QEMU_HARDDISK_" + serial},
		"local":  {`{"address": "0000:00:06.0", "tags": ["etcd"]}`, "by-path/pci-0000:00:06.0"},
		"rules":  {`{"serial": "` + serial + `", "tags": ["etcd"]}`, "openstack/by-tag/etcd"},
	} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"disk/vdb": "", "disk/vdb1": "", "disk/by-id/virtio-" + serial[:20] + "-part1": "", "disk/by-path/x": "", "disk/openstack/x": "",
			"data.json": `{"ds": {"meta_data": {"devices": [{"type": "nic", "mac": "x"}, ` + c.device + `]}}}`})
		link := filepath.Join(dir, "disk", c.link)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "disk/vdb"), link); err != nil {
			t.Fatal(err)
		}
		run(t, strings.NewReplacer("/run/cloud-init/instance-data.json", dir+"/data.json", "/dev/disk", dir+"/disk").Replace(command))
		if got, err := filepath.EvalSymlinks(filepath.Join(dir, "disk/openstack/by-tag/etcd")); err != nil || got != filepath.Join(dir, "disk/vdb") {
			t.Errorf("%s: the link is to %q (%v)", name, got, err)
		}
	}
	for _, opening := range []string{"{{", "{%", "{#"} {
		if strings.Contains(command, opening) {
			t.Errorf("cloud-init takes %s for a template", opening)
		}
	}
	want(t, render(t, `{osDistro: flatcar, etcd: {blockDevice: {size: 1}}}`).kubeadm(t), `null`, "bootCommands")
}

// TestEncryption renders without a cluster, and runs on a node what puts the
// key in place: given in base64, or as it is.
func TestEncryption(t *testing.T) {
	t.Parallel()
	spec := render(t, `etcd: {encryption: {enabled: true, resources: [secrets, configmaps]}}`).kubeadm(t)
	want(t, file(t, spec, "/etc/kubernetes/encryption/key"), `{secret: {name: c1-etcd-key, key: key}}`, "contentFrom")
	if !slices.Contains(apiServerArguments(t, spec), "encryption-provider-config=/etc/kubernetes/encryption/configuration.yaml") {
		t.Error("the API server does not read it")
	}
	content, _ := at(file(t, spec, "/etc/kubernetes/encryption/configuration.yaml"), "content").(string)
	command, _ := at(spec, "preKubeadmCommands", 0).(string)
	for key, written := range map[string]string{
		"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=":   "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
		"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
		"01234567890123456789012345678901":               "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
	} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"key": key, "configuration.yaml": content})
		run(t, strings.ReplaceAll(command, "/etc/kubernetes/encryption", dir))
		var document any
		if err := yaml.Unmarshal([]byte(get(t, dir, "configuration.yaml")), &document); err != nil {
			t.Fatal(err)
		}
		want(t, document, `[secrets, configmaps]`, "resources", 0, "resources")
		want(t, document, `[{secretbox: {keys: [{name: key1, secret: `+written+`}]}}, {identity: {}}]`, "resources", 0, "providers")
		if _, err := os.Stat(filepath.Join(dir, "key")); err == nil {
			t.Error("the key is left")
		}
	}
	want(t, file(t, render(t, `etcd: {encryption: {enabled: true, secretName: mine, secretKey: k}}`).kubeadm(t), "/etc/kubernetes/encryption/key"),
		`{secret: {name: mine, key: k}}`, "contentFrom")
}

// TestKubeProxyConfiguration is added where kubeadm init reads it, and only there.
func TestKubeProxyConfiguration(t *testing.T) {
	t.Parallel()
	spec := render(t).kubeadm(t)
	commands, _ := at(spec, "preKubeadmCommands").([]any)
	content, _ := at(file(t, spec, "/etc/kube-proxy-configuration.yaml"), "content").(string)
	for config, added := range map[string]bool{"kind: InitConfiguration\n": true, "kind: JoinConfiguration\n": false} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"kubeadm.yaml": config, "kube-proxy-configuration.yaml": content})
		command := strings.NewReplacer("/run/kubeadm", dir, "/etc/kube", dir+"/kube").Replace(commands[len(commands)-1].(string))
		run(t, command)
		if got := get(t, dir, "kubeadm.yaml"); strings.Contains(got, "\n---\napiVersion: kubeproxy.config.k8s.io/v1alpha1\n") != added || added && !strings.Contains(got, "0.0.0.0:10249") {
			t.Errorf("%s became %s", config, got)
		}
	}
}

// TestMergeOrder joins lists, and lets the user's arguments win.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	spec := render(t, `
additionalPackages: [nfs-common]
trustedCAs: {corp: PEM}
controlPlane:
  kubeadmConfigSpec:
    preKubeadmCommands: [echo mine]
    files: [{path: /mine, content: x}]
    clusterConfiguration:
      apiServer: {extraArgs: [{name: v, value: "9"}, {name: service-account-issuer, value: a}, {name: service-account-issuer, value: b}]}
      controllerManager: {extraArgs: {bind-address: 127.0.0.1}}
`).kubeadm(t)
	got := apiServerArguments(t, spec)
	for _, argument := range []string{"v=9", "service-account-issuer=a", "service-account-issuer=b"} {
		if !slices.Contains(got, argument) {
			t.Errorf("no %s in %q", argument, got)
		}
	}
	if got := arguments(at(spec, "clusterConfiguration", "controllerManager", "extraArgs")); !slices.Equal(got, []string{"bind-address=127.0.0.1", "cloud-provider=external"}) {
		t.Errorf("controller manager: %q", got)
	}
	commands, _ := yaml.Marshal(at(spec, "preKubeadmCommands"))
	order := []string{"update-ca-certificates", "apt install -y nfs-common", "echo mine"}
	last := -1
	for _, command := range order {
		at := strings.Index(string(commands), command)
		if at <= last {
			t.Errorf("%s is not in its place in\n%s", command, commands)
		}
		last = at
	}
	if file(t, spec, "/mine") == nil || file(t, spec, "/usr/local/share/ca-certificates/corp.crt") == nil {
		t.Error("files are lost")
	}
}

// TestAzimuthWebhook writes the structured configuration of authorization.
func TestAzimuthWebhook(t *testing.T) {
	t.Parallel()
	const webhook = `{authWebhook: azimuth-authorization-webhook, azimuthAuthorizationWebhook: {server: "https://azimuth", tls: {cert: PEM}, extraPreFilters: ["'a' in request.groups"]}}`
	for given, apiVersion := range map[string]string{"1.34.4": "apiserver.config.k8s.io/v1", "1.31.0": "apiserver.config.k8s.io/v1beta1"} {
		spec := render(t, webhook, `kubernetesVersion: `+given).kubeadm(t)
		var document any
		content, _ := at(file(t, spec, "/etc/kubernetes/webhook/authorization.yaml"), "content").(string)
		if err := yaml.Unmarshal([]byte(content), &document); err != nil {
			t.Fatalf("%v\n%s", err, content)
		}
		want(t, document, apiVersion, "apiVersion")
		want(t, document, `[{expression: has(request.resourceAttributes)}, {expression: "request.resourceAttributes.namespace in ['kube-system','openstack-system']"}, {expression: "'a' in request.groups"}]`,
			"authorizers", 0, "webhook", "matchConditions")
		want(t, document, `{type: Node, name: node}`, "authorizers", 1)
		want(t, document, `{type: RBAC, name: rbac}`, "authorizers", 2)
	}
	refuse(t, `authWebhook: azimuth-authorization-webhook`, "azimuthAuthorizationWebhook.server is required")
}
