package driver

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// software is what all machines run and log in with.
func (b *builder) software() {
	image := b.resolved().Image
	version := image.KubernetesVersion
	if version == "" {
		// magnum-cluster-api has the version in a label.
		version = strings.TrimPrefix(b.labels.text("", "kube_tag"), "v")
	}
	if version == "" {
		b.refuse("image "+b.template().ImageID, errors.New("its property kube_version is missing"),
			"run openstack image set --property kube_version=v<version in the image> "+b.template().ImageID)
	}
	if image.ID == "" {
		b.refuse("image "+b.template().ImageID, errors.New("it was not found"), "name an image of the project, or a public one, in the template")
	}
	b.set("kubernetesVersion", version)
	b.set("machineImageId", image.ID)
	b.set("osDistro", Distro(image.OSDistro))
	b.setText("machineSSHKeyName", b.Cluster.Spec.Keypair)
	b.set("cloudCredentialsSecretName", b.Cluster.CredentialSecret())
}

// Distro is the chart's name of a distribution. Images of before November 2023
// have capi-kubeadm-cloudinit.
func Distro(name string) string {
	switch name = strings.ToLower(name); name {
	case "", "capi-kubeadm-cloudinit":
		return "ubuntu"
	}
	return name
}

func (b *builder) network() {
	resolved := b.resolved()
	if len(b.template().DNSNameservers) > 0 {
		b.set("clusterNetworking.dnsNameservers", anys(b.template().DNSNameservers))
	}
	b.setText("clusterNetworking.externalNetworkId", resolved.ExternalNetworkID)
	const internal = "clusterNetworking.internalNetwork."
	if resolved.FixedNetworkID != "" {
		b.set(internal+"networkFilter.id", resolved.FixedNetworkID)
	}
	if resolved.FixedNetworkMTU > 0 {
		b.set(internal+"mtu", int64(resolved.FixedNetworkMTU))
	}
	if resolved.FixedSubnetID != "" {
		b.set(internal+"subnetFilter.id", resolved.FixedSubnetID)
	}
	b.set(internal+"nodeCidr", b.labels.text("10.0.0.0/24", "fixed_subnet_cidr"))

	cni := b.cni()
	if pool := b.labels.text("", cni+"_ipv4pool"); pool != "" {
		b.set("kubeNetwork.pods.cidrBlocks", []any{pool})
	}
	if services := b.labels.text("", "service_cluster_ip_range"); services != "" {
		b.set("kubeNetwork.services.cidrBlocks", []any{services})
	}
	b.setText("kubeNetwork.serviceDomain", b.labels.text("", "dns_cluster_domain"))
}

// cni is the network driver; unlike upstream's, the chart has flannel too.
func (b *builder) cni() string { return first(b.template().NetworkDriver, "calico") }

func (b *builder) apiServer() {
	floating, balanced := b.reached()
	b.set("apiServer.enableLoadBalancer", balanced)
	b.set("apiServer.associateFloatingIP", floating)
	b.set("apiServer.loadBalancerProvider", b.labels.text("amphora", "octavia_provider"))
	if cidrs := b.labels.cidrs("api_master_lb_allowed_cidrs"); len(cidrs) > 0 {
		// Charts before April 2026 read the one, later ones the other.
		b.set("apiServer.allowedCidrs", anys(cidrs))
		b.set("apiServer.allowedCIDRs", anys(cidrs))
	}
	if port := b.template().APIServerPort; port != 0 {
		b.set("apiServer.port", int64(port))
	}
	b.setText("apiServer.floatingIP", b.labels.text("", "api_server_floating_ip"))
	b.setText("apiServer.loadBalancer.flavor", b.labels.text("", "api_server_lb_flavor"))
	b.setText("apiServer.loadBalancer.availabilityZone", b.labels.text("", "api_server_lb_availability_zone"))
	if issuer := b.labels.free("oidc_issuer_url"); issuer != "" {
		b.oidc(issuer)
	}
}

