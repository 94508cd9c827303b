package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/netip"
	"reflect"

	"go4.org/netipx"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// poolView is a subnet pool as clients see it.
type poolView struct {
	model.SubnetPool
	shown
	Shared bool `json:"shared"`
}

func (n *Core) pools() resource[model.SubnetPool, poolView] {
	return resource[model.SubnetPool, poolView]{
		core: n, one: "subnetpool", many: "subnetpools", path: "/v2.0/subnetpools",
		table: n.model.Pools, of: n.model.PoolsOf,
		meta: func(v *model.SubnetPool) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "SubnetPoolNotFound", "Subnet pool %s could not be found.", id)
		},
		shared: func(r store.Reader, project string) iter.Seq[model.SubnetPool] {
			return sharedObjects(n, r, n.model.Pools, "subnetpool", project)
		},
		sees: func(r store.Reader, project string, v model.SubnetPool) bool { return n.isShared(r, v.ID, project) },
		view: func(r store.Reader, p *api.Principal, v model.SubnetPool) poolView {
			return poolView{v, show(v.NetworkMeta), n.isShared(r, v.ID, projectOf(p, v.ProjectID))}
		},
		create: n.createPool, update: n.updatePool, remove: n.deletePool,
	}
}

type poolChange struct {
	Name         api.Optional[string]   `json:"name"`
	Description  api.Optional[string]   `json:"description"`
	Prefixes     api.Optional[[]string] `json:"prefixes"`
	MinPrefixLen api.Optional[scalar]   `json:"min_prefixlen"`
	MaxPrefixLen api.Optional[scalar]   `json:"max_prefixlen"`
	DefaultLen   api.Optional[scalar]   `json:"default_prefixlen"`
	DefaultQuota api.Optional[int]      `json:"default_quota"`
	ScopeID      api.Optional[string]   `json:"address_scope_id"`
	IsDefault    api.Optional[bool]     `json:"is_default"`
}

// apply puts what was said in the record; prefixes can be added, not taken
// away.
func (in poolChange) apply(v *model.SubnetPool) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.IsDefault.Apply(&v.IsDefault)
	pointer(in.DefaultQuota, &v.DefaultQuota)
	pointer(in.ScopeID, &v.AddressScopeID)
	for _, field := range []struct {
		name   string
		in     api.Optional[scalar]
		target *int
	}{{"min_prefixlen", in.MinPrefixLen, &v.MinPrefixLen}, {"max_prefixlen", in.MaxPrefixLen, &v.MaxPrefixLen},
		{"default_prefixlen", in.DefaultLen, &v.DefaultLen}} {
		value, err := number(field.name, field.in)
		if err != nil {
			return err
		}
		if value != nil {
			*field.target = *value
		}
	}
	if err := setPrefixes(v, in.Prefixes.Value); err != nil {
		return err
	}
	if v.MinPrefixLen > v.MaxPrefixLen {
		return illegal("min_prefixlen", v.MinPrefixLen, "max_prefixlen", v.MaxPrefixLen, "larger")
	}
	if v.DefaultLen < v.MinPrefixLen {
		return illegal("default_prefixlen", v.DefaultLen, "min_prefixlen", v.MinPrefixLen, "smaller")
	}
	if v.DefaultLen > v.MaxPrefixLen {
		return illegal("default_prefixlen", v.DefaultLen, "max_prefixlen", v.MaxPrefixLen, "larger")
	}
	return lengths(v.Name, v.Description)
}

func illegal(name string, value int, other string, bound int, than string) error {
	return api.Errorf(http.StatusBadRequest, "IllegalSubnetPoolPrefixBounds",
		"Illegal prefix bounds: %s=%d, %s=%d is %s than allowed.", name, value, other, bound, than)
}

func setPrefixes(v *model.SubnetPool, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	var set netipx.IPSetBuilder
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return api.BadRequest("Invalid input for prefixes. Reason: '%s' is not a valid IP subnet.", text)
		}
		if v.IPVersion == 0 {
			v.IPVersion = version(prefix.Addr())
		}
		if version(prefix.Addr()) != v.IPVersion {
			return api.Errorf(http.StatusBadRequest, "PrefixVersionMismatch", "Cannot mix IPv4 and IPv6 prefixes in a subnet pool.")
		}
		set.AddPrefix(prefix.Masked())
	}
	whole, err := set.IPSet()
	if err != nil {
		return invalid("Invalid prefixes")
	}
	for _, old := range v.Prefixes {
		if !whole.ContainsPrefix(netip.MustParsePrefix(old)) {
			return api.Errorf(http.StatusBadRequest, "IllegalSubnetPoolUpdate",
				"Illegal subnetpool update : Existing prefixes must be a subset of the new prefixes.")
		}
	}
	v.Prefixes = []string{}
	for _, prefix := range whole.Prefixes() {
		v.Prefixes = append(v.Prefixes, prefix.String())
	}
	return nil
}

