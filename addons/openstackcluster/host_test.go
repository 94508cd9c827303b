package openstackcluster

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// worker is the kubeadm configuration of the workers of a group.
func (o objects) worker(t *testing.T, group string) any {
	t.Helper()
	return at(o.template(t, "KubeadmConfigTemplate", group).Object, "spec", "template", "spec")
}

// hosts are the configurations of control plane and workers.
func (o objects) hosts(t *testing.T) map[string]any {
	t.Helper()
	return map[string]any{"control plane": o.kubeadm(t), "workers": o.worker(t, "md-0")}
}

func commands(spec any) []string {
	var all []string
	list, _ := at(spec, "preKubeadmCommands").([]any)
	for _, command := range list {
		all = append(all, command.(string))
	}
	return all
}

// TestNoThirdParty asks no mirror unless told, and leaves containerd alone then.
func TestNoThirdParty(t *testing.T) {
	t.Parallel()
	for role, spec := range render(t).hosts(t) {
		files, _ := yaml.Marshal(at(spec, "files"))
		if strings.Contains(string(files), "/etc/containerd") {
			t.Errorf("%s: containerd is configured", role)
		}
	}
}

// proves: S-58
func TestMirrors(t *testing.T) {
	t.Parallel()
	all := render(t, `
registryMirrors:
  docker.io: [https://mirror/v2/docker]
  quay.io: {upstream: "https://other.quay", mirrors: [https://one, {url: "https://two", capabilities: [pull], skipVerify: true, overridePath: false}]}
  ghcr.io: null
`)
	for role, spec := range all.hosts(t) {
		want(t, file(t, spec, "/etc/containerd/certs.d/docker.io/hosts.toml"), `|
  server = "https://registry-1.docker.io"

  [host."https://mirror/v2/docker"]
    capabilities = ["pull","resolve"]
    skip_verify = false
    override_path = true
`, "content")
		want(t, file(t, spec, "/etc/containerd/certs.d/quay.io/hosts.toml"), `|
  server = "https://other.quay"

  [host."https://one"]
    capabilities = ["pull","resolve"]
    skip_verify = false
    override_path = true

  [host."https://two"]
    capabilities = ["pull"]
    skip_verify = true
    override_path = false
`, "content")
		if file(t, spec, "/etc/containerd/certs.d/ghcr.io/hosts.toml") != nil {
			t.Error("a mirror is there that was taken away")
		}
		if !slices.Contains(commands(spec), "/etc/containerd/configure-registries.sh") {
			t.Errorf("%s: commands %q", role, commands(spec))
		}
	}
	refuse(t, `registryMirrors: {docker.io: [{capabilities: [pull]}]}`, "docker.io")
}

// TestAuthoritiesOfRegistries are on every node, where hosts.toml names them.
//
// proves: S-58
func TestAuthoritiesOfRegistries(t *testing.T) {
	t.Parallel()
	all := render(t, `
registryMirrors:
  docker.io: [https://plain, {url: "https://mirror", capabilities: [pull], overridePath: false, ca: MIRROR}]
  registry.corp: {ca: CORP}
`)
	for role, spec := range all.hosts(t) {
		const dir = "/etc/containerd/certs.d/"
		for path, certificate := range map[string]string{"docker.io/mirror-1.crt": "MIRROR", "registry.corp/server.crt": "CORP"} {
			want(t, file(t, spec, dir+path), certificate, "content")
		}
		if file(t, spec, dir+"docker.io/mirror-0.crt") != nil || file(t, spec, dir+"docker.io/server.crt") != nil {
			t.Errorf("%s: a certificate that nobody gave", role)
		}
		want(t, file(t, spec, dir+"docker.io/hosts.toml"), `|
  server = "https://registry-1.docker.io"

  [host."https://plain"]
    capabilities = ["pull","resolve"]
    skip_verify = false
    override_path = true

  [host."https://mirror"]
    capabilities = ["pull"]
    skip_verify = false
    override_path = false
    ca = "/etc/containerd/certs.d/docker.io/mirror-1.crt"
`, "content")
		want(t, file(t, spec, dir+"registry.corp/hosts.toml"), `|
  server = "https://registry.corp"
  ca = "/etc/containerd/certs.d/registry.corp/server.crt"
`, "content")
	}
}

