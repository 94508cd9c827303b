package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// qosView is a policy as clients see it, with all attributes of its rules.
type qosView struct {
	model.QoSPolicy
	shown
	Shared bool             `json:"shared"`
	Rules  []map[string]any `json:"rules"`
}

func (n *Core) qosPolicies() resource[model.QoSPolicy, qosView] {
	return resource[model.QoSPolicy, qosView]{
		core: n, one: "policy", many: "policies", path: "/v2.0/qos/policies",
		table: n.model.QoS, of: n.model.QoSOf,
		meta: func(v *model.QoSPolicy) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "QosPolicyNotFound", "QoS policy %s could not be found.", id)
		},
		shared: func(r store.Reader, project string) iter.Seq[model.QoSPolicy] {
			return sharedObjects(n, r, n.model.QoS, "qos_policy", project)
		},
		sees: func(r store.Reader, project string, v model.QoSPolicy) bool { return n.isShared(r, v.ID, project) },
		view: func(r store.Reader, p *api.Principal, v model.QoSPolicy) qosView {
			view := qosView{QoSPolicy: v, shown: show(v.NetworkMeta), Rules: []map[string]any{},
				Shared: n.isShared(r, v.ID, projectOf(p, v.ProjectID))}
			for _, rule := range v.Rules {
				view.Rules = append(view.Rules, ruleAttributes(rule, v.ID))
			}
			return view
		},
		create: n.createQoS, update: n.updateQoS, remove: n.deleteQoS, writers: api.Admin,
	}
}

type qosChange struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
	Shared      api.Optional[bool]   `json:"shared"`
	IsDefault   api.Optional[bool]   `json:"is_default"`
}

func (in qosChange) apply(v *model.QoSPolicy) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.IsDefault.Apply(&v.IsDefault)
	return lengths(v.Name, v.Description)
}

func (n *Core) createQoS(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.QoSPolicy, error) {
	var in struct {
		qosChange
		owned
	}
	var v model.QoSPolicy
	if err := decodeInto(raw, &in, reflect.TypeFor[qosView](), http.MethodPost); err != nil {
		return v, err
	}
	if err := require("name", in.Name.Set); err != nil {
		return v, err
	}
	project, err := in.project(p)
	if err != nil {
		return v, err
	}
	v.NetworkMeta, v.Rules = n.newMeta(project, in.owned), []model.QoSRule{}
	if err := in.apply(&v); err != nil {
		return v, err
	}
	n.model.QoS.Put(tx, v)
	n.share(tx, "qos_policy", v.ID, project, accessShared, in.Shared.Value)
	return v, nil
}

func (n *Core) updateQoS(tx *store.Tx, _ *api.Principal, old model.QoSPolicy, raw json.RawMessage) (model.QoSPolicy, error) {
	var in qosChange
	if err := decodeInto(raw, &in, reflect.TypeFor[qosView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	if in.Shared.Set {
		n.share(tx, "qos_policy", v.ID, v.ProjectID, accessShared, in.Shared.Value)
	}
	return v, in.apply(&v)
}

func (n *Core) deleteQoS(tx *store.Tx, _ *api.Principal, v model.QoSPolicy) error {
	used := func(kind, id string) error {
		return conflict("QosPolicyInUse", "QoS Policy %s is used by %s %s.", v.ID, kind, id)
	}
	for network := range n.model.Networks.All(tx) {
		if text(network.QoSPolicyID) == v.ID {
			return used("network", network.ID)
		}
	}
	for port := range n.model.Ports.All(tx) {
		if text(port.QoSPolicyID) == v.ID {
			return used("port", port.ID)
		}
	}
	for floating := range n.model.FloatingIPs.All(tx) {
		if text(floating.QoSPolicyID) == v.ID {
			return used("floatingip", floating.ID)
		}
	}
	return nil
}

// checkQoS refuses a policy that does not exist.
func (n *Core) checkQoS(r store.Reader, id *string) error {
	if id == nil {
		return nil
	}
	if _, ok := n.model.QoS.Get(r, *id); !ok {
		return n.qosPolicies().missing(*id)
	}
	return nil
}
