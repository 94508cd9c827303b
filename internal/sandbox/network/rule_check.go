package network

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// protocols are the names that rules may use, with IANA's numbers.
func protocols() map[string]int {
	return map[string]int{
		"ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "icmp": 1, "icmpv6": 58, "igmp": 2, "ip": 0, "ipip": 4,
		"ipv6-encap": 41, "ipv6-frag": 44, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43,
		"ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136, "vrrp": 112,
	}
}

// fillRule checks what was said of a rule and puts it in the record.
func (n *Core) fillRule(r store.Reader, p *api.Principal, v *model.SecurityGroupRule, in ruleInput) error {
	in.Description.Apply(&v.Description)
	if err := oneOf("direction", v.Direction, "ingress", "egress"); err != nil {
		return err
	}
	v.EtherType = canonicalEtherType(in.EtherType.Or("IPv4"))
	if v.EtherType == "" {
		return api.Errorf(http.StatusBadRequest, "SecurityGroupRuleInvalidEtherType",
			"Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", in.EtherType.Value)
	}
	number, err := setProtocol(v, in)
	if err != nil {
		return err
	}
	if err := setPorts(v, in, number); err != nil {
		return err
	}
	return n.setRemote(r, p, v, in)
}

func canonicalEtherType(text string) string {
	for _, name := range []string{"IPv4", "IPv6"} {
		if strings.EqualFold(text, name) {
			return name
		}
	}
	return ""
}

// setProtocol returns the protocol's number; -1 is any.
func setProtocol(v *model.SecurityGroupRule, in ruleInput) (int, error) {
	name := strings.ToLower(string(in.Protocol.Or("")))
	if name == "" || name == "any" || name == "-1" {
		return -1, nil
	}
	number, known := protocols()[name]
	if !known {
		parsed, err := strconv.Atoi(name)
		if err != nil || parsed < 0 || parsed > 255 {
			names := slices.Sorted(maps.Keys(protocols()))
			return 0, api.Errorf(http.StatusBadRequest, "SecurityGroupRuleInvalidProtocol",
				"Security group rule protocol %s not supported. Only protocol values [None, '%s'] and integer representations [0 to 255] are supported.",
				name, strings.Join(names, "', '"))
		}
		number = parsed
	}
	if v.EtherType == "IPv4" && strings.HasPrefix(name, "ipv6-") && name != "ipv6-encap" {
		return 0, api.Errorf(http.StatusBadRequest, "SecurityGroupEthertypeConflictWithProtocol",
			"Invalid ethertype %s for protocol %s.", v.EtherType, name)
	}
	if v.EtherType == "IPv6" && number == 1 {
		name, number = "ipv6-icmp", 58 // Neutron reads ICMP so in rules of IPv6
	}
	v.Protocol = &name
	return number, nil
}

// setPorts checks the range: ports, or ICMP type and code.
func setPorts(v *model.SecurityGroupRule, in ruleInput, protocol int) error {
	var err error
	if v.PortMin, err = number("port_range_min", in.PortMin); err != nil {
		return err
	}
	if v.PortMax, err = number("port_range_max", in.PortMax); err != nil {
		return err
	}
	if v.PortMin == nil && v.PortMax == nil {
		return nil
	}
	switch protocol {
	case -1:
		return api.Errorf(http.StatusBadRequest, "SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case 6, 17, 33, 132, 136:
		switch {
		case v.PortMin == nil || v.PortMax == nil || *v.PortMin > *v.PortMax:
			return api.Errorf(http.StatusBadRequest, "SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
		case *v.PortMin < 1 || *v.PortMax > 65535:
			return api.Errorf(http.StatusBadRequest, "SecurityGroupInvalidPortValue", "Invalid value for port %d", *v.PortMin)
		}
		return nil
	case 1, 58:
		return checkICMP(v)
	}
	return api.Errorf(http.StatusBadRequest, "SecurityGroupInvalidProtocolForPort",
		"Invalid protocol %s for port range, only supported for TCP, UDP, UDPLITE, SCTP and DCCP.", *v.Protocol)
}

func checkICMP(v *model.SecurityGroupRule) error {
	for _, field := range []struct {
		field, attribute string
		value            *int
	}{{"type", "port-range-min", v.PortMin}, {"code", "port-range-max", v.PortMax}} {
		if field.value != nil && (*field.value < 0 || *field.value > 255) {
			return api.Errorf(http.StatusBadRequest, "SecurityGroupInvalidIcmpValue",
				"Invalid value for ICMP %s (%s) %d. It must be 0 to 255.", field.field, field.attribute, *field.value)
		}
	}
	if v.PortMin == nil {
		return api.Errorf(http.StatusBadRequest, "SecurityGroupMissingIcmpType",
			"ICMP code (port-range-max) %d is provided but ICMP type (port-range-min) is missing.", *v.PortMax)
	}
	return nil
}

func number(name string, in api.Optional[scalar]) (*int, error) {
	if !in.Set || in.Null || in.Value == "" {
		return nil, nil
	}
	value, err := strconv.Atoi(string(in.Value))
	if err != nil {
		return nil, api.BadRequest("Invalid input for %s. Reason: '%s' is not an integer.", name, in.Value)
	}
	return &value, nil
}

// setRemote checks the other side: a prefix, a group or an address group.
func (n *Core) setRemote(r store.Reader, p *api.Principal, v *model.SecurityGroupRule, in ruleInput) error {
	given := 0
	for _, remote := range []string{in.RemotePrefix.Value, in.RemoteGroup.Value, in.RemoteAddress.Value} {
		if remote != "" {
			given++
		}
	}
	if given > 1 {
		return api.Errorf(http.StatusBadRequest, "SecurityGroupMultipleRemoteEntites",
			"Only one remote entity (remote_ip_prefix, remote_group_id or remote_address_group_id) may be provided.")
	}
	if id := in.RemoteGroup.Value; id != "" {
		if _, err := n.groups().find(r, p, id); err != nil {
			return err
		}
		v.RemoteGroup = &id
	}
	if id := in.RemoteAddress.Value; id != "" {
		if _, err := n.addressGroups().find(r, p, id); err != nil {
			return err
		}
		v.RemoteAddress = &id
	}
	if in.RemotePrefix.Value == "" {
		return nil
	}
	prefix, err := rulePrefix(in.RemotePrefix.Value)
	if err != nil {
		return err
	}
	if etherType := "IPv" + strconv.Itoa(version(prefix.Addr())); etherType != v.EtherType {
		return api.Errorf(http.StatusBadRequest, "SecurityGroupRuleParameterConflict",
			"Conflicting value ethertype %s for CIDR %s", v.EtherType, in.RemotePrefix.Value)
	}
	said := prefix.String()
	v.RemotePrefix = &said
	return nil
}
