package network

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// ruleKind is one type of QoS rule and its name in paths and bodies.
type ruleKind struct{ kind, one, many string }

func ruleKinds() []ruleKind {
	return []ruleKind{
		{"bandwidth_limit", "bandwidth_limit_rule", "bandwidth_limit_rules"},
		{"dscp_marking", "dscp_marking_rule", "dscp_marking_rules"},
		{"minimum_bandwidth", "minimum_bandwidth_rule", "minimum_bandwidth_rules"},
	}
}

// ruleAttributes are those of a rule's type.
func ruleAttributes(rule model.QoSRule, policyID string) map[string]any {
	view := map[string]any{"id": rule.ID, "qos_policy_id": policyID, "type": rule.Type}
	switch rule.Type {
	case "bandwidth_limit":
		view["max_kbps"], view["max_burst_kbps"], view["direction"] = rule.MaxKBps, rule.MaxBurst, rule.Direction
	case "minimum_bandwidth":
		view["min_kbps"], view["direction"] = rule.MinKBps, rule.Direction
	default:
		view["dscp_mark"] = rule.DSCPMark
	}
	return view
}

// shownAlone is a rule in an answer of its own, which does not say the type.
func shownAlone(rule model.QoSRule, policyID string) map[string]any {
	view := ruleAttributes(rule, policyID)
	delete(view, "type")
	return view
}

type qosRuleInput struct {
	Direction api.Optional[string] `json:"direction"`
	MaxKBps   api.Optional[int]    `json:"max_kbps"`
	MaxBurst  api.Optional[int]    `json:"max_burst_kbps"`
	MinKBps   api.Optional[int]    `json:"min_kbps"`
	DSCPMark  api.Optional[int]    `json:"dscp_mark"`
}

func (in qosRuleInput) apply(rule *model.QoSRule) error {
	in.Direction.Apply(&rule.Direction)
	in.MaxKBps.Apply(&rule.MaxKBps)
	in.MaxBurst.Apply(&rule.MaxBurst)
	in.MinKBps.Apply(&rule.MinKBps)
	in.DSCPMark.Apply(&rule.DSCPMark)
	if rule.Type == "dscp_marking" {
		return between("dscp_mark", rule.DSCPMark, 0, 56)
	}
	return oneOf("direction", rule.Direction, "egress", "ingress")
}

func (n *Core) qosRoutes() []api.Route {
	routes := append(n.qosPolicies().routes(),
		api.Route{Pattern: "GET /v2.0/qos/rule-types", Role: api.Reader, Handle: listRuleTypes},
		api.Route{Pattern: "GET /v2.0/qos/rule-types/{type}", Role: api.Admin, Handle: showRuleType})
	for _, kind := range ruleKinds() {
		path := "/v2.0/qos/policies/{id}/" + kind.many
		one := path + "/{rule}"
		routes = append(routes,
			api.Route{Pattern: "GET " + path, Role: api.Reader, Handle: func(c *api.Call) error { return n.listQoSRules(c, kind) }},
			api.Route{Pattern: "POST " + path, Role: api.Admin, Handle: func(c *api.Call) error { return n.createQoSRule(c, kind) }},
			api.Route{Pattern: "GET " + one, Role: api.Reader, Handle: func(c *api.Call) error { return n.showQoSRule(c, kind) }},
			api.Route{Pattern: "PUT " + one, Role: api.Admin, Handle: func(c *api.Call) error { return n.updateQoSRule(c, kind) }},
			api.Route{Pattern: "DELETE " + one, Role: api.Admin, Handle: n.deleteQoSRule},
		)
	}
	return routes
}

func listRuleTypes(c *api.Call) error {
	types := []any{}
	for _, kind := range ruleKinds() {
		types = append(types, map[string]string{"type": kind.kind})
	}
	return c.Reply(http.StatusOK, map[string]any{"rule_types": types})
}

func showRuleType(c *api.Call) error {
	for _, kind := range ruleKinds() {
		if kind.kind == c.Path("type") {
			return c.Reply(http.StatusOK, map[string]any{"rule_type": map[string]any{"type": kind.kind, "drivers": []any{}}})
		}
	}
	return api.Errorf(http.StatusNotFound, "QosRuleTypeNotFound", "Rule type %s could not be found", c.Path("type"))
}

func (n *Core) listQoSRules(c *api.Call, kind ruleKind) error {
	return c.View(func(r store.Reader) error {
		policy, err := n.qosPolicies().find(r, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		rules := []any{}
		for _, rule := range policy.Rules {
			if rule.Type == kind.kind {
				rules = append(rules, shownAlone(rule, policy.ID))
			}
		}
		return c.Reply(http.StatusOK, map[string]any{kind.many: rules})
	})
}

// qosRule finds the rule in the path.
func (n *Core) qosRule(r store.Reader, c *api.Call) (model.QoSPolicy, int, error) {
	policy, err := n.qosPolicies().find(r, c.Principal, c.Path("id"))
	if err != nil {
		return policy, 0, err
	}
	i := slices.IndexFunc(policy.Rules, func(rule model.QoSRule) bool { return rule.ID == c.Path("rule") })
	if i < 0 {
		return policy, 0, api.Errorf(http.StatusNotFound, "QosRuleNotFound",
			"QoS rule %s for policy %s could not be found.", c.Path("rule"), policy.ID)
	}
	return policy, i, nil
}

func (n *Core) showQoSRule(c *api.Call, kind ruleKind) error {
	return c.View(func(r store.Reader) error {
		policy, i, err := n.qosRule(r, c)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{kind.one: shownAlone(policy.Rules[i], policy.ID)})
	})
}

func (n *Core) createQoSRule(c *api.Call, kind ruleKind) error {
	var in qosRuleInput
	if err := c.DecodeIn(kind.one, &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		policy, err := n.qosPolicies().find(tx, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		rule := model.QoSRule{ID: model.NewID(), Type: kind.kind, Direction: "egress"}
		if err := in.apply(&rule); err != nil {
			return err
		}
		for _, other := range policy.Rules {
			if other.Type == rule.Type && other.Direction == rule.Direction {
				return conflict("QoSRulesConflict", "Rule %s conflicts with rule %s which already exists in QoS Policy %s.", rule.Type, other.ID, policy.ID)
			}
		}
		policy.Rules = append(slices.Clone(policy.Rules), rule)
		n.qosPolicies().put1(tx, policy)
		return c.Reply(http.StatusCreated, map[string]any{kind.one: shownAlone(rule, policy.ID)})
	})
}

func (n *Core) updateQoSRule(c *api.Call, kind ruleKind) error {
	var in qosRuleInput
	if err := c.DecodeIn(kind.one, &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		policy, i, err := n.qosRule(tx, c)
		if err != nil {
			return err
		}
		policy.Rules = slices.Clone(policy.Rules)
		if err := in.apply(&policy.Rules[i]); err != nil {
			return err
		}
		n.qosPolicies().put1(tx, policy)
		return c.Reply(http.StatusOK, map[string]any{kind.one: shownAlone(policy.Rules[i], policy.ID)})
	})
}

func (n *Core) deleteQoSRule(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		policy, i, err := n.qosRule(tx, c)
		if err != nil {
			return err
		}
		policy.Rules = slices.Delete(slices.Clone(policy.Rules), i, i+1)
		n.qosPolicies().put1(tx, policy)
		return c.Reply(http.StatusNoContent, nil)
	})
}
