package seed

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed files
var texts embed.FS

// The modes of files: secret is readable by root only, plain by all, program is executable.
const (
	secret  = "0600"
	plain   = "0644"
	program = "0755"
)

// Files are the seed's own files. The user data writes them at the first boot; later they
// are compared and changed in place, so that a changed setting does not require a new
// server.
func Files(s Settings) ([]File, error) {
	config, err := k3sConfig(s)
	if err != nil {
		return nil, err
	}
	files := []File{
		{Path: "/etc/rancher/k3s/config.yaml.d/10-slipway.yaml", Mode: secret, Content: config, Restarts: true},
		{Path: "/etc/slipway/k3s.sha256", Mode: plain, Content: s.K3sDigest + "  /usr/local/bin/k3s\n", OfImage: true},
		{Path: "/etc/slipway/data-volume", Mode: plain, Content: "DATA_VOLUME=" + s.DataVolumeID + "\n"},
	}
	for _, f := range []File{
		{Path: "/usr/local/sbin/slipway-data-volume", Mode: program},
		{Path: "/usr/local/bin/kubectl", Mode: program},
		{Path: "/etc/systemd/system/slipway-data.service", Mode: plain},
		{Path: "/etc/systemd/system/k3s.service.d/k3s-slipway.conf", Mode: plain, Restarts: true},
		{Path: "/etc/sysctl.d/90-slipway-seed.conf", Mode: plain},
	} {
		text, err := texts.ReadFile("files/" + f.Path[strings.LastIndexByte(f.Path, '/')+1:])
		if err != nil {
			return nil, err
		}
		f.Content = string(text)
		files = append(files, f)
	}
	var optional []File
	if s.Proxy != nil {
		optional = append(optional, File{Path: "/etc/systemd/system/k3s.service.d/proxy.conf", Mode: secret, Content: s.Proxy.unit(s), Restarts: true})
	}
	optional = append(optional, registryFiles(s.Registries)...)
	if len(optional) > 0 {
		optional = append(optional, File{Path: OptionalFiles, Mode: plain, Content: paths(optional)})
	}
	return append(files, optional...), nil
}

// OptionalFiles lists, on the seed, the files that it has because of settings that may be left
// out, one path a line. Those that are listed and not wanted any more are deleted.
const OptionalFiles = "/etc/slipway/optional-files"

func paths(files []File) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f.Path + "\n")
	}
	return b.String()
}

// decided are the settings of k3s that users must not change because Slipway relies on
// them.
func decided() []string {
	return []string{"data-dir", "tls-san", "token", "node-name", "cluster-cidr", "service-cidr", "write-kubeconfig", "write-kubeconfig-mode", "write-kubeconfig-group", "cluster-init", "server"}
}

// k3sConfig is k3s' configuration file. The settings follow k3s' CIS hardening guide as far
// as it applies to a single server without tenants.
func k3sConfig(s Settings) (string, error) {
	config := maps.Clone(s.K3s)
	if config == nil {
		config = map[string]any{}
	}
	for _, key := range decided() {
		if _, given := config[key]; given {
			return "", fmt.Errorf("k3s setting %s: Slipway makes this setting itself", key)
		}
	}
	for key, value := range map[string]any{
		"secrets-encryption":      true,
		"protect-kernel-defaults": true,
		"disable-helm-controller": true, // the seed has no charts
		"flannel-backend":         "host-gw",
		// The seed has no policies, and their controller ends k3s if network interfaces come
		// or go while it starts, as those of pods do when a seed is woken or k3s is restarted
		// ("unable to initialize network policy controller: … failed to get list of links").
		"disable-network-policy": true,
		"egress-selector-mode":   "disabled", // there are no agents to tunnel to
	} {
		if _, given := config[key]; !given {
			config[key] = value
		}
	}
	withTimes(config)
	config["node-name"] = s.Name
	config["tls-san"] = s.Access
	config["write-kubeconfig-mode"] = secret
	config["cluster-cidr"] = s.PodCIDR.String()
	config["service-cidr"] = s.ServiceCIDR.String()
	text, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("k3s configuration: %w", err)
	}
	return string(text), nil
}

// withTimes gives a slow seed time, unless the operator sets one. The API server has five minutes for
// a request, not one: a large definition costs an emulated one a minute of its processor, and what it
// gives up after that is sent again, and costs as much again. The kubelet waits 15 minutes, not two,
// for a container: containerd unpacks its image first, and throws away what it has if it is given up.
// A seed that is not Ready for a while, such as one that was suspended, keeps its pods: after five
// minutes they would be deleted and made again, and there is no other node for them.
func withTimes(config map[string]any) {
	const day = "86400" // seconds
	for _, setting := range [][3]string{
		{"kube-apiserver-arg", "request-timeout", "5m"},
		{"kube-apiserver-arg", "default-not-ready-toleration-seconds", day},
		{"kube-apiserver-arg", "default-unreachable-toleration-seconds", day},
		{"kubelet-arg", "runtime-request-timeout", "15m"},
	} {
		config[setting[0]] = withArgument(config[setting[0]], setting[1]+"=", setting[2])
	}
}

// withArgument are the arguments with one more, unless it is among them.
func withArgument(arguments any, name, value string) any {
	var given []any
	switch some := arguments.(type) {
	case string:
		given = []any{some}
	case []string:
		for _, one := range some {
			given = append(given, one)
		}
	case []any:
		given = some
	}
	for _, one := range given {
		if text, _ := one.(string); strings.HasPrefix(strings.TrimLeft(text, "-"), name) {
			return arguments
		}
	}
	return append(slices.Clone(given), name+value)
}

// unit sets the proxy of k3s and its containerd.
func (p Proxy) unit(s Settings) string {
	var b strings.Builder
	b.WriteString("[Service]\n")
	variables := p.Variables(s.PodCIDR, s.ServiceCIDR)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&b, "Environment=%q\n", name+"="+strings.ReplaceAll(variables[name], "%", "%%"))
	}
	return b.String()
}
