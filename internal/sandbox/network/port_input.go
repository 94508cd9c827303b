package network

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// portChange is what may be said of a port at any time.
type portChange struct {
	Name         api.Optional[string]              `json:"name"`
	Description  api.Optional[string]              `json:"description"`
	AdminStateUp api.Optional[bool]                `json:"admin_state_up"`
	MAC          api.Optional[string]              `json:"mac_address"`
	FixedIPs     api.Optional[[]model.FixedIP]     `json:"fixed_ips"`
	DeviceID     api.Optional[string]              `json:"device_id"`
	DeviceOwner  api.Optional[string]              `json:"device_owner"`
	Groups       api.Optional[[]string]            `json:"security_groups"`
	PortSecurity api.Optional[bool]                `json:"port_security_enabled"`
	AllowedPairs api.Optional[[]model.AddressPair] `json:"allowed_address_pairs"`
	DHCPOptions  api.Optional[[]dhcpOption]        `json:"extra_dhcp_opts"`
	DNSName      api.Optional[string]              `json:"dns_name"`
	DNSDomain    api.Optional[string]              `json:"dns_domain"`
	QoSPolicyID  api.Optional[string]              `json:"qos_policy_id"`
	Propagate    api.Optional[bool]                `json:"propagate_uplink_status"`
	NUMA         api.Optional[string]              `json:"numa_affinity_policy"`

	HostID   api.Optional[string]         `json:"binding:host_id"`
	VNICType api.Optional[string]         `json:"binding:vnic_type"`
	Profile  api.Optional[map[string]any] `json:"binding:profile"`
}

// dhcpOption is an option in a request; a null value removes it.
type dhcpOption struct {
	Name      string  `json:"opt_name"`
	Value     *string `json:"opt_value"`
	IPVersion int     `json:"ip_version"`
}

// portInput is a port to create.
type portInput struct {
	portChange
	owned
	NetworkID api.Optional[string] `json:"network_id"`
}

// policy refuses what only administrators, or the owner of the network, may
// say of a port.
func (in portChange) policy(p *api.Principal, network model.Network, action string) error {
	if err := adminOnly(p, action, attribute{"binding:host_id", in.HostID.Set}, attribute{"binding:profile", in.Profile.Set && len(in.Profile.Value) > 0}); err != nil {
		return err
	}
	fixed := slices.ContainsFunc(in.FixedIPs.Value, func(ip model.FixedIP) bool { return ip.IPAddress != "" })
	return privileged(owns(p, network.ProjectID), action,
		attribute{"device_owner", strings.HasPrefix(in.DeviceOwner.Value, "network:")},
		attribute{"mac_address", in.MAC.Set}, attribute{"fixed_ips", fixed},
		attribute{"port_security_enabled", in.PortSecurity.Set}, attribute{"allowed_address_pairs", in.AllowedPairs.Set})
}

// apply puts what was said in the record; addresses and groups are checked
// with the model afterwards.
func (in portChange) apply(v *model.Port) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.AdminStateUp.Apply(&v.AdminStateUp)
	in.DeviceID.Apply(&v.DeviceID)
	in.DeviceOwner.Apply(&v.DeviceOwner)
	in.DNSName.Apply(&v.DNSName)
	in.DNSDomain.Apply(&v.DNSDomain)
	in.HostID.Apply(&v.HostID)
	in.Profile.Apply(&v.Profile)
	if in.Propagate.Set && !in.Propagate.Null {
		v.Propagate = in.Propagate.Value
	}
	pointer(in.QoSPolicyID, &v.QoSPolicyID)
	if in.VNICType.Set && !in.VNICType.Null {
		v.VNICType = in.VNICType.Value
		if err := oneOf("binding:vnic_type", v.VNICType, "baremetal", "direct", "direct-physical", "macvtap", "normal", "virtio-forwarder", "vdpa", "smart-nic", "remote-managed"); err != nil {
			return err
		}
	}
	if in.MAC.Value != "" {
		hardware, err := parseMAC(in.MAC.Value)
		if err != nil {
			return err
		}
		v.MAC = hardware.String()
	}
	if err := checkDomain(v.DNSDomain); err != nil {
		return err
	}
	if err := checkDNSName(v.DNSName); err != nil {
		return err
	}
	return errorOr(lengths(v.Name, v.Description), in.applyOptions(v))
}

