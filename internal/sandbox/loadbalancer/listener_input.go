package loadbalancer

import (
	"net/netip"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// listenerChange is what an update may change.
type listenerChange struct {
	lifeInput
	ConnectionLimit       api.Optional[int]               `json:"connection_limit"`
	DefaultPoolID         api.Optional[string]            `json:"default_pool_id"`
	DefaultTLS            api.Optional[string]            `json:"default_tls_container_ref"`
	SNI                   api.Optional[[]string]          `json:"sni_container_refs"`
	InsertHeaders         api.Optional[map[string]string] `json:"insert_headers"`
	AllowedCIDRs          api.Optional[[]string]          `json:"allowed_cidrs"`
	TimeoutClientData     api.Optional[int]               `json:"timeout_client_data"`
	TimeoutMemberConnect  api.Optional[int]               `json:"timeout_member_connect"`
	TimeoutMemberData     api.Optional[int]               `json:"timeout_member_data"`
	TimeoutTCPInspect     api.Optional[int]               `json:"timeout_tcp_inspect"`
	ClientCA              api.Optional[string]            `json:"client_ca_tls_container_ref"`
	ClientCRL             api.Optional[string]            `json:"client_crl_container_ref"`
	ClientAuthentication  api.Optional[string]            `json:"client_authentication"`
	TLSCiphers            api.Optional[string]            `json:"tls_ciphers"`
	TLSVersions           api.Optional[[]string]          `json:"tls_versions"`
	ALPNProtocols         api.Optional[[]string]          `json:"alpn_protocols"`
	HSTSMaxAge            api.Optional[int]               `json:"hsts_max_age"`
	HSTSIncludeSubdomains api.Optional[bool]              `json:"hsts_include_subdomains"`
	HSTSPreload           api.Optional[bool]              `json:"hsts_preload"`
}

// listenerInput is a listener to create, alone or with its load balancer.
type listenerInput struct {
	listenerChange
	Protocol       string               `json:"protocol"`
	ProtocolPort   api.Optional[int]    `json:"protocol_port"`
	LoadBalancerID api.Optional[string] `json:"loadbalancer_id"`
	LoadBalancer   api.Optional[string] `json:"load_balancer_id"`
	ProjectID      api.Optional[string] `json:"project_id"`
	TenantID       api.Optional[string] `json:"tenant_id"`
	DefaultPool    *poolInput           `json:"default_pool"`
	L7Policies     []any                `json:"l7policies"`
}

func listenerProtocols() []string {
	return []string{"TCP", "UDP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROMETHEUS", "SCTP"}
}

func newListener(life model.Life) model.ListenerAttributes {
	return model.ListenerAttributes{Life: life, ConnectionLimit: -1, SNIContainerRefs: []string{},
		InsertHeaders: map[string]string{}, TimeoutClientData: 50_000, TimeoutMemberConnect: 5_000,
		TimeoutMemberData: 50_000, ClientAuthentication: "NONE", TLSVersions: []string{}, ALPNProtocols: []string{}}
}

// check refuses what no listener of the load balancer can be.
func (in listenerInput) check(lb model.LoadBalancer) error {
	if err := firstError(oneOf("protocol", in.Protocol, listenerProtocols()),
		portNumber("protocol_port", in.ProtocolPort)); err != nil {
		return err
	}
	if lb.Provider == "ovn" && transport(in.Protocol) != in.Protocol {
		return unsupported(lb.Provider, "OVN provider does not support "+in.Protocol+" protocol")
	}
	if len(in.L7Policies) > 0 {
		return unsupported(lb.Provider, "L7 policies are not supported.")
	}
	if in.Protocol == "PROMETHEUS" && (in.DefaultPool != nil || in.DefaultPoolID.Or("") != "") {
		return validation("Listeners of type PROMETHEUS do not support a default_pool.")
	}
	return nil
}

func (in listenerChange) apply(l *model.Listener) error {
	set(&l.ConnectionLimit, in.ConnectionLimit, -1)
	set(&l.SNIContainerRefs, in.SNI, []string{})
	set(&l.InsertHeaders, in.InsertHeaders, map[string]string{})
	set(&l.AllowedCIDRs, in.AllowedCIDRs, nil)
	set(&l.TimeoutClientData, in.TimeoutClientData, 50_000)
	set(&l.TimeoutMemberConnect, in.TimeoutMemberConnect, 5_000)
	set(&l.TimeoutMemberData, in.TimeoutMemberData, 50_000)
	set(&l.TimeoutTCPInspect, in.TimeoutTCPInspect, 0)
	set(&l.ClientAuthentication, in.ClientAuthentication, "NONE")
	set(&l.TLSVersions, in.TLSVersions, []string{})
	set(&l.ALPNProtocols, in.ALPNProtocols, []string{})
	set(&l.HSTSIncludeSubdomains, in.HSTSIncludeSubdomains, false)
	set(&l.HSTSPreload, in.HSTSPreload, false)
	setPointer(&l.HSTSMaxAge, in.HSTSMaxAge)
	setPointer(&l.DefaultPoolID, in.DefaultPoolID)
	setPointer(&l.DefaultTLSContainerRef, in.DefaultTLS)
	setPointer(&l.ClientCATLSContainerRef, in.ClientCA)
	setPointer(&l.ClientCRLContainerRef, in.ClientCRL)
	setPointer(&l.TLSCiphers, in.TLSCiphers)
	if l.Protocol == "TERMINATED_HTTPS" {
		tlsDefaults(&l.TLSVersions, &l.ALPNProtocols)
	}
	return firstError(in.lifeInput.apply(&l.Life), checkListenerValues(l))
}

// tlsDefaults are what Octavia offers when nothing is asked for.
func tlsDefaults(versions, alpn *[]string) {
	if len(*versions) == 0 {
		*versions = []string{"TLSv1.2", "TLSv1.3"}
	}
	if len(*alpn) == 0 {
		*alpn = []string{"h2", "http/1.1", "http/1.0"}
	}
}

func checkListenerValues(l *model.Listener) error {
	const day = 24 * 60 * 60 * 1000
	for _, cidr := range l.AllowedCIDRs {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return invalid("allowed_cidrs", cidr, "Value should be IPv4 or IPv6 CIDR format")
		}
	}
	for name := range l.InsertHeaders {
		if !slices.Contains(insertable(l.Protocol), name) {
			return validation("%s is not a valid option for insert_headers of protocol %s.", name, l.Protocol)
		}
	}
	for _, version := range l.TLSVersions {
		if err := oneOf("tls_versions", version, tlsVersions()); err != nil {
			return err
		}
	}
	limit := between("connection_limit", l.ConnectionLimit, -1, 1_000_000)
	if l.ConnectionLimit == 0 {
		limit = between("connection_limit", 0, 1, 1)
	}
	return firstError(limit, between("timeout_client_data", l.TimeoutClientData, 0, 365*day),
		between("timeout_member_connect", l.TimeoutMemberConnect, 0, 365*day),
		between("timeout_member_data", l.TimeoutMemberData, 0, 365*day),
		between("timeout_tcp_inspect", l.TimeoutTCPInspect, 0, 365*day),
		oneOf("client_authentication", l.ClientAuthentication, []string{"NONE", "OPTIONAL", "MANDATORY"}))
}

func tlsVersions() []string { return []string{"SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"} }

func insertable(protocol string) []string {
	switch protocol {
	case "HTTP":
		return []string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"}
	case "TERMINATED_HTTPS":
		return []string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto", "X-SSL-Client-Verify",
			"X-SSL-Client-Has-Cert", "X-SSL-Client-DN", "X-SSL-Client-CN", "X-SSL-Issuer", "X-SSL-Client-SHA1",
			"X-SSL-Client-Not-Before", "X-SSL-Client-Not-After"}
	}
	return nil
}