func (n *Core) createPool(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.SubnetPool, error) {
	var in struct {
		poolChange
		owned
		Shared api.Optional[bool] `json:"shared"`
	}
	var v model.SubnetPool
	if err := decodeInto(raw, &in, reflect.TypeFor[poolView](), http.MethodPost); err != nil {
		return v, err
	}
	if err := adminOnly(p, "create_subnetpool", attribute{"shared", in.Shared.Value}, attribute{"is_default", in.IsDefault.Value}); err != nil {
		return v, err
	}
	if err := require("prefixes", len(in.Prefixes.Value) > 0); err != nil {
		return v, err
	}
	project, err := in.project(p)
	if err != nil {
		return v, err
	}
	if err := n.reserve(tx, project, "subnetpool"); err != nil {
		return v, err
	}
	v.NetworkMeta = n.newMeta(project, in.owned)
	if err := setPrefixes(&v, in.Prefixes.Value); err != nil {
		return v, err
	}
	v.MinPrefixLen, v.MaxPrefixLen = 8, 32
	if v.IPVersion == 6 {
		v.MinPrefixLen, v.MaxPrefixLen = 64, 128
	}
	v.DefaultLen = v.MinPrefixLen
	if low, err := number("min_prefixlen", in.MinPrefixLen); err == nil && low != nil {
		v.DefaultLen = *low
	}
	if err := errorOr(in.apply(&v), n.checkScope(tx, p, v)); err != nil {
		return v, err
	}
	n.model.Pools.Put(tx, v)
	n.share(tx, "subnetpool", v.ID, project, accessShared, in.Shared.Value)
	return v, nil
}

func (n *Core) checkScope(r store.Reader, p *api.Principal, v model.SubnetPool) error {
	if v.AddressScopeID == nil {
		return nil
	}
	scope, err := n.scopes().find(r, p, *v.AddressScopeID)
	if err != nil {
		return err
	}
	if scope.IPVersion != v.IPVersion {
		return api.Errorf(http.StatusBadRequest, "IllegalSubnetPoolIpVersionAssociation",
			"Illegal subnetpool association: subnetpool %s cannot associate with address scope %s because subnetpool ip_version is not %d.", v.ID, scope.ID, scope.IPVersion)
	}
	return nil
}

func (n *Core) updatePool(tx *store.Tx, p *api.Principal, old model.SubnetPool, raw json.RawMessage) (model.SubnetPool, error) {
	var in poolChange
	if err := decodeInto(raw, &in, reflect.TypeFor[poolView](), http.MethodPut); err != nil {
		return old, err
	}
	if err := adminOnly(p, "update_subnetpool", attribute{"is_default", in.IsDefault.Set}); err != nil {
		return old, err
	}
	v := old
	return v, errorOr(in.apply(&v), n.checkScope(tx, p, v))
}

func (n *Core) deletePool(tx *store.Tx, _ *api.Principal, v model.SubnetPool) error {
	for range n.model.SubnetsOfPool.Each(tx, v.ID) {
		return conflict("SubnetPoolDeleteError", "Unable to delete subnet pool: Subnet pool has existing allocations.")
	}
	return nil
}

// takeFromPool finds the prefix of a subnet in a subnet pool: the one said,
// or the first free one of the length that is wanted.
func (n *Core) takeFromPool(r store.Reader, p *api.Principal, v *model.Subnet, in subnetInput, said netip.Prefix) (netip.Prefix, error) {
	pool, err := n.poolFor(r, p, in)
	if err != nil {
		return said, err
	}
	v.SubnetPoolID = &pool.ID
	free := n.freeInPool(r, pool)
	length := in.PrefixLen.Or(pool.DefaultLen)
	if said.IsValid() {
		length = said.Bits()
	}
	if length < pool.MinPrefixLen {
		return said, api.Errorf(http.StatusBadRequest, "MinPrefixSubnetAllocationError",
			"Unable to allocate subnet with prefix length %d, minimum allowed prefix is %d.", length, pool.MinPrefixLen)
	}
	if length > pool.MaxPrefixLen {
		return said, api.Errorf(http.StatusBadRequest, "MaxPrefixSubnetAllocationError",
			"Unable to allocate subnet with prefix length %d, maximum allowed prefix is %d.", length, pool.MaxPrefixLen)
	}
	if said.IsValid() {
		if !free.ContainsPrefix(said) {
			return said, api.Errorf(http.StatusBadRequest, "SubnetAllocationError",
				"Failed to allocate subnet: Cannot allocate requested subnet from the available set of prefixes.")
		}
		return said, nil
	}
	found, _, ok := free.RemoveFreePrefix(uint8(length))
	if !ok {
		return said, api.Errorf(http.StatusInternalServerError, "SubnetAllocationError",
			"Failed to allocate subnet: Insufficient prefix space to allocate subnet size /%d.", length)
	}
	return found, nil
}

func (n *Core) poolFor(r store.Reader, p *api.Principal, in subnetInput) (model.SubnetPool, error) {
	if in.SubnetPoolID.Value != "" {
		return n.pools().find(r, p, in.SubnetPoolID.Value)
	}
	for pool := range n.model.Pools.All(r) {
		if pool.IsDefault && pool.IPVersion == in.IPVersion.Or(4) {
			return pool, nil
		}
	}
	return model.SubnetPool{}, api.BadRequest("No default subnetpool found for IPv%d", in.IPVersion.Or(4))
}

func (n *Core) freeInPool(r store.Reader, pool model.SubnetPool) *netipx.IPSet {
	var free netipx.IPSetBuilder
	for _, prefix := range pool.Prefixes {
		free.AddPrefix(netip.MustParsePrefix(prefix))
	}
	for subnet := range n.model.SubnetsOfPool.Each(r, pool.ID) {
		free.RemovePrefix(netip.MustParsePrefix(subnet.CIDR))
	}
	set, err := free.IPSet()
	if err != nil {
		return &netipx.IPSet{}
	}
	return set
}

// scopeOf is the address scope of a subnet.
func (n *Core) scopeOf(r store.Reader, subnet model.Subnet) *string {
	if subnet.SubnetPoolID == nil {
		return nil
	}
	pool, _ := n.model.Pools.Get(r, *subnet.SubnetPoolID)
	return pool.AddressScopeID
}
