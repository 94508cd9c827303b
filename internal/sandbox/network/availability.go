package network

import (
	"math/big"
	"net/http"
	"strconv"

	"go4.org/netipx"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// availabilityView tells how many addresses a network has and uses. IPv6 has
// more than an integer of 64 bits holds.
type availabilityView struct {
	NetworkID   string               `json:"network_id"`
	NetworkName string               `json:"network_name"`
	TenantID    string               `json:"tenant_id"`
	ProjectID   string               `json:"project_id"`
	TotalIPs    *big.Int             `json:"total_ips"`
	UsedIPs     int                  `json:"used_ips"`
	Subnets     []subnetAvailability `json:"subnet_ip_availability"`
}

type subnetAvailability struct {
	SubnetID   string   `json:"subnet_id"`
	SubnetName string   `json:"subnet_name"`
	CIDR       string   `json:"cidr"`
	IPVersion  int      `json:"ip_version"`
	TotalIPs   *big.Int `json:"total_ips"`
	UsedIPs    int      `json:"used_ips"`
}

// availability counts the addresses of one IP version ("4", "6") or of all.
func (n *Core) availability(r store.Reader, network model.Network, only string) availabilityView {
	view := availabilityView{NetworkID: network.ID, NetworkName: network.Name, TenantID: network.ProjectID,
		ProjectID: network.ProjectID, TotalIPs: new(big.Int), Subnets: []subnetAvailability{}}
	for subnet := range n.model.SubnetsOfNetwork.Each(r, network.ID) {
		if only != "" && only != strconv.Itoa(subnet.IPVersion) {
			continue
		}
		one := subnetAvailability{SubnetID: subnet.ID, SubnetName: subnet.Name, CIDR: subnet.CIDR, IPVersion: subnet.IPVersion,
			TotalIPs: new(big.Int), UsedIPs: n.model.PortsOfSubnet.Count(r, subnet.ID)}
		for _, pool := range poolRanges(subnet) {
			one.TotalIPs.Add(one.TotalIPs, size(pool))
		}
		view.TotalIPs.Add(view.TotalIPs, one.TotalIPs)
		view.UsedIPs += one.UsedIPs
		view.Subnets = append(view.Subnets, one)
	}
	return view
}

// size is how many addresses a range holds.
func size(r netipx.IPRange) *big.Int {
	from, to := r.From().As16(), r.To().As16()
	first, last := new(big.Int).SetBytes(from[:]), new(big.Int).SetBytes(to[:])
	return last.Sub(last, first).Add(last, big.NewInt(1))
}

func (n *Core) listAvailability(c *api.Call) error {
	filters := map[string]api.Filter[availabilityView]{"ip_version": nil}
	return c.View(func(r store.Reader) error {
		views := func(yield func(availabilityView) bool) {
			for network := range n.model.Networks.All(r) {
				if !yield(n.availability(r, network, c.Query("ip_version"))) {
					return
				}
			}
		}
		return api.List[availabilityView]{Key: "network_ip_availabilities", ID: func(v availabilityView) string { return v.NetworkID },
			Filters: filters, Links: api.BothLinks, Strict: true}.Reply(c, views)
	})
}

func (n *Core) showAvailability(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		network, err := n.networks().find(r, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"network_ip_availability": n.availability(r, network, "")})
	})
}
