package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func neutronGroup(t *testing.T, client *gophercloud.ServiceClient) *groups.SecGroup {
	t.Helper()
	group := must[*groups.SecGroup](t)(groups.Create(t.Context(), client, groups.CreateOpts{Name: unique(t)}).Extract())
	t.Cleanup(func() { gone(t, groups.Delete(cleanup(t), client, group.ID).ExtractErr()) })
	return group
}

func TestSecurityGroupDefault(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	group := defaultSecurityGroup(t, client)
	ingress, egress := 0, 0
	for _, rule := range group.Rules {
		switch {
		case rule.Direction == "ingress" && rule.RemoteGroupID == group.ID:
			ingress++
		case rule.Direction == "egress" && rule.RemoteGroupID == "" && rule.Protocol == "":
			egress++
		}
	}
	if ingress < 2 || egress < 2 {
		t.Errorf("got rules %+v, want all out, and in from the group itself, for IPv4 and IPv6", group.Rules)
	}
	wantStatus(t, groups.Delete(t.Context(), client, group.ID).ExtractErr(), http.StatusConflict)
	_, err := groups.Create(t.Context(), client, groups.CreateOpts{Name: "default"}).Extract()
	wantNeutron(t, err, http.StatusConflict, "SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
}

func TestSecurityGroupInUse(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	group := neutronGroup(t, client)
	if len(group.Rules) != 2 || group.Rules[0].Direction != "egress" || !group.Stateful {
		t.Errorf("got %+v, want a stateful group that lets everything out", group)
	}
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: neutronNetwork(t, client).ID, SecurityGroups: &[]string{group.ID}})
	wantNeutron(t, groups.Delete(t.Context(), client, group.ID).ExtractErr(), http.StatusConflict, "SecurityGroupInUse", "Security Group "+group.ID+" in use.")
	gone(t, ports.Delete(t.Context(), client, port.ID).ExtractErr())
	if err := groups.Delete(t.Context(), client, group.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	_, err := groups.Get(t.Context(), client, group.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "SecurityGroupNotFound", "Security group "+group.ID+" does not exist")
}

func TestSecurityGroupRule(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	group := neutronGroup(t, client)
	o := rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
		PortRangeMin: 6443, PortRangeMax: 6443, RemoteIPPrefix: "198.51.100.0/24"}
	rule := must[*rules.SecGroupRule](t)(rules.Create(t.Context(), client, o).Extract())
	if rule.Protocol != "tcp" || rule.PortRangeMin != 6443 || rule.RemoteIPPrefix != "198.51.100.0/24" || rule.SecGroupID != group.ID {
		t.Errorf("got %+v", rule)
	}
	_, err := rules.Create(t.Context(), client, o).Extract()
	wantNeutron(t, err, http.StatusConflict, "SecurityGroupRuleExists", "Security group rule already exists. Rule id is "+rule.ID)
	if err := rules.Delete(t.Context(), client, rule.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	wantNeutron(t, rules.Delete(t.Context(), client, rule.ID).ExtractErr(), http.StatusNotFound, "SecurityGroupRuleNotFound", "Security group rule "+rule.ID+" does not exist")
}

func TestSecurityGroupRuleInvalid(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	group := neutronGroup(t, client)
	base := rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP}
	for name, test := range map[string]struct {
		change func(*rules.CreateOpts)
		status int
		kind   string
	}{
		"range backwards": {func(o *rules.CreateOpts) { o.PortRangeMin, o.PortRangeMax = 20, 10 }, 400, "SecurityGroupInvalidPortRange"},
		"no protocol":     {func(o *rules.CreateOpts) { o.Protocol, o.PortRangeMin, o.PortRangeMax = "", 10, 20 }, 400, "SecurityGroupProtocolRequiredWithPorts"},
		"protocol":        {func(o *rules.CreateOpts) { o.Protocol = "carrier-pigeon" }, 400, "SecurityGroupRuleInvalidProtocol"},
		"ICMP type":       {func(o *rules.CreateOpts) { o.Protocol, o.PortRangeMin = rules.ProtocolICMP, 300 }, 400, "SecurityGroupInvalidIcmpValue"},
		"other version":   {func(o *rules.CreateOpts) { o.RemoteIPPrefix = "2001:db8::/64" }, 400, "SecurityGroupRuleParameterConflict"},
		"no prefix":       {func(o *rules.CreateOpts) { o.RemoteIPPrefix = "everywhere" }, 400, "InvalidCIDR"},
		"remote group":    {func(o *rules.CreateOpts) { o.RemoteGroupID = unknownID }, 404, "SecurityGroupNotFound"},
		"group":           {func(o *rules.CreateOpts) { o.SecGroupID = unknownID }, 404, "SecurityGroupNotFound"},
	} {
		o := base
		test.change(&o)
		_, err := rules.Create(t.Context(), client, o).Extract()
		t.Run(name, func(t *testing.T) { wantNeutron(t, err, test.status, test.kind, "") })
	}
}

func TestSecurityGroupRuleOfAnyAttribute(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	first, second := neutronGroup(t, client), neutronGroup(t, client)
	must[*rules.SecGroupRule](t)(rules.Create(t.Context(), client, rules.CreateOpts{SecGroupID: first.ID, Direction: rules.DirIngress,
		EtherType: rules.EtherType6, Protocol: rules.ProtocolUDP, PortRangeMin: 53, PortRangeMax: 53, RemoteGroupID: second.ID}).Extract())
	for name, filter := range map[string]rules.ListOpts{
		"remote group": {RemoteGroupID: second.ID},
		"protocol":     {SecGroupID: first.ID, Protocol: "udp"},
		"port":         {SecGroupID: first.ID, PortRangeMin: 53},
		"direction":    {SecGroupID: first.ID, Direction: "ingress"},
	} {
		pages, err := rules.List(client, filter).AllPages(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := must[[]rules.SecGroupRule](t)(rules.ExtractRules(pages)); len(found) != 1 || found[0].EtherType != "IPv6" {
			t.Errorf("%s: got %v", name, found)
		}
	}
}
