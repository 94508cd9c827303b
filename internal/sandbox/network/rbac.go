package network

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// policyView is an RBAC policy as clients see it.
type policyView struct {
	model.RBACPolicy
	shown
	TargetProject string `json:"target_project_id"`
}

func (n *Core) policies() resource[model.RBACPolicy, policyView] {
	return resource[model.RBACPolicy, policyView]{
		core: n, one: "rbac_policy", many: "rbac_policies", path: "/v2.0/rbac-policies",
		table: n.model.Policies, of: n.model.PoliciesOf,
		meta: func(v *model.RBACPolicy) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "RbacPolicyNotFound", "RBAC policy of type rbac_policy with ID %s not found", id)
		},
		view: func(_ store.Reader, _ *api.Principal, v model.RBACPolicy) policyView {
			return policyView{v, show(v.NetworkMeta), v.Target}
		},
		create: n.createPolicy, update: n.updatePolicy, remove: n.deletePolicy, noTags: true,
	}
}

type policyInput struct {
	owned
	ObjectType api.Optional[string] `json:"object_type"`
	ObjectID   api.Optional[string] `json:"object_id"`
	Action     api.Optional[string] `json:"action"`
	Target     api.Optional[string] `json:"target_tenant"`
	TargetToo  api.Optional[string] `json:"target_project_id"`
}

func (n *Core) createPolicy(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.RBACPolicy, error) {
	var in policyInput
	var none model.RBACPolicy
	if err := decodeInto(raw, &in, reflect.TypeFor[policyView](), http.MethodPost); err != nil {
		return none, err
	}
	v := model.RBACPolicy{ObjectType: in.ObjectType.Value, ObjectID: in.ObjectID.Value, Action: in.Action.Value,
		Target: in.Target.Or(in.TargetToo.Value)}
	for name, value := range map[string]string{"object_type": v.ObjectType, "object_id": v.ObjectID, "action": v.Action, "target_tenant": v.Target} {
		if err := require(name, value != ""); err != nil {
			return none, err
		}
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	if err := n.checkPolicy(tx, p, v); err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "rbac_policy"); err != nil {
		return none, err
	}
	v.NetworkMeta = n.newMeta(project, in.owned)
	n.model.Policies.Put(tx, v)
	n.noteExternal(tx, v.ObjectID)
	return v, nil
}

// checkPolicy refuses what the caller does not own, and what exists.
func (n *Core) checkPolicy(r store.Reader, p *api.Principal, v model.RBACPolicy) error {
	owner, known, err := n.objectOwner(r, v)
	if err != nil {
		return err
	}
	if !known {
		return api.Errorf(http.StatusNotFound, "RbacPolicyInitError", "%s %s could not be found.", v.ObjectType, v.ObjectID)
	}
	if !owns(p, owner) {
		return api.Errorf(http.StatusNotFound, "ObjectNotFound", "Object %s not found.", v.ObjectID)
	}
	if err := adminOnly(p, "create_rbac_policy", attribute{"target_tenant", v.Target == everyone}); err != nil {
		return err
	}
	for other := range n.model.PoliciesOfObject.Each(r, v.ObjectID) {
		if other.Action == v.Action && other.Target == v.Target {
			return conflict("DuplicateRbacPolicy", "An RBAC policy already exists with those values.")
		}
	}
	return nil
}

// objectOwner is the project of the object of a policy.
func (n *Core) objectOwner(r store.Reader, v model.RBACPolicy) (owner string, known bool, err error) {
	if v.Action != accessShared && (v.ObjectType != "network" || v.Action != accessExternal) {
		return "", false, api.BadRequest("Invalid action '%s' for object type '%s'.", v.Action, v.ObjectType)
	}
	switch v.ObjectType {
	case "network":
		return projectIn(r, n.networks(), v.ObjectID)
	case "security_group":
		return projectIn(r, n.groups(), v.ObjectID)
	case "subnetpool":
		return projectIn(r, n.pools(), v.ObjectID)
	case "address_scope":
		return projectIn(r, n.scopes(), v.ObjectID)
	case "address_group":
		return projectIn(r, n.addressGroups(), v.ObjectID)
	case "qos_policy":
		return projectIn(r, n.qosPolicies(), v.ObjectID)
	}
	return "", false, api.BadRequest("Invalid input for object_type. Reason: '%s' is not in ['network', 'qos_policy', 'security_group', 'address_scope', 'subnetpool', 'address_group'].", v.ObjectType)
}

func projectIn[R, V any](r store.Reader, res resource[R, V], id string) (string, bool, error) {
	record, ok := res.table.Get(r, id)
	return res.meta(&record).ProjectID, ok, nil
}

// noteExternal lets a network be external exactly while a policy says so.
func (n *Core) noteExternal(tx *store.Tx, objectID string) {
	external := false
	for policy := range n.model.PoliciesOfObject.Each(tx, objectID) {
		external = external || policy.Action == accessExternal
	}
	if network, ok := n.model.Networks.Get(tx, objectID); ok && network.External != external {
		network.External = external
		n.networks().put1(tx, network)
	}
}

func (n *Core) updatePolicy(tx *store.Tx, p *api.Principal, old model.RBACPolicy, raw json.RawMessage) (model.RBACPolicy, error) {
	var in struct {
		Target    api.Optional[string] `json:"target_tenant"`
		TargetToo api.Optional[string] `json:"target_project_id"`
	}
	if err := decodeInto(raw, &in, reflect.TypeFor[policyView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	v.Target = in.Target.Or(in.TargetToo.Or(old.Target))
	if v.Target == old.Target {
		return v, nil
	}
	if err := n.policyInUse(tx, old); err != nil {
		return old, err
	}
	return v, n.checkPolicy(tx, p, v)
}

func (n *Core) deletePolicy(tx *store.Tx, _ *api.Principal, v model.RBACPolicy) error {
	if err := n.policyInUse(tx, v); err != nil {
		return err
	}
	n.model.Policies.Delete(tx, v.ID)
	n.noteExternal(tx, v.ObjectID)
	return nil
}

// policyInUse refuses to take a network from those who have ports on it.
func (n *Core) policyInUse(r store.Reader, v model.RBACPolicy) error {
	network, ok := n.model.Networks.Get(r, v.ObjectID)
	if !ok {
		return nil
	}
	for port := range n.model.PortsOfNetwork.Each(r, network.ID) {
		others := port.ProjectID != "" && port.ProjectID != network.ProjectID
		if v.Action == accessShared && others && (v.Target == everyone || v.Target == port.ProjectID) {
			return conflict("RbacPolicyInUse", "RBAC policy on object %s cannot be removed because other objects depend on it.\nDetails: Callback failed: there are ports of project %s.",
				v.ObjectID, port.ProjectID)
		}
	}
	return nil
}
