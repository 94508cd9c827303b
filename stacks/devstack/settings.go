// Package devstack decides what Slipway's devstack plugin does on a devstack host: what
// is checked, started, opened and written. The package is pure but for the parts that take
// a client or a Runner.
package devstack

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// Mode is where the management cluster runs.
type Mode string

// The modes: a service of the host, a container of it, and a cluster that somebody else made.
const (
	K3s      Mode = "k3s"
	Kind     Mode = "kind"
	External Mode = "external"
)

// KindCluster is the name of the cluster of mode kind.
const KindCluster = "slipway-devstack"

// Settings are the decisions of local.conf and of devstack.
type Settings struct {
	Mode Mode
	// Program is the path of this program; Dir holds all that the plugin writes; Bundle
	// is the folder of the bundle; Kubeconfig leads to the management cluster.
	Program, Dir, Bundle, Kubeconfig string
	Offline                          bool
	// HostIP is the host's address; ServiceHost and Protocol are those of public URLs.
	HostIP                netip.Addr
	ServiceHost, Protocol string
	Region, AuthURL       string
	// ServicePassword is the secret of all service users of devstack.
	ServicePassword, ServiceProject, ServiceDomain string
	// CA is a PEM file of the authorities of the cloud; Certificate one of a certificate
	// and its key. Both are empty without devstack's tls-proxy.
	CA, Certificate string
	// FloatingRange is where load balancers of clusters are; FixedRange is that of
	// devstack's own tenant network, if it has one.
	FloatingRange, FixedRange netip.Prefix
	Pods, Services            netip.Prefix
	APIPort, K3sPort          int
	// PublicNetwork is the name of the external network, Flavor that of the nodes.
	PublicNetwork, Flavor string
	NameServers           []string
	Proxy                 seed.Proxy
	Image                 Image
	// SmallMachine accepts a host that is too small.
	SmallMachine bool
	// Tacker asks for the management cluster and its packages in Tacker.
	Tacker bool
	// TackerTypes is a folder at or below which ETSI's definitions are, which packages contain.
	TackerTypes string
}

// Image is where the node image comes from; without a URL it is the bundle's.
type Image struct {
	URL, SHA256, KubernetesVersion, Distro, Version string
}

// reader reads variables and collects what is wrong with them.
type reader struct {
	get   func(string) string
	wrong []error
}

func (r *reader) refuse(name string, cause error, remedy string) {
	r.wrong = append(r.wrong, fault.Usage(name, cause, remedy))
}

func (r *reader) text(name, otherwise string) string { return cmp.Or(r.get(name), otherwise) }

func (r *reader) needed(name string) string {
	value := r.get(name)
	if value == "" {
		r.refuse(name, errors.New("it is empty"), "devstack sets it before it calls plugins; call the plugin by stack.sh")
	}
	return value
}

func (r *reader) port(name string, otherwise int) int {
	text := r.text(name, strconv.Itoa(otherwise))
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		r.refuse(name, fmt.Errorf("%q is not a port", text), fmt.Sprintf("give a number from 1 to 65535, such as %d", otherwise))
	}
	return port
}

func (r *reader) network(name, otherwise string) netip.Prefix {
	text := r.text(name, otherwise)
	if text == "" {
		return netip.Prefix{}
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		r.refuse(name, fmt.Errorf("%q is not a network", text), "give an address with the length of its prefix, such as "+cmp.Or(otherwise, "172.24.4.0/24"))
	}
	return prefix.Masked()
}

func (r *reader) yes(name string) bool {
	switch value := strings.ToLower(r.get(name)); value {
	case "", "0", "no", "false":
		return false
	case "1", "yes", "true":
		return true
	default:
		r.refuse(name, fmt.Errorf("%q is neither True nor False", value), "write True or False")
		return false
	}
}

// Read reads the settings from variables, and reports all mistakes at once.
func Read(get func(string) string) (Settings, error) {
	r := &reader{get: get}
	s := Settings{
		Mode: Mode(r.text("SLIPWAY_MODE", string(K3s))), Program: r.needed("SLIPWAY_BIN"), Dir: r.needed("SLIPWAY_DIR"),
		Bundle: r.needed("SLIPWAY_BUNDLE_DIR"), Offline: r.yes("OFFLINE"),
		ServiceHost: r.needed("SERVICE_HOST"), Protocol: r.text("SERVICE_PROTOCOL", "http"), Region: r.needed("REGION_NAME"), AuthURL: r.needed("KEYSTONE_SERVICE_URI"),
		ServicePassword: r.get("SERVICE_PASSWORD"), ServiceProject: r.text("SERVICE_PROJECT_NAME", "service"), ServiceDomain: r.text("SERVICE_DOMAIN_NAME", "Default"),
		CA: r.get("SLIPWAY_CA"), Certificate: r.get("SLIPWAY_CERTIFICATE"),
		FloatingRange: r.network("FLOATING_RANGE", "172.24.4.0/24"), FixedRange: r.network("FIXED_RANGE", ""),
		Pods: r.network("SLIPWAY_POD_CIDR", "10.42.0.0/16"), Services: r.network("SLIPWAY_SERVICE_CIDR", "10.43.0.0/16"),
		APIPort: r.port("SLIPWAY_API_PORT", 9511), K3sPort: r.port("SLIPWAY_K3S_PORT", 6443),
		PublicNetwork: r.text("PUBLIC_NETWORK_NAME", "public"), Flavor: r.text("SLIPWAY_FLAVOR", FlavorName),
		NameServers: strings.FieldsFunc(r.get("SLIPWAY_DNS_NAMESERVERS"), func(c rune) bool { return c == ',' || c == ' ' }),
		Image: Image{URL: r.get("SLIPWAY_NODE_IMAGE_URL"), SHA256: r.get("SLIPWAY_NODE_IMAGE_SHA256"), KubernetesVersion: r.get("SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION"),
			Distro: r.text("SLIPWAY_NODE_IMAGE_OS_DISTRO", "ubuntu"), Version: r.text("SLIPWAY_NODE_IMAGE_OS_VERSION", "24.04")},
		SmallMachine: r.yes("SLIPWAY_SMALL_MACHINE"), Tacker: r.yes("SLIPWAY_TACKER"), TackerTypes: r.get("SLIPWAY_TACKER_TYPES"),
	}
	host, err := netip.ParseAddr(r.needed("HOST_IP"))
	if err != nil && r.get("HOST_IP") != "" {
		r.refuse("HOST_IP", fmt.Errorf("%q is not an address", r.get("HOST_IP")), "give the host's address")
	}
	s.HostIP = host
	s.Kubeconfig = filepath.Join(s.Dir, "kubeconfig")
	if s.Mode == External {
		s.Kubeconfig = r.get("SLIPWAY_KUBECONFIG")
	}
	s.check(r)
	s.Proxy = seed.Proxy{HTTP: r.get("http_proxy"), HTTPS: r.get("https_proxy"), Bypass: s.direct(r.get("no_proxy"))}
	return s, errors.Join(r.wrong...)
}