// TestRegistryAuth brings credentials in a Secret, and rolls machines with them.
func TestRegistryAuth(t *testing.T) {
	t.Parallel()
	const login = `registryAuth: {docker.io: {username: me, password: "p\"w"}}`
	all := render(t, login)
	text := secret(t, all, "containerd-auth", "auth.toml")
	for _, line := range []string{`[plugins."io.containerd.grpc.v1.cri".registry.configs."docker.io".auth]`,
		`[plugins."io.containerd.grpc.v1.cri".registry.configs."registry-1.docker.io".auth]`, `username = "me"`, `password = "p\"w"`} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	for role, spec := range all.hosts(t) {
		want(t, file(t, spec, "/etc/containerd/auth.toml"), `{secret: {name: c1-containerd-auth, key: auth.toml}}`, "contentFrom")
		want(t, file(t, spec, "/etc/containerd/auth.toml"), `"0600"`, "permissions")
		text, _ := yaml.Marshal(spec)
		if strings.Contains(string(text), `p"w`) {
			t.Errorf("%s: the password is in plain text", role)
		}
	}
	changed := render(t, `registryAuth: {docker.io: {username: me, password: other}}`)
	if changed.template(t, "KubeadmConfigTemplate", "md-0").GetName() == all.template(t, "KubeadmConfigTemplate", "md-0").GetName() {
		t.Error("workers keep the old credentials")
	}
	if at(file(t, changed.kubeadm(t), "/etc/containerd/auth.checksum"), "content") == at(file(t, all.kubeadm(t), "/etc/containerd/auth.checksum"), "content") {
		t.Error("control planes keep the old credentials")
	}
}

