package openstack

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// SecurityGroupInputs are the inputs of a security group.
type SecurityGroupInputs struct {
	Ownership
	// Rules are all ingress rules. Egress keeps the cloud's default: everything is
	// allowed.
	Rules []Rule `pulumi:"rules"`
}

// Rule allows ingress traffic.
type Rule struct {
	// Protocol is tcp, udp, icmp, or empty for all.
	Protocol string `pulumi:"protocol,optional"`
	// PortMin and PortMax are the range of ports; both 0 means all.
	PortMin int `pulumi:"portMin,optional"`
	PortMax int `pulumi:"portMax,optional"`
	// CIDR is the source of the traffic; empty means the group itself.
	CIDR string `pulumi:"cidr,optional"`
}

// SecurityGroupState is the state of a security group.
type SecurityGroupState struct{ SecurityGroupInputs }

func (s SecurityGroupState) inputs() SecurityGroupInputs { return s.SecurityGroupInputs }

// SecurityGroup is a security group in a program.
type SecurityGroup struct{ pulumi.CustomResourceState }

// NewSecurityGroup adds a security group with its rules to the program.
func NewSecurityGroup(ctx *pulumi.Context, in SecurityGroupInputs, options ...pulumi.ResourceOption) (*SecurityGroup, error) {
	r := &SecurityGroup{}
	return r, register(ctx, "SecurityGroup", in, nil, r, options)
}

type securityGroup struct {
	controller[SecurityGroupInputs, SecurityGroupState]
}

// Annotate names the resource's type.
func (*securityGroup) Annotate(a infer.Annotator) { a.SetToken("openstack", "SecurityGroup") }

type groupKind struct{ Clients }

func (groupKind) word() string { return "security group" }

func (k groupKind) find(ctx context.Context, in SecurityGroupInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	pages, err := groups.List(client, groups.ListOpts{ProjectID: projectOf(client), Name: in.mark().Name()}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := groups.ExtractGroups(pages)
	if err != nil {
		return "", err
	}
	var candidates []candidate
	for _, g := range list {
		candidates = append(candidates, candidate{id: g.ID, name: g.Name, tags: g.Tags, description: g.Description})
	}
	return pick(k.word(), in.mark(), candidates)
}

func (k groupKind) make(ctx context.Context, in SecurityGroupInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	g, err := groups.Create(ctx, client, groups.CreateOpts{Name: in.mark().Name(), Description: in.mark().Description()}).Extract()
	if err != nil {
		return "", err
	}
	return g.ID, nil
}

// settle makes the rules match the list: it adds missing rules before it removes extra ones
// (S-12).
func (k groupKind) settle(ctx context.Context, id string, in SecurityGroupInputs) (SecurityGroupState, error) {
	client, g, err := k.get(ctx, id)
	if err != nil {
		return SecurityGroupState{}, err
	}
	if err := tag(ctx, client, "security-groups", id, g.Tags, in.Ownership); err != nil {
		return SecurityGroupState{}, err
	}
	have := map[Rule]string{}
	var extra []string
	for _, r := range g.Rules {
		if r.Direction != string(rules.DirIngress) {
			continue
		}
		if _, twice := have[ruleOf(r)]; twice {
			extra = append(extra, r.ID)
		}
		have[ruleOf(r)] = r.ID
	}
	for _, want := range in.Rules {
		want = want.normal()
		if _, ok := have[want]; ok {
			delete(have, want)
			continue
		}
		if err := k.allow(ctx, client, id, want); err != nil {
			return SecurityGroupState{}, err
		}
	}
	for _, ruleID := range have {
		extra = append(extra, ruleID)
	}
	for _, ruleID := range extra {
		if err := gone(rules.Delete(ctx, client, ruleID).ExtractErr()); err != nil && err != errGone {
			return SecurityGroupState{}, fmt.Errorf("removing a rule: %w", err)
		}
	}
	return SecurityGroupState{in}, nil
}

func (k groupKind) allow(ctx context.Context, client *gophercloud.ServiceClient, id string, r Rule) error {
	family := rules.EtherType4
	if prefix, err := netip.ParsePrefix(r.CIDR); err == nil && prefix.Addr().Is6() {
		family = rules.EtherType6
	}
	options := rules.CreateOpts{Direction: rules.DirIngress, EtherType: family, SecGroupID: id,
		Protocol: rules.RuleProtocol(r.Protocol), PortRangeMin: r.PortMin, PortRangeMax: r.PortMax, RemoteIPPrefix: r.CIDR}
	if r.CIDR == "" {
		options.RemoteGroupID = id
	}
	if _, err := rules.Create(ctx, client, options).Extract(); err != nil {
		return fmt.Errorf("adding a rule: %w", err)
	}
	return nil
}

// normal is the rule as Neutron returns it: networks without host bits.
func (r Rule) normal() Rule {
	if prefix, err := netip.ParsePrefix(r.CIDR); err == nil {
		r.CIDR = prefix.Masked().String()
	}
	return r
}

func ruleOf(r rules.SecGroupRule) Rule {
	rule := Rule{Protocol: r.Protocol, PortMin: r.PortRangeMin, PortMax: r.PortRangeMax, CIDR: r.RemoteIPPrefix}
	switch {
	case r.RemoteGroupID != "" && r.RemoteGroupID != r.SecGroupID:
		rule.CIDR = "group " + r.RemoteGroupID // never one of ours
	case r.RemoteGroupID == "" && r.RemoteIPPrefix == "" && r.EtherType == string(rules.EtherType6):
		rule.CIDR = "::/0"
	case r.RemoteGroupID == "" && r.RemoteIPPrefix == "":
		rule.CIDR = "0.0.0.0/0"
	}
	return rule.normal()
}

func (k groupKind) read(ctx context.Context, id string, in SecurityGroupInputs) (SecurityGroupState, error) {
	_, g, err := k.get(ctx, id)
	if err != nil {
		return SecurityGroupState{}, err
	}
	have := map[Rule]bool{}
	for _, r := range g.Rules {
		if r.Direction == string(rules.DirIngress) {
			have[ruleOf(r)] = true
		}
	}
	var list []Rule // in the order of the inputs, then the extra ones
	for _, r := range in.Rules {
		if have[r.normal()] {
			list = append(list, r)
			delete(have, r.normal())
		}
	}
	for r := range have {
		list = append(list, r)
	}
	in.Rules = list
	return SecurityGroupState{in}, nil
}

func (k groupKind) remove(ctx context.Context, id string, _ SecurityGroupState) error {
	client, err := k.Network()
	if err != nil {
		return err
	}
	return gone(groups.Delete(ctx, client, id).ExtractErr())
}

func (k groupKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *groups.SecGroup, error) {
	client, err := k.Network()
	if err != nil {
		return nil, nil, err
	}
	g, err := groups.Get(ctx, client, id).Extract()
	return client, g, gone(err)
}
