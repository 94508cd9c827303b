package loadbalancer

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// poolChange is what an update may change.
type poolChange struct {
	lifeInput
	Algorithm     api.Optional[string]           `json:"lb_algorithm"`
	Persistence   api.Optional[persistenceInput] `json:"session_persistence"`
	TLSContainer  api.Optional[string]           `json:"tls_container_ref"`
	CATLS         api.Optional[string]           `json:"ca_tls_container_ref"`
	CRL           api.Optional[string]           `json:"crl_container_ref"`
	TLSEnabled    api.Optional[bool]             `json:"tls_enabled"`
	TLSCiphers    api.Optional[string]           `json:"tls_ciphers"`
	TLSVersions   api.Optional[[]string]         `json:"tls_versions"`
	ALPNProtocols api.Optional[[]string]         `json:"alpn_protocols"`
}

type persistenceInput struct {
	Type        string               `json:"type"`
	CookieName  api.Optional[string] `json:"cookie_name"`
	Timeout     api.Optional[int]    `json:"persistence_timeout"`
	Granularity api.Optional[string] `json:"persistence_granularity"`
}

// poolInput is a pool to create, alone or with its listener or load balancer.
type poolInput struct {
	poolChange
	Protocol       string               `json:"protocol"`
	LoadBalancerID api.Optional[string] `json:"loadbalancer_id"`
	LoadBalancer   api.Optional[string] `json:"load_balancer_id"`
	ListenerID     api.Optional[string] `json:"listener_id"`
	ProjectID      api.Optional[string] `json:"project_id"`
	TenantID       api.Optional[string] `json:"tenant_id"`
	Members        []memberInput        `json:"members"`
	Monitor        *monitorInput        `json:"healthmonitor"`
}

func poolProtocols() []string {
	return []string{"TCP", "UDP", "HTTP", "HTTPS", "PROXY", "PROXYV2", "SCTP"}
}

func algorithms() []string {
	return []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"}
}

func (in poolChange) apply(lb model.LoadBalancer, p *model.Pool) error {
	set(&p.Algorithm, in.Algorithm, p.Algorithm)
	set(&p.TLSEnabled, in.TLSEnabled, false)
	set(&p.TLSVersions, in.TLSVersions, []string{})
	set(&p.ALPNProtocols, in.ALPNProtocols, []string{})
	setPointer(&p.TLSContainerRef, in.TLSContainer)
	setPointer(&p.CATLSContainerRef, in.CATLS)
	setPointer(&p.CRLContainerRef, in.CRL)
	setPointer(&p.TLSCiphers, in.TLSCiphers)
	if in.Persistence.Set {
		p.SessionPersistence = nil
		if !in.Persistence.Null {
			p.SessionPersistence = in.Persistence.Value.record()
		}
	}
	if p.TLSEnabled && len(p.TLSVersions) == 0 {
		p.TLSVersions = []string{"TLSv1.2", "TLSv1.3"}
	}
	return firstError(in.lifeInput.apply(&p.Life), oneOf("lb_algorithm", p.Algorithm, algorithms()),
		checkPersistence(p), checkProvider(lb.Provider, p))
}

func (in persistenceInput) record() *model.Persistence {
	v := &model.Persistence{Type: in.Type}
	setPointer(&v.CookieName, in.CookieName)
	setPointer(&v.PersistenceTimeout, in.Timeout)
	setPointer(&v.Granularity, in.Granularity)
	return v
}

func checkPersistence(p *model.Pool) error {
	v := p.SessionPersistence
	if v == nil {
		return nil
	}
	if err := oneOf("session_persistence.type", v.Type, []string{"SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"}); err != nil {
		return err
	}
	switch {
	case v.Type == "APP_COOKIE" && v.CookieName == nil:
		return validation("session_persistence of type APP_COOKIE needs a cookie_name.")
	case v.Type != "APP_COOKIE" && v.CookieName != nil:
		return validation("Field \"cookie_name\" can only be specified with session persistence of type \"APP_COOKIE\".")
	case v.Type != "SOURCE_IP" && transport(p.Protocol) != "TCP":
		return validation("session persistence of type %s is not supported for %s protocol pools.", v.Type, p.Protocol)
	case p.Protocol != "UDP" && (v.PersistenceTimeout != nil || v.Granularity != nil):
		return validation("persistence_timeout and persistence_granularity are only for pools of protocol UDP.")
	}
	return nil
}

// checkProvider refuses algorithms that a provider cannot do.
func checkProvider(provider string, p *model.Pool) error {
	if provider == "ovn" {
		if p.Algorithm != "SOURCE_IP_PORT" {
			return unsupported(provider, "OVN provider does not support "+p.Algorithm+" algorithm")
		}
		if transport(p.Protocol) != p.Protocol {
			return unsupported(provider, "OVN provider does not support "+p.Protocol+" protocol")
		}
		return nil
	}
	if p.Algorithm == "SOURCE_IP_PORT" {
		return unsupported(provider, "Amphora provider does not support "+p.Algorithm+" algorithm.")
	}
	return nil
}
