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

// scopeView is an address scope as clients see it.
type scopeView struct {
	model.AddressScope
	shown
	Shared bool `json:"shared"`
}

func (n *Core) scopes() resource[model.AddressScope, scopeView] {
	return resource[model.AddressScope, scopeView]{
		core: n, one: "address_scope", many: "address_scopes", path: "/v2.0/address-scopes",
		table: n.model.Scopes, of: n.model.ScopesOf,
		meta: func(v *model.AddressScope) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "AddressScopeNotFound", "Address scope %s could not be found.", id)
		},
		shared: func(r store.Reader, project string) iter.Seq[model.AddressScope] {
			return sharedObjects(n, r, n.model.Scopes, "address_scope", project)
		},
		sees: func(r store.Reader, project string, v model.AddressScope) bool { return n.isShared(r, v.ID, project) },
		view: func(r store.Reader, p *api.Principal, v model.AddressScope) scopeView {
			return scopeView{v, show(v.NetworkMeta), n.isShared(r, v.ID, projectOf(p, v.ProjectID))}
		},
		create: n.createScope, update: n.updateScope, remove: n.deleteScope, noTags: true,
	}
}

type scopeChange struct {
	Name   api.Optional[string] `json:"name"`
	Shared api.Optional[bool]   `json:"shared"`
}

func (n *Core) createScope(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.AddressScope, error) {
	var in struct {
		scopeChange
		owned
		IPVersion api.Optional[int] `json:"ip_version"`
	}
	var v model.AddressScope
	if err := decodeInto(raw, &in, reflect.TypeFor[scopeView](), http.MethodPost); err != nil {
		return v, err
	}
	if err := adminOnly(p, "create_address_scope", attribute{"shared", in.Shared.Value}); err != nil {
		return v, err
	}
	if err := require("ip_version", in.IPVersion.Set); err != nil {
		return v, err
	}
	if in.IPVersion.Value != 4 && in.IPVersion.Value != 6 {
		return v, api.BadRequest("Invalid input for ip_version. Reason: '%d' is not in [4, 6].", in.IPVersion.Value)
	}
	project, err := in.project(p)
	if err != nil {
		return v, err
	}
	v = model.AddressScope{NetworkMeta: n.newMeta(project, in.owned), Name: in.Name.Or(""), IPVersion: in.IPVersion.Value}
	if err := lengths(v.Name, ""); err != nil {
		return v, err
	}
	n.model.Scopes.Put(tx, v)
	n.share(tx, "address_scope", v.ID, project, accessShared, in.Shared.Value)
	return v, nil
}

func (n *Core) updateScope(tx *store.Tx, p *api.Principal, old model.AddressScope, raw json.RawMessage) (model.AddressScope, error) {
	var in scopeChange
	if err := decodeInto(raw, &in, reflect.TypeFor[scopeView](), http.MethodPut); err != nil {
		return old, err
	}
	if err := adminOnly(p, "update_address_scope", attribute{"shared", in.Shared.Set}); err != nil {
		return old, err
	}
	if in.Shared.Set && !in.Shared.Value && n.allows(tx, old.ID, everyone, accessShared) {
		return old, api.Errorf(http.StatusBadRequest, "AddressScopeUpdateError",
			"Unable to update address scope %s : Shared address scope can't be unshared.", old.ID)
	}
	v := old
	in.Name.Apply(&v.Name)
	if in.Shared.Value {
		n.share(tx, "address_scope", v.ID, v.ProjectID, accessShared, true)
	}
	return v, lengths(v.Name, "")
}

func (n *Core) deleteScope(tx *store.Tx, _ *api.Principal, v model.AddressScope) error {
	for pool := range n.model.Pools.All(tx) {
		if text(pool.AddressScopeID) == v.ID {
			return conflict("AddressScopeInUse", "Unable to complete operation on address scope %s. There are one or more subnet pools in use on the address scope.", v.ID)
		}
	}
	return nil
}