// TestContainerdScript runs what nodes run on the configurations of containerd
// 1 and 2, on that of the bundle's image, and on none.
func TestContainerdScript(t *testing.T) {
	t.Parallel()
	spec := render(t, `{registryMirrors: {docker.io: [https://mirror]}, registryAuth: {ghcr.io: {username: u, password: p}}}`)
	script, _ := at(file(t, spec.worker(t, "md-0"), "/etc/containerd/configure-registries.sh"), "content").(string)
	for _, opening := range []string{"{{", "{%", "{#"} {
		if strings.Contains(script, opening) {
			t.Errorf("cloud-init takes %s for a template", opening)
		}
	}
	auth := secret(t, spec, "containerd-auth", "auth.toml")
	const one, two = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images"
	for name, c := range map[string]struct{ config, plugin, path string }{
		"version 2, empty":       {"version = 2\n[plugins.\"" + one + "\".registry]\n      config_path = \"\"\n", one, `config_path = "DIR/certs.d"`},
		"version 2, no path":     {"version = 2\n[plugins.\"" + one + "\".registry]\n  [plugins.\"" + one + "\".registry.headers]\n", one, `config_path = "DIR/certs.d"`},
		"version 2, no registry": {"version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n[plugins.\"" + one + "\"]\n", one, `config_path = "DIR/certs.d"`},
		"version 3, empty":       {"version = 3\n[plugins.'" + two + "'.registry]\n  config_path = ''\n", two, `config_path = "DIR/certs.d"`},
		"version 3, set":         {"version = 3\n[plugins.'" + two + "'.registry]\n  config_path = '/etc/containerd/certs.d'\n", two, `config_path = '/etc/containerd/certs.d'`},
		"none":                   {"", two, `config_path = "DIR/certs.d"`},
		"the bundle's":           {bundleConfig(t), two, `config_path = '/etc/containerd/certs.d'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, bin := t.TempDir(), t.TempDir()
			put(t, dir, map[string]string{"auth.toml": auth, "script": strings.ReplaceAll(script, "/etc/containerd", dir)})
			if c.config != "" {
				put(t, dir, map[string]string{"config.toml": c.config})
			}
			put(t, bin, map[string]string{
				"containerd": "#!/bin/sh\necho \"version = 3\n[plugins.'" + two + "'.registry]\n  config_path = ''\"\n",
				"systemctl":  "#!/bin/sh\necho \"$@\" >> " + dir + "/restarts\n"})
			for range 2 { // the second time there is nothing to do
				run(t, dir+"/script", "PATH="+bin+":/usr/bin:/bin")
			}
			got := get(t, dir, "config.toml")
			if path := strings.ReplaceAll(c.path, "DIR", dir); strings.Count(got, "config_path") != 1 || !strings.Contains(got, path) {
				t.Errorf("no %s in\n%s", path, got)
			}
			if strings.Count(got, `[plugins."`+c.plugin+`".registry.configs."ghcr.io".auth]`) != 1 {
				t.Errorf("no credentials of %s in\n%s", c.plugin, got)
			}
			if get(t, dir, "restarts") != "restart containerd\n" {
				t.Errorf("restarts: %q", get(t, dir, "restarts"))
			}
		})
	}
}

func bundleConfig(t *testing.T) string {
	t.Helper()
	return get(t, filepath.FromSlash("../../internal/bundle/source/machines/node/etc/containerd"), "config.toml")
}

// proves: F23
func TestTrustedCAsAndPackages(t *testing.T) {
	t.Parallel()
	all := render(t, `{trustedCAs: {corp: "PEM\n"}, additionalPackages: [nfs-common, lvm2]}`)
	for role, spec := range all.hosts(t) {
		want(t, file(t, spec, "/usr/local/share/ca-certificates/corp.crt"), `"PEM\n"`, "content")
		got := commands(spec)
		for _, command := range []string{"update-ca-certificates", "systemctl restart containerd", "apt update -y", "apt install -y nfs-common lvm2"} {
			if !slices.Contains(got, command) {
				t.Errorf("%s: no %q in %q", role, command, got)
			}
		}
	}
}

// TestCustomCA is in the credential's Secret, on the nodes, and told to the cloud
// controller manager and the CSI driver; another one replaces each machine once.
//
// proves: S-59
func TestCustomCA(t *testing.T) {
	t.Parallel()
	cluster := func(pem string) objects {
		return render(t, `{cloudCredentialsSecretName: null, clouds: {openstack: {auth: {auth_url: "https://k"}}}, cloudCACert: `+pem+`, trustedCAs: {corp: `+pem+`}}`)
	}
	old, now := cluster("OLD"), cluster("NEW")
	if got := secret(t, now, "cloud-credentials", "cacert"); got != "NEW" {
		t.Errorf("the Secret has %q", got)
	}
	for role, spec := range now.hosts(t) {
		want(t, file(t, spec, "/usr/local/share/ca-certificates/corp.crt"), `NEW`, "content")
		if !slices.Contains(commands(spec), "update-ca-certificates") {
			t.Errorf("%s: it is not trusted: %q", role, commands(spec))
		}
	}
	config, _ := at(applied(t, now, "cloud-config", known(someClouds, map[string]any{"cacert": "TkVX"})).get(t, "Secret cloud-config"), "stringData", "cloud.conf").(string)
	if !strings.Contains(config, "\nca-file=/etc/config/cacert\n") {
		t.Errorf("cloud.conf is\n%s", config)
	}
	for _, release := range []string{"ccm-openstack", "csi-cinder"} {
		want(t, chartValues(t, now, release), `cloud-config`, "secret", "name")
	}
	// A machine is replaced when what it is made from has another name or, of a
	// control plane, another spec.
	for _, kind := range []string{"KubeadmConfigTemplate", "OpenStackMachineTemplate"} {
		before, after := old.template(t, kind, "md-0").GetName(), now.template(t, kind, "md-0").GetName()
		if replaced := before != after; replaced != (kind == "KubeadmConfigTemplate") {
			t.Errorf("%s is now %s, was %s", kind, after, before)
		}
	}
	if again := cluster("NEW").template(t, "KubeadmConfigTemplate", "md-0").GetName(); again != now.template(t, "KubeadmConfigTemplate", "md-0").GetName() {
		t.Error("the same certificate replaces machines again")
	}
}

// TestProxy is for containerd and apt, not for the cluster's own networks.
//
// proves: S-57
func TestProxy(t *testing.T) {
	t.Parallel()
	all := render(t, `{proxy: {httpProxy: "http://p:1", noProxy: [.corp]}, additionalPackages: [x], kubeNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}}`)
	for _, spec := range all.hosts(t) {
		want(t, file(t, spec, "/etc/containerd/proxy.env"), `|
  HTTP_PROXY=http://p:1
  NO_PROXY=localhost,127.0.0.1,127.0.0.0/8,169.254.169.254,169.254.169.254/32,fd00:ec2::254/128,.svc,.svc.cluster,.svc.cluster.local,.cluster.local,10.0.0.0/16,172.24.0.0/13,192.168.3.0/24,.corp
`, "content")
		want(t, file(t, spec, "/etc/apt/apt.conf.d/50-proxy"), `"Acquire::http::Proxy \"http://p:1\";\n"`, "content")
		if file(t, spec, "/etc/systemd/system/kubelet.service.d/50-proxy.conf") != nil {
			t.Error("the kubelet asks the API server by the proxy")
		}
		if got := commands(spec); slices.Index(got, "systemctl daemon-reload") > slices.Index(got, "systemctl restart containerd") {
			t.Errorf("commands %q", got)
		}
	}
}

// TestFlatcar joins by Ignition and takes its name from the metadata.
func TestFlatcar(t *testing.T) {
	t.Parallel()
	all := render(t, `{osDistro: flatcar, trustedCAs: {corp: PEM}, additionalPackages: [x]}`)
	for role, spec := range all.hosts(t) {
		want(t, spec, `ignition`, "format")
		want(t, spec, `${COREOS_OPENSTACK_HOSTNAME}`, "joinConfiguration", "nodeRegistration", "name")
		if file(t, spec, "/etc/ssl/certs/corp.pem") == nil {
			t.Errorf("%s: no certificate", role)
		}
		for _, command := range commands(spec) {
			if strings.HasPrefix(command, "apt") {
				t.Errorf("%s: %s on Flatcar", role, command)
			}
		}
		var units any
		text, _ := at(spec, "ignition", "containerLinuxConfig", "additionalConfig").(string)
		if err := yaml.Unmarshal([]byte(text), &units); err != nil {
			t.Fatal(err)
		}
	}
	if got := commands(all.kubeadm(t)); !strings.Contains(got[len(got)-1], ">> /etc/kubeadm.yml") {
		t.Errorf("commands %q", got)
	}
}

// TestNodes have labels and taints; none are not the defaults.
func TestNodes(t *testing.T) {
	t.Parallel()
	all := render(t, `
controlPlane: {nodeTaints: [], nodeLabels: {a: b}}
nodeGroupDefaults: {nodeTaints: [{key: k, effect: NoSchedule}]}
`)
	for _, phase := range []string{"initConfiguration", "joinConfiguration"} {
		want(t, all.kubeadm(t), `[]`, phase, "nodeRegistration", "taints")
	}
	want(t, all.worker(t, "md-0"), `[{key: k, effect: NoSchedule}]`, "joinConfiguration", "nodeRegistration", "taints")
	registration, _ := at(render(t).kubeadm(t), "joinConfiguration", "nodeRegistration").(map[string]any)
	if _, there := registration["taints"]; there {
		t.Error("kubeadm's own taints are lost")
	}
	if got := arguments(at(all.kubeadm(t), "initConfiguration", "nodeRegistration", "kubeletExtraArgs")); !slices.Contains(got, "node-labels=a=b") {
		t.Errorf("arguments %q", got)
	}
}
