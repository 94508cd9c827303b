package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// addressGroupView is an address group as clients see it.
type addressGroupView struct {
	model.AddressGroup
	shown
	Shared bool `json:"shared"`
}

func (n *Core) addressGroups() resource[model.AddressGroup, addressGroupView] {
	return resource[model.AddressGroup, addressGroupView]{
		core: n, one: "address_group", many: "address_groups", path: "/v2.0/address-groups",
		table: n.model.AddressGroups, of: n.model.AddressGroupsOf,
		meta: func(v *model.AddressGroup) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "AddressGroupNotFound", "Address group %s could not be found.", id)
		},
		shared: func(r store.Reader, project string) iter.Seq[model.AddressGroup] {
			return sharedObjects(n, r, n.model.AddressGroups, "address_group", project)
		},
		sees: func(r store.Reader, project string, v model.AddressGroup) bool { return n.isShared(r, v.ID, project) },
		view: func(r store.Reader, p *api.Principal, v model.AddressGroup) addressGroupView {
			v.Addresses = list(v.Addresses)
			return addressGroupView{v, show(v.NetworkMeta), n.isShared(r, v.ID, projectOf(p, v.ProjectID))}
		},
		create: n.createAddressGroup, update: n.updateAddressGroup, remove: n.deleteAddressGroup,
	}
}

func (n *Core) addressGroupRoutes() []api.Route {
	path := "PUT /v2.0/address-groups/{id}/"
	return append(n.addressGroups().routes(),
		api.Route{Pattern: path + "add_addresses", Role: api.Member, Handle: n.addAddresses},
		api.Route{Pattern: path + "remove_addresses", Role: api.Member, Handle: n.removeAddresses})
}

type addressGroupChange struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
}

func (n *Core) createAddressGroup(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.AddressGroup, error) {
	var in struct {
		addressGroupChange
		owned
		Addresses api.Optional[[]string] `json:"addresses"`
	}
	var v model.AddressGroup
	if err := decodeInto(raw, &in, reflect.TypeFor[addressGroupView](), http.MethodPost); err != nil {
		return v, err
	}
	project, err := in.project(p)
	if err != nil {
		return v, err
	}
	v = model.AddressGroup{NetworkMeta: n.newMeta(project, in.owned), Name: in.Name.Or(""), Addresses: []string{}}
	in.Description.Apply(&v.Description)
	if v.Addresses, err = canonicalPrefixes(in.Addresses.Value); err != nil {
		return v, err
	}
	if err := lengths(v.Name, v.Description); err != nil {
		return v, err
	}
	n.model.AddressGroups.Put(tx, v)
	return v, nil
}

func canonicalPrefixes(texts []string) ([]string, error) {
	prefixes := []string{}
	for _, text := range texts {
		prefix, err := rulePrefix(text)
		if err != nil {
			return nil, err
		}
		if canonical := prefix.Masked().String(); !slices.Contains(prefixes, canonical) {
			prefixes = append(prefixes, canonical)
		}
	}
	return prefixes, nil
}

func (n *Core) updateAddressGroup(_ *store.Tx, _ *api.Principal, old model.AddressGroup, raw json.RawMessage) (model.AddressGroup, error) {
	var in addressGroupChange
	if err := decodeInto(raw, &in, reflect.TypeFor[addressGroupView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	return v, lengths(v.Name, v.Description)
}

func (n *Core) deleteAddressGroup(tx *store.Tx, _ *api.Principal, v model.AddressGroup) error {
	for range n.model.RulesOfRemote.Each(tx, v.ID) {
		return conflict("AddressGroupInUse", "Address group %s is in use on one or more security group rules.", v.ID)
	}
	return nil
}

func (n *Core) addAddresses(c *api.Call) error {
	return n.editAddresses(c, func(has, said []string) ([]string, error) {
		for _, prefix := range said {
			if slices.Contains(has, prefix) {
				return nil, conflict("AddressesAlreadyExist", "Addresses %s already exist in the address group %s.", prefix, c.Path("id"))
			}
		}
		return append(slices.Clone(has), said...), nil
	})
}

func (n *Core) removeAddresses(c *api.Call) error {
	return n.editAddresses(c, func(has, said []string) ([]string, error) {
		for _, prefix := range said {
			if !slices.Contains(has, prefix) {
				return nil, api.Errorf(http.StatusNotFound, "AddressesNotFound", "Addresses %s not found in the address group %s.", prefix, c.Path("id"))
			}
		}
		return slices.DeleteFunc(slices.Clone(has), func(prefix string) bool { return slices.Contains(said, prefix) }), nil
	})
}

func (n *Core) editAddresses(c *api.Call, edit func(has, said []string) ([]string, error)) error {
	var in struct {
		Addresses []string `json:"addresses"`
	}
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	raw, wrapped := body["address_group"]
	if !wrapped {
		raw, _ = json.Marshal(body)
	}
	if json.Unmarshal(raw, &in) != nil {
		return api.BadRequest("Invalid input for addresses.")
	}
	said, err := canonicalPrefixes(in.Addresses)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		group, err := n.addressGroups().change(tx, c, "update")
		if err != nil {
			return err
		}
		if group.Addresses, err = edit(group.Addresses, said); err != nil {
			return err
		}
		n.addressGroups().put1(tx, group)
		return n.addressGroups().replyWith(c, tx, group.ID)
	})
}
