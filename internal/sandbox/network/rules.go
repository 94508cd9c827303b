package network

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// ruleView is a rule as clients see it.
type ruleView struct {
	model.SecurityGroupRule
	shown
	Normalized     *string `json:"normalized_cidr"`
	BelongsDefault *bool   `json:"belongs_to_default_sg"`
}

func (n *Core) rules() resource[model.SecurityGroupRule, ruleView] {
	return resource[model.SecurityGroupRule, ruleView]{
		core: n, one: "security_group_rule", many: "security_group_rules", path: "/v2.0/security-group-rules",
		table: n.model.Rules, of: n.model.RulesOf,
		meta: func(v *model.SecurityGroupRule) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "SecurityGroupRuleNotFound", "Security group rule %s does not exist", id)
		},
		sees: func(r store.Reader, project string, v model.SecurityGroupRule) bool {
			group, _ := n.model.Groups.Get(r, v.GroupID)
			return group.ProjectID == project || n.isShared(r, v.GroupID, project)
		},
		view: n.viewRule, create: n.createRule, remove: n.deleteRule, prepare: n.ensureDefault, noTags: true,
	}
}

func (n *Core) viewRule(r store.Reader, _ *api.Principal, v model.SecurityGroupRule) ruleView {
	view := ruleView{SecurityGroupRule: v, shown: show(v.NetworkMeta)}
	group, _ := n.model.Groups.Get(r, v.GroupID)
	isDefault := group.Name == defaultGroupName
	view.BelongsDefault = &isDefault
	if v.RemotePrefix != nil {
		if prefix, err := rulePrefix(*v.RemotePrefix); err == nil {
			normalized := prefix.Masked().String()
			view.Normalized = &normalized
		}
	}
	return view
}

// rulePrefix reads a prefix, or an address as a prefix of its own.
func rulePrefix(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix, nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, api.Errorf(http.StatusBadRequest, "InvalidCIDR", "Invalid CIDR %s given as IP prefix.", text)
	}
	return netip.PrefixFrom(address, address.BitLen()), nil
}

// ruleInput is a rule to create. Numbers may be text, as Neutron takes both.
type ruleInput struct {
	owned
	Description   api.Optional[string] `json:"description"`
	GroupID       api.Optional[string] `json:"security_group_id"`
	Direction     api.Optional[string] `json:"direction"`
	EtherType     api.Optional[string] `json:"ethertype"`
	Protocol      api.Optional[scalar] `json:"protocol"`
	PortMin       api.Optional[scalar] `json:"port_range_min"`
	PortMax       api.Optional[scalar] `json:"port_range_max"`
	RemotePrefix  api.Optional[string] `json:"remote_ip_prefix"`
	RemoteGroup   api.Optional[string] `json:"remote_group_id"`
	RemoteAddress api.Optional[string] `json:"remote_address_group_id"`
}

// scalar is a number or a text.
type scalar string

// UnmarshalJSON keeps the text of a number.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		*s = scalar(number)
		return nil
	}
	return json.Unmarshal(raw, (*string)(s))
}

func (n *Core) createRule(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.SecurityGroupRule, error) {
	var in ruleInput
	var none model.SecurityGroupRule
	if err := decodeInto(raw, &in, reflect.TypeFor[ruleView](), http.MethodPost); err != nil {
		return none, err
	}
	if err := require("security_group_id", in.GroupID.Value != ""); err != nil {
		return none, err
	}
	if err := require("direction", in.Direction.Value != ""); err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	group, err := n.groups().find(tx, p, in.GroupID.Value)
	if err != nil {
		return none, err
	}
	if !owns(p, group.ProjectID) {
		return none, disallowed("rule:create_security_group_rule")
	}
	v := model.SecurityGroupRule{NetworkMeta: n.newMeta(project, in.owned), GroupID: group.ID, Direction: in.Direction.Value}
	if err := n.fillRule(tx, p, &v, in); err != nil {
		return none, err
	}
	if err := n.newRule(tx, v); err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "security_group_rule"); err != nil {
		return none, err
	}
	n.model.Rules.Put(tx, v)
	n.touchGroup(tx, v.GroupID)
	return v, nil
}

// newRule refuses a rule that says what another one does.
func (n *Core) newRule(r store.Reader, v model.SecurityGroupRule) error {
	for other := range n.model.RulesOfGroup.Each(r, v.GroupID) {
		if sameRule(v, other) {
			return conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", other.ID)
		}
	}
	return nil
}

func sameRule(a, b model.SecurityGroupRule) bool {
	a.NetworkMeta, b.NetworkMeta = model.NetworkMeta{}, model.NetworkMeta{}
	for _, rule := range []*model.SecurityGroupRule{&a, &b} {
		if rule.RemotePrefix == nil {
			continue
		}
		prefix, err := rulePrefix(*rule.RemotePrefix)
		if err == nil {
			canonical := prefix.Masked().String()
			rule.RemotePrefix = &canonical
		}
	}
	return reflect.DeepEqual(a, b)
}

func (n *Core) touchGroup(tx *store.Tx, id string) {
	n.model.Groups.Change(tx, id, func(group *model.SecurityGroup) { n.touch(&group.NetworkMeta) })
}

func (n *Core) deleteRule(tx *store.Tx, _ *api.Principal, v model.SecurityGroupRule) error {
	n.touchGroup(tx, v.GroupID)
	return nil
}
