package model

import "github.com/slipway-sh/slipway/internal/sandbox/transition"

// BalancerTime is how Octavia writes times: UTC without a zone.
const BalancerTime = "2006-01-02T15:04:05"

// Life is what every resource of Octavia has.
type Life struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	Description        string   `json:"description"`
	ProjectID          string   `json:"project_id"`
	AdminStateUp       bool     `json:"admin_state_up"`
	ProvisioningStatus string   `json:"provisioning_status"`
	OperatingStatus    string   `json:"operating_status"`
	Tags               []string `json:"tags"`
	CreatedAt          string   `json:"created_at"`
	UpdatedAt          *string  `json:"updated_at"`
}

// BalancerAttributes are what the API shows of a load balancer.
type BalancerAttributes struct {
	Life
	Provider         string          `json:"provider"`
	FlavorID         *string         `json:"flavor_id"`
	AvailabilityZone *string         `json:"availability_zone"`
	VIPAddress       string          `json:"vip_address"`
	VIPPortID        string          `json:"vip_port_id"`
	VIPSubnetID      string          `json:"vip_subnet_id"`
	VIPNetworkID     string          `json:"vip_network_id"`
	VIPQosPolicyID   *string         `json:"vip_qos_policy_id"`
	VIPVNICType      string          `json:"vip_vnic_type"`
	AdditionalVIPs   []AdditionalVIP `json:"additional_vips"`
}

// AdditionalVIP is one more address of a load balancer's port.
type AdditionalVIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

// LoadBalancer is a load balancer. Every operation on it or below it goes
// through its Pending: there is one at a time.
type LoadBalancer struct {
	BalancerAttributes
	// OwnsPort says that the VIP's port was made for it and goes with it.
	OwnsPort bool                `json:"owns_port"`
	Pending  *transition.Pending `json:"pending,omitempty"`
}

// ListenerAttributes are what the API shows of a listener. Timeouts are in
// milliseconds; a ConnectionLimit of -1 is none.
type ListenerAttributes struct {
	Life
	Protocol                string            `json:"protocol"`
	ProtocolPort            int               `json:"protocol_port"`
	ConnectionLimit         int               `json:"connection_limit"`
	DefaultPoolID           *string           `json:"default_pool_id"`
	DefaultTLSContainerRef  *string           `json:"default_tls_container_ref"`
	SNIContainerRefs        []string          `json:"sni_container_refs"`
	InsertHeaders           map[string]string `json:"insert_headers"`
	AllowedCIDRs            []string          `json:"allowed_cidrs"`
	TimeoutClientData       int               `json:"timeout_client_data"`
	TimeoutMemberConnect    int               `json:"timeout_member_connect"`
	TimeoutMemberData       int               `json:"timeout_member_data"`
	TimeoutTCPInspect       int               `json:"timeout_tcp_inspect"`
	ClientCATLSContainerRef *string           `json:"client_ca_tls_container_ref"`
	ClientCRLContainerRef   *string           `json:"client_crl_container_ref"`
	ClientAuthentication    string            `json:"client_authentication"`
	TLSCiphers              *string           `json:"tls_ciphers"`
	TLSVersions             []string          `json:"tls_versions"`
	ALPNProtocols           []string          `json:"alpn_protocols"`
	HSTSMaxAge              *int              `json:"hsts_max_age"`
	HSTSIncludeSubdomains   bool              `json:"hsts_include_subdomains"`
	HSTSPreload             bool              `json:"hsts_preload"`
}

// Listener takes the connections to one port of a load balancer.
type Listener struct {
	ListenerAttributes
	LoadBalancerID string `json:"loadbalancer_id"`
}

// Persistence sends a client to the same member; timeouts are in seconds.
type Persistence struct {
	Type               string  `json:"type"`
	CookieName         *string `json:"cookie_name"`
	PersistenceTimeout *int    `json:"persistence_timeout"`
	Granularity        *string `json:"persistence_granularity"`
}

// PoolAttributes are what the API shows of a pool.
type PoolAttributes struct {
	Life
	Protocol           string       `json:"protocol"`
	Algorithm          string       `json:"lb_algorithm"`
	SessionPersistence *Persistence `json:"session_persistence"`
	TLSContainerRef    *string      `json:"tls_container_ref"`
	CATLSContainerRef  *string      `json:"ca_tls_container_ref"`
	CRLContainerRef    *string      `json:"crl_container_ref"`
	TLSEnabled         bool         `json:"tls_enabled"`
	TLSCiphers         *string      `json:"tls_ciphers"`
	TLSVersions        []string     `json:"tls_versions"`
	ALPNProtocols      []string     `json:"alpn_protocols"`
}

// Pool is a set of members.
type Pool struct {
	PoolAttributes
	LoadBalancerID string `json:"loadbalancer_id"`
}

// MemberAttributes are what the API shows of a member.
type MemberAttributes struct {
	Life
	Address        string  `json:"address"`
	ProtocolPort   int     `json:"protocol_port"`
	Weight         int     `json:"weight"`
	Backup         bool    `json:"backup"`
	SubnetID       *string `json:"subnet_id"`
	MonitorAddress *string `json:"monitor_address"`
	MonitorPort    *int    `json:"monitor_port"`
}

// Member is one backend of a pool.
type Member struct {
	MemberAttributes
	PoolID string `json:"pool_id"`
}

// MonitorAttributes are what the API shows of a health monitor. Delay and
// Timeout are in seconds.
type MonitorAttributes struct {
	Life
	Type           string   `json:"type"`
	Delay          int      `json:"delay"`
	Timeout        int      `json:"timeout"`
	MaxRetries     int      `json:"max_retries"`
	MaxRetriesDown int      `json:"max_retries_down"`
	HTTPMethod     *string  `json:"http_method"`
	URLPath        *string  `json:"url_path"`
	ExpectedCodes  *string  `json:"expected_codes"`
	HTTPVersion    *float64 `json:"http_version"`
	DomainName     *string  `json:"domain_name"`
}

// HealthMonitor checks the members of a pool, which has one at most.
type HealthMonitor struct {
	MonitorAttributes
	PoolID string `json:"pool_id"`
}
