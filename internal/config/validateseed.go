package config

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// network checks the seed's network: an existing one without other settings, or a
// new one whose pools and gateway are within its range.
func (v *validator) network(n *Network) {
	at := field.NewPath("spec", "seed", "network")
	if n.Existing == "" {
		if n.Subnet != "" {
			v.add(at.Child("subnet"), "name the network with existing", "a subnet is given without its network")
		}
		v.pools(n, at)
		return
	}
	for name, set := range map[string]bool{
		"cidr": v.given(at.Child("cidr").String()), "gatewayIP": n.GatewayIP.IsValid(), "allocationPools": len(n.AllocationPools) > 0,
		"dnsNameservers": len(n.DNSNameservers) > 0, "mtu": n.MTU != 0, "availabilityZoneHints": len(n.AvailabilityZoneHints) > 0,
	} {
		if set {
			v.add(at.Child(name), "remove it, or remove existing", "this setting is for a new network, but %s names an existing one", at.Child("existing"))
		}
	}
}

func (v *validator) pools(n *Network, at *field.Path) {
	if !n.CIDR.IsValid() {
		return
	}
	inside := func(at *field.Path, a netip.Addr) bool {
		if a.IsValid() && !n.CIDR.Contains(a) {
			v.add(at, "choose an address within the range", "%s is outside the network's range %s", a, n.CIDR)
		}
		return a.IsValid() && n.CIDR.Contains(a)
	}
	inside(at.Child("gatewayIP"), n.GatewayIP)
	var seen []AllocationPool
	for i, pool := range n.AllocationPools {
		at := at.Child("allocationPools").Index(i)
		start, end := inside(at.Child("start"), pool.Start), inside(at.Child("end"), pool.End)
		if !start || !end {
			continue
		}
		if pool.End.Less(pool.Start) {
			v.add(at, "exchange them", "the pool ends at %s before it starts at %s", pool.End, pool.Start)
			continue
		}
		if pool.contains(n.GatewayIP) {
			v.add(at, "leave the router's address out of the pool", "the pool contains gatewayIP %s", n.GatewayIP)
		}
		if other := slices.IndexFunc(seen, pool.overlaps); other >= 0 {
			v.add(at, "choose pools that do not overlap", "the pool overlaps the pool from %s", seen[other].Start)
		}
		seen = append(seen, pool)
	}
}

func (p AllocationPool) contains(a netip.Addr) bool {
	return a.IsValid() && !a.Less(p.Start) && !p.End.Less(a)
}

func (p AllocationPool) overlaps(other AllocationPool) bool {
	return !p.End.Less(other.Start) && !other.End.Less(p.Start)
}

// seed checks address, ports and login.
func (v *validator) seed(s *Seed) {
	at := field.NewPath("spec", "seed")
	ip := at.Child("floatingIP")
	if s.FloatingIP.Address.IsValid() && s.FloatingIP.Pool != "" {
		v.add(ip.Child("pool"), "keep one of them", "address names an existing floating IP, but pool is for a new one")
	}
	if !s.WantsFloatingIP() {
		why := "mode is none"
		if s.ProvisioningNetwork != "" {
			why = "a seed on a provisioning network has no floating IP"
		}
		for name, set := range map[string]bool{"address": s.FloatingIP.Address.IsValid(), "pool": s.FloatingIP.Pool != ""} {
			if set {
				v.add(ip.Child(name), "remove it", "this has no effect: %s", why)
			}
		}
	}
	for i, rule := range s.Access.Rules {
		if rule.EndPort != 0 && rule.EndPort < rule.Port {
			v.add(at.Child("access", "rules").Index(i).Child("endPort"), "exchange them", "the range ends at %d before it starts at %d", rule.EndPort, rule.Port)
		}
	}
	if s.SSH.IdentityFile != "" && s.SSH.KeyPair == "" {
		v.add(at.Child("ssh", "identityFile"), "name the key pair with keyPair", "a private key is given without its key pair")
	}
}

// decided are the settings of k3s that Slipway derives from the rest of the file.
// If the user could set them too, one of the two values would silently be lost.
func decided() map[string]string {
	return map[string]string{
		"data-dir": "the data volume is mounted there", "token": "it is a secret", "agent-token": "it is a secret", "tls-san": "it is the seed's address",
		"cluster-cidr": "use spec.seed.k3s.podCIDR", "service-cidr": "use spec.seed.k3s.serviceCIDR", "cluster-dns": "it follows from spec.seed.k3s.serviceCIDR",
		"node-name": "it is the server's name", "private-registry": "use spec.registries", "write-kubeconfig-mode": "only root may read the file",
	}
}

func (v *validator) k3s(k *K3s) {
	at := field.NewPath("spec", "seed", "k3s", "config")
	for name := range k.Config {
		if why, ok := decided()[name]; ok {
			v.add(at.Key(name), "remove it", "Slipway makes this setting itself: %s", why)
		}
	}
}

func (v *validator) credential(e *Environment) {
	at := field.NewPath("spec", "credential")
	for i, rule := range e.Spec.Credential.AccessRules {
		if rule.Service == "identity" && e.Spec.Credential.Unrestricted {
			v.add(at.Child("accessRules").Index(i), "remove unrestricted", "access rules for identity have no effect on an unrestricted credential")
		}
	}
	if len(e.Spec.Credential.CloudProviderAccessRules) > 0 && !e.Spec.Credential.Separate {
		v.add(at.Child("cloudProviderAccessRules"), "write separate: true, or remove it", "there is no second credential that it could be for")
	}
	seen := map[string]bool{}
	for i, role := range e.Spec.Credential.Roles {
		if seen[role] {
			v.add(at.Child("roles").Index(i), "remove it", "role %s is repeated", role)
		}
		seen[role] = true
	}
}

func (v *validator) state(s *State) {
	at := field.NewPath("spec", "state")
	if s.PassphraseFile != "" && s.PassphraseEnv != "" {
		v.add(at.Child("passphraseEnv"), "keep one of them", "passphraseFile and passphraseEnv are both given")
	}
	if s.AgeIdentityFile != "" && s.PassphraseFile == "" {
		v.add(at.Child("ageIdentityFile"), "name the encrypted file with passphraseFile", "there is nothing to decrypt")
	}
}

func (v *validator) registry(at *field.Path, host string, r Registry) {
	if host == "" || strings.ContainsAny(host, "/ ") {
		v.add(at, "write the host alone, with the port if there is one, such as docker.io; rewrite leads single paths elsewhere", "%q is no host, and no image would match it", host)
	}
	if (r.Username == "") != (r.PasswordFile == "") {
		v.add(at, "give both or neither", "%s", "username and passwordFile go together")
	}
	if len(r.Rewrite) > 0 && len(r.Mirrors) == 0 {
		v.add(at.Child("rewrite"), "name mirrors", "names are rewritten for mirrors, but there are none")
	}
}
