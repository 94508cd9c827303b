package config

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Console is the console for tenants on the management cluster (docs/guides/tenant-console.md). It has no rights of its own.
type Console struct {
	// Host name by which browsers find the console, and of its certificate. Empty: the floating IP.
	Hostname string `json:"hostname,omitempty" schema:"format=hostname"`
	// Existing floating IP of the project for the console. Empty: a new one, which stays the same as long as there is a console.
	FloatingIP netip.Addr `json:"floatingIP,omitzero" schema:"format=ip"`
	// Certificate of the console. Empty: the environment's own CA issues and renews one; `slipway up` writes the CA certificate into a file, and browsers warn of it until they trust it.
	TLS *KeyPair `json:"tls,omitempty"`
	// Number of replicas. Sessions survive on all of them.
	Replicas int `json:"replicas" default:"2" schema:"min=1,max=9"`
	// Domain of users that the page of signing in proposes.
	Domain string `json:"domain" default:"Default"`
	// Sign-in at identity providers that Keystone trusts, beside passwords and application credentials. Each is a button.
	WebSSO []WebSSO `json:"webSSO,omitempty"`
}

// WebSSO is a way to sign in that Keystone offers by federation. Keystone must name the console in `trusted_dashboard`.
type WebSSO struct {
	// Text of the button, such as `Company login`.
	Name string `json:"name" schema:"required"`
	// Protocol in Keystone, such as `openid` or `saml2`.
	Protocol string `json:"protocol" schema:"required,format=identifier"`
	// Identity provider in Keystone. Empty: Keystone finds it by the protocol.
	IdentityProvider string `json:"identityProvider,omitempty" schema:"format=identifier"`
}

// console refuses a console without a management cluster, an address that the Magnum API has,
// and two buttons with one text.
func (v *validator) console(e *Environment) {
	at, c := field.NewPath("spec", "console"), e.Spec.Console
	if c == nil {
		return
	}
	if e.Spec.ManagementCluster == nil {
		v.add(at, "add spec.managementCluster, or leave out spec.console", "the console runs on the management cluster, but there is none")
	}
	if m := e.Spec.Magnum; m != nil && c.FloatingIP.IsValid() && c.FloatingIP == m.FloatingIP {
		v.add(at.Child("floatingIP"), "give each an address of its own, or leave one out", "spec.magnum has %s already: each has a load balancer of its own", c.FloatingIP)
	}
	seen := map[string]bool{}
	for i, way := range c.WebSSO {
		if seen[way.Name] {
			v.add(at.Child("webSSO").Index(i).Child("name"), "choose another one", "there is already a button %q", way.Name)
		}
		seen[way.Name] = true
	}
}