// check refuses what contradicts itself.
func (s Settings) check(r *reader) {
	switch s.Mode {
	case K3s, Kind:
	case External:
		if s.Kubeconfig == "" {
			r.refuse("SLIPWAY_KUBECONFIG", errors.New("it is empty"), "name the kubeconfig file of the cluster, such as /etc/kubernetes/admin.conf of devstack-plugin-container")
		}
	default:
		r.refuse("SLIPWAY_MODE", fmt.Errorf("%q is unknown", s.Mode), "use k3s, kind or external")
	}
	if s.Protocol != "http" && s.Protocol != "https" {
		r.refuse("SERVICE_PROTOCOL", fmt.Errorf("%q is unknown", s.Protocol), "use http or https")
	}
	if s.Protocol == "https" && (s.Certificate == "" || s.CA == "") {
		r.refuse("SERVICE_PROTOCOL", errors.New("it is https, and there is no certificate or no authority: DEVSTACK_CERT or SSL_BUNDLE_FILE is empty"), "enable the service tls-proxy, which makes both")
	}
	if keystone := addressOf(s.AuthURL); (s.Mode == K3s || s.Mode == Kind) && keystone.Is6() && s.Pods.Addr().Is4() {
		r.refuse("KEYSTONE_SERVICE_URI", fmt.Errorf("%s is an IPv6 address, and pods of the management cluster have only IPv4", keystone),
			"set SERVICE_IP_VERSION=4, or SLIPWAY_MODE=external with a cluster whose pods have IPv6")
	}
	if i := s.Image; i.URL != "" && (i.SHA256 == "" || i.KubernetesVersion == "") {
		r.refuse("SLIPWAY_NODE_IMAGE_URL", errors.New("the image has no digest or no version"), "set SLIPWAY_NODE_IMAGE_SHA256 and SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION too")
	}
	s.apart(r)
}

// addressOf is the address in a URL, the zero one if it has a name.
func addressOf(text string) netip.Addr {
	u, err := url.Parse(text)
	if err != nil {
		return netip.Addr{}
	}
	address, _ := netip.ParseAddr(u.Hostname()) // a name is none
	return address
}

// apart refuses networks that overlap: packets would then go to the wrong one.
func (s Settings) apart(r *reader) {
	type network struct {
		name   string
		prefix netip.Prefix
	}
	all := []network{{"SLIPWAY_POD_CIDR", s.Pods}, {"SLIPWAY_SERVICE_CIDR", s.Services}, {"FLOATING_RANGE", s.FloatingRange}, {"FIXED_RANGE", s.FixedRange}}
	if s.HostIP.IsValid() {
		all = append(all, network{"HOST_IP", netip.PrefixFrom(s.HostIP, s.HostIP.BitLen())})
	}
	for i, mine := range all[:2] {
		for _, other := range all[i+1:] {
			if mine.prefix.IsValid() && other.prefix.IsValid() && mine.prefix.Overlaps(other.prefix) {
				r.refuse(mine.name, fmt.Errorf("%s overlaps %s, %s", mine.prefix, other.name, other.prefix), "choose another network for "+mine.name)
			}
		}
	}
}

// direct are the hosts and networks without the proxy: the user's, and what is on this
// host (row D-23).
func (s Settings) direct(given string) []string {
	all := strings.FieldsFunc(given, func(c rune) bool { return c == ',' || c == ' ' })
	for _, own := range []string{s.HostIP.String(), s.ServiceHost, s.FloatingRange.String(), s.Pods.String(), s.Services.String()} {
		all = append(all, own)
	}
	if s.FixedRange.IsValid() {
		all = append(all, s.FixedRange.String())
	}
	return all
}

// Endpoint is the public URL of the Magnum API.
func (s Settings) Endpoint() string {
	return fmt.Sprintf("%s://%s:%d/v1", s.Protocol, s.ServiceHost, s.APIPort)
}