// reached is how clients reach the API. The label on floating IPs wins over the
// property. CAPO cannot do without both balancer and floating IP.
func (b *builder) reached() (floating, balanced bool) {
	property := b.template().FloatingIPEnabled
	if own := b.Cluster.Spec.FloatingIPEnabled; own != nil {
		property = *own
	}
	floating = b.labels.boolean(property, "master_lb_floating_ip_enabled")
	balanced = b.template().MasterLBEnabled
	if own := b.Cluster.Spec.MasterLBEnabled; own != nil {
		balanced = *own
	}
	lasting := balanced
	if has, runs := b.Running.balancer(); runs {
		lasting = has // whatever is asked for, see keep
	}
	switch {
	case b.masters() > 1 && !lasting:
		b.refuse("master_lb_enabled", fmt.Errorf("%d control plane nodes need a load balancer", b.masters()), "set master_lb_enabled, or use one control plane node")
	case !balanced && !floating:
		b.warn("property master_lb_enabled", "a load balancer is created anyway: without one the API needs a floating IP")
		balanced = true
	}
	return floating, balanced
}

func (b *builder) oidc(issuer string) {
	b.set("oidc.issuerUrl", issuer)
	id := b.labels.free("oidc_client_id")
	if id == "" {
		b.refuse("label oidc_client_id", errors.New("it is required with oidc_issuer_url"), "set the client's ID")
	}
	b.set("oidc.clientId", id)
	// The defaults are those of magnum-cluster-api, which has these labels.
	for label, setting := range map[string][2]string{
		"oidc_username_claim": {"usernameClaim", "sub"}, "oidc_username_prefix": {"usernamePrefix", "-"},
		"oidc_groups_claim": {"groupsClaim", ""}, "oidc_groups_prefix": {"groupsPrefix", ""},
	} {
		value := b.labels.free(label)
		if value == "" {
			value = setting[1]
		}
		b.set("oidc."+setting[0], value)
	}
}

// properties tells of those that are kept and shown only.
func (b *builder) properties() {
	template := b.template()
	if template.TLSDisabled {
		b.warn("property tls_disabled", "no effect: the API server always has TLS")
	}
	if template.RegistryEnabled {
		b.warn("property registry_enabled", "no effect: install a registry on the cluster")
	}
	b.proxy()
	b.insecureRegistry()
}

func (b *builder) proxy() {
	template := b.template()
	for name, text := range map[string]string{"http_proxy": template.HTTPProxy, "https_proxy": template.HTTPSProxy, "no_proxy": template.NoProxy} {
		if strings.ContainsFunc(text, unicode.IsControl) {
			b.refuse("property "+name, errors.New("it has control characters, such as the end of a line"), "write it on one line")
			return
		}
	}
	if template.HTTPProxy == "" && template.HTTPSProxy == "" {
		return
	}
	b.setText("proxy.httpProxy", template.HTTPProxy)
	b.setText("proxy.httpsProxy", template.HTTPSProxy)
	if direct := fields(template.NoProxy); len(direct) > 0 {
		b.set("proxy.noProxy", anys(direct))
	}
}

// registryName is a registry's host, with what may follow. It becomes the name
// of a folder on machines, so that it leads nowhere else.
var registryName = regexp.MustCompile(`^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)(:[0-9]{1,5})?(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)

func (b *builder) insecureRegistry() {
	registry := strings.Trim(b.template().InsecureRegistry, "/ ")
	if registry == "" {
		return
	}
	scheme, name, given := strings.Cut(registry, "://")
	if !given {
		scheme, name = "http", registry
	}
	if scheme != "http" && scheme != "https" || !registryName.MatchString(name) {
		b.refuse("property insecure_registry", fmt.Errorf("%q is no registry", registry), "name its host and port, such as registry.example:5000")
		return
	}
	address := scheme + "://" + name
	b.set("registryMirrors", map[string]any{name: map[string]any{"upstream": address,
		"mirrors": []any{map[string]any{"url": address, "capabilities": []any{"pull", "resolve"}, "skipVerify": true, "overridePath": false}}}})
}

// fields are the elements of a list with commas.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func anys[T any](list []T) []any {
	all := make([]any, 0, len(list))
	for _, element := range list {
		all = append(all, element)
	}
	return all
}

// masters is the number of control planes.
func (b *builder) masters() int32 {
	for _, g := range b.Groups {
		if g.Spec.Role == v1alpha1.RoleMaster {
			return g.Spec.NodeCount
		}
	}
	return max(1, b.Cluster.Spec.MasterCount)
}
