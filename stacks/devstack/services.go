package devstack

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/component"
)

// The services of the plugin as devstack knows them; the unit of each is
// devstack@<name>.service (row D-26).
const (
	ServiceK3s         = "slipway-k3s"
	ServiceAPI         = "slipway-api"
	ServiceControllers = "slipway-controllers"
)

// Services are all of them.
func Services() []string { return []string{ServiceK3s, ServiceAPI, ServiceControllers} }

// Command is a line for devstack's run_process: the program by its absolute path with its
// arguments, and variables as Environment= of systemd takes them.
type Command struct{ Line, Environment string }

// The ports of metrics and of health checks, on the loopback interface.
const (
	apiMetrics        = "127.0.0.1:9512"
	controllerMetrics = "127.0.0.1:9513"
	controllerHealth  = "127.0.0.1:9514"
)

// Command is how a service is started.
func (s Settings) Command(service string) (Command, error) {
	switch service {
	case ServiceK3s:
		// k3s unpacks its programs before it reads the file, and where the file says only if it is
		// told here: otherwise into /var/lib/rancher, where they would stay.
		return s.command([]string{s.K3sProgram(), "server", "--config", s.path("k3s.yaml"), "--data-dir", s.K3sDir()}, nil), nil
	case ServiceAPI:
		return s.command(s.api(), map[string]string{"OS_CLIENT_CONFIG_FILE": s.CloudsFile()}), nil
	case ServiceControllers:
		return s.command(s.controllers(), map[string]string{"OS_CLIENT_CONFIG_FILE": s.CloudsFile()}), nil
	}
	return Command{}, fmt.Errorf("there is no service %q; the services are %s", service, strings.Join(Services(), ", "))
}

func (s Settings) command(line []string, variables map[string]string) Command {
	all := map[string]string{}
	maps.Copy(all, s.ProxyVariables())
	maps.Copy(all, variables)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, fmt.Sprintf("%q", name+"="+strings.ReplaceAll(all[name], "%", "%%")))
	}
	return Command{Line: strings.Join(line, " "), Environment: strings.Join(list, " ")}
}

func (s Settings) api() []string {
	line := []string{s.Program, "serve", "magnum", "--kubeconfig", s.Kubeconfig, "--os-cloud", ServiceUser, "--region", s.Region, "--install-crds",
		"--listen", s.listen(), "--public-endpoint", s.Endpoint(),
		"--metrics-address", apiMetrics, "--log-format", "text", "--auth-url", s.AuthURL}
	if s.CA != "" {
		line = append(line, "--cloud-ca", s.CA)
	}
	if s.Certificate != "" {
		line = append(line, "--tls-cert", s.Certificate, "--tls-key", s.Certificate)
	}
	return line
}

// listen is where the API listens: at the host's address, or at all of them where SERVICE_HOST is
// something else, such as a name, an address of another network, or one of IPv6.
func (s Settings) listen() string {
	if strings.Trim(s.ServiceHost, "[]") != s.HostIP.String() {
		return fmt.Sprintf(":%d", s.APIPort)
	}
	return fmt.Sprintf("%s:%d", listenAt(s.HostIP.String()), s.APIPort)
}

// listenAt writes IPv6 addresses in brackets.
func listenAt(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func (s Settings) controllers() []string {
	line := []string{s.Program, "serve", "controllers", "--kubeconfig", s.Kubeconfig, "--leader-election=false", "--log-format", "text",
		"--metrics-address", controllerMetrics, "--health-address", controllerHealth,
		"--addon-charts", s.ChartsDir(), "--addon-cache", s.path("chart-cache"),
		"--magnum-os-cloud", AdminUser, "--magnum-values", s.path("values.yaml")}
	if s.Offline {
		line = append(line, "--addon-offline")
	}
	return line
}

func (s Settings) path(name string) string { return filepath.Join(s.Dir, name) }

// K3sProgram is where k3s is copied to, out of the bundle.
func (s Settings) K3sProgram() string { return s.path("bin/k3s") }

// K3sDir is where k3s keeps all its data, and ImageArchive what it imports at its start.
func (s Settings) K3sDir() string { return s.path(k3sFolder) }

const k3sFolder = "k3s"

// ImageArchive is the archive of container images that k3s imports when it starts.
func (s Settings) ImageArchive() string { return filepath.Join(s.K3sDir(), "agent/images/slipway.tar") }

// ChartsDir is the folder of charts with their index.
func (s Settings) ChartsDir() string { return s.path("charts") }

// K3sKubeconfig is what k3s writes, for root.
func (s Settings) K3sKubeconfig() string { return s.path("k3s.kubeconfig") }

// k3sConfig is the configuration file of k3s: one node, without what devstack or Slipway
// has of its own.
func (s Settings) k3sConfig() (string, error) {
	pause, _ := component.Find("pause") // it is in the catalogue; k3s' own would be fetched
	text, err := yaml.Marshal(map[string]any{
		"pause-image":             pause.Ref,
		"data-dir":                s.K3sDir(),
		"node-ip":                 s.HostIP.String(),
		"advertise-address":       s.HostIP.String(),
		"bind-address":            s.HostIP.String(),
		"https-listen-port":       s.K3sPort,
		"tls-san":                 []string{s.HostIP.String()},
		"cluster-cidr":            s.Pods.String(),
		"service-cidr":            s.Services.String(),
		"flannel-backend":         "host-gw", // one node: nothing is tunnelled, so the MTU is the host's
		"disable":                 []string{"traefik", "servicelb", "local-storage", "metrics-server"},
		"disable-helm-controller": true,
		"secrets-encryption":      true,
		"egress-selector-mode":    "disabled",
		// The host's interfaces come and go with devstack's and with pods, and the controller of
		// policies, of which there are none, ends k3s if they do while it starts.
		"disable-network-policy": true,
		"write-kubeconfig":       s.K3sKubeconfig(),
		"write-kubeconfig-mode":  "0600",
	})
	if err != nil {
		return "", fmt.Errorf("k3s configuration: %w", err)
	}
	return string(text), nil
}

// ProxyVariables are the variables of the proxy for containers and services, none without
// a proxy (row D-23).
func (s Settings) ProxyVariables() map[string]string {
	if s.Proxy.HTTP == "" && s.Proxy.HTTPS == "" {
		return nil // nothing to bypass
	}
	return s.Proxy.Variables()
}
