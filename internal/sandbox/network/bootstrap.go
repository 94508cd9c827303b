package network

import (
	"net/netip"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Options are the settings of the network service.
type Options struct {
	// External is the prefix of the network "public"; the zero value is
	// 172.24.4.0/24. Its first address is the gateway's, and from the tenth
	// on addresses are given to routers and floating IPs.
	External netip.Prefix
}

func (o Options) external() netip.Prefix {
	if !o.External.IsValid() {
		return netip.MustParsePrefix("172.24.4.0/24")
	}
	return o.External.Masked()
}

// Bootstrap makes the external network of a cloud that has no networks yet.
// Identity has been bootstrapped before.
func Bootstrap(env *api.Env, o Options) error {
	return env.Store.Update(func(tx *store.Tx) error { return NewCore(env).bootstrap(tx, o) })
}

func (n *Core) bootstrap(tx *store.Tx, o Options) error {
	if n.model.Networks.Len(tx) > 0 {
		return nil
	}
	project := n.adminProject(tx)
	physical := "public"
	network := model.Network{NetworkMeta: n.newMeta(project, owned{}), Name: "public", AdminStateUp: true, Status: "ACTIVE",
		External: true, IsDefault: true, MTU: underlayMTU, PortSecurity: true, ZoneHints: []string{}, ProviderType: "flat", Physical: &physical}
	if err := n.addNetwork(tx, network, false); err != nil {
		return err
	}
	prefix := o.external()
	first, whole := prefix.Addr(), usable(prefix)
	for range 10 {
		first = first.Next()
	}
	subnet := model.Subnet{NetworkMeta: n.newMeta(project, owned{}), Name: "public-subnet", NetworkID: network.ID,
		IPVersion: version(prefix.Addr()), CIDR: prefix.String(),
		Pools: []model.AllocationPool{{Start: first.String(), End: whole.To().String()}}}
	return n.addSubnet(tx, subnet, false)
}

// adminProject is the project of the cloud's first administrator.
func (n *Core) adminProject(r store.Reader) string {
	for project := range n.env.Model.Identity.ProjectsByName.Each(r, "admin") {
		if !project.IsDomain {
			return project.ID
		}
	}
	return ""
}