func errorOr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

func (in portChange) applyOptions(v *model.Port) error {
	for _, option := range in.DHCPOptions.Value {
		if option.Name == "" || len(option.Name) > 64 {
			return api.BadRequest("Invalid input for extra_dhcp_opts. Reason: '%s' is not a valid option name.", option.Name)
		}
		version := option.IPVersion
		if version == 0 {
			version = 4
		}
		same := func(o model.DHCPOption) bool { return o.Name == option.Name && o.IPVersion == version }
		v.DHCPOptions = slices.DeleteFunc(slices.Clone(v.DHCPOptions), same)
		if option.Value != nil {
			v.DHCPOptions = append(v.DHCPOptions, model.DHCPOption{Name: option.Name, Value: *option.Value, IPVersion: version})
		}
	}
	return nil
}

// applyPairs checks the allowed address pairs; a pair without MAC has the
// port's.
func (in portChange) applyPairs(v *model.Port) error {
	if !in.AllowedPairs.Set {
		return nil
	}
	pairs := []model.AddressPair{}
	for _, pair := range in.AllowedPairs.Value {
		if pair.IPAddress == "" {
			return api.Errorf(http.StatusBadRequest, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address")
		}
		if _, err := netip.ParseAddr(pair.IPAddress); err != nil {
			if _, err := netip.ParsePrefix(pair.IPAddress); err != nil {
				return api.BadRequest("Invalid input for allowed_address_pairs. Reason: '%s' is not a valid IP subnet.", pair.IPAddress)
			}
		}
		if pair.MAC == "" {
			pair.MAC = v.MAC
		}
		hardware, err := parseMAC(pair.MAC)
		if err != nil {
			return err
		}
		pair.MAC = hardware.String()
		if slices.Contains(pairs, pair) {
			return api.Errorf(http.StatusBadRequest, "DuplicateAddressPairInRequest",
				"Request contains duplicate address pair: mac_address %s ip_address %s.", pair.MAC, pair.IPAddress)
		}
		pairs = append(pairs, pair)
	}
	v.AllowedPairs = pairs
	return nil
}

func parseMAC(text string) (net.HardwareAddr, error) {
	hardware, err := net.ParseMAC(text)
	if err != nil || len(hardware) != 6 {
		return nil, api.BadRequest("Invalid input for mac_address. Reason: '%s' is not a valid MAC address.", text)
	}
	return hardware, nil
}

func checkDomain(domain string) error {
	if domain != "" && !strings.HasSuffix(domain, ".") {
		return api.BadRequest("Invalid input for dns_domain. Reason: '%s' is not a FQDN: it must end with '.'.", domain)
	}
	return nil
}

func checkDNSName(name string) error {
	for _, label := range strings.Split(strings.TrimSuffix(name, "."), ".") {
		bad := strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
		if name != "" && (label == "" || len(label) > 63 || bad || label[0] == '-' || label[len(label)-1] == '-') {
			return api.BadRequest("Invalid input for dns_name. Reason: '%s' not a valid PQDN or FQDN. Reason: Encountered an invalid label.", name)
		}
	}
	return nil
}

func (n *Core) createPort(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.Port, error) {
	var in portInput
	var none model.Port
	if err := decodeInto(raw, &in, reflect.TypeFor[portView](), http.MethodPost); err != nil {
		return none, err
	}
	if err := require("network_id", in.NetworkID.Value != ""); err != nil {
		return none, err
	}
	network, err := n.networks().find(tx, p, in.NetworkID.Value)
	if err != nil {
		return none, err
	}
	if err := in.policy(p, network, "create_port"); err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "port"); err != nil {
		return none, err
	}
	v := n.newPort(network, project, in.owned)
	if err := in.apply(&v); err != nil {
		return none, err
	}
	return n.addPort(tx, p, v, in.portChange)
}
