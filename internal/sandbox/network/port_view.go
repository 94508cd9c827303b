package network

import (
	"iter"
	"net/http"
	"net/netip"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// portView is a port as clients see it; the binding is for administrators,
// but for the type of card that is wanted.
type portView struct {
	model.Port
	shown
	HostID     *string         `json:"binding:host_id,omitempty"`
	Profile    *map[string]any `json:"binding:profile,omitempty"`
	VIFType    *string         `json:"binding:vif_type,omitempty"`
	VIFDetails *map[string]any `json:"binding:vif_details,omitempty"`
	DNSAssign  []dnsAssignment `json:"dns_assignment"`
	Trunk      *trunkDetails   `json:"trunk_details,omitempty"`
	Allocation string          `json:"ip_allocation"`
	NetworkQoS *string         `json:"qos_network_policy_id"`
	Resource   *string         `json:"resource_request"`
	NUMA       *string         `json:"numa_affinity_policy"`
	Pending    *string         `json:"pending,omitempty"`
}

type dnsAssignment struct {
	Hostname  string `json:"hostname"`
	IPAddress string `json:"ip_address"`
	FQDN      string `json:"fqdn"`
}

type trunkDetails struct {
	TrunkID  string          `json:"trunk_id"`
	SubPorts []trunkPortView `json:"sub_ports"`
}

type trunkPortView struct {
	model.SubPort
	MAC string `json:"mac_address"`
}

func (n *Core) ports() resource[model.Port, portView] {
	return resource[model.Port, portView]{
		core: n, one: "port", many: "ports", path: "/v2.0/ports",
		table: n.model.Ports, of: n.model.PortsOf,
		meta: func(v *model.Port) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "PortNotFound", "Port %s could not be found.", id)
		},
		shared: n.foreignPorts,
		sees: func(r store.Reader, project string, v model.Port) bool {
			network, _ := n.model.Networks.Get(r, v.NetworkID)
			return network.ProjectID == project && project != ""
		},
		narrow: n.narrowPorts, filters: portFilters(),
		view: n.viewPort, create: n.createPort, update: n.updatePort, remove: n.deletePort,
	}
}

// foreignPorts are the ports of others on the project's networks.
func (n *Core) foreignPorts(r store.Reader, project string) iter.Seq[model.Port] {
	return func(yield func(model.Port) bool) {
		for network := range n.model.NetworksOf.Each(r, project) {
			for port := range n.model.PortsOfNetwork.Each(r, network.ID) {
				if port.ProjectID != project && !yield(port) {
					return
				}
			}
		}
	}
}

// narrowPorts uses an index for what clients ask most often.
func (n *Core) narrowPorts(r store.Reader, c *api.Call) (iter.Seq[model.Port], bool) {
	query := c.Request.URL.Query()
	for name, index := range map[string]*store.Index[model.Port]{
		"device_id": n.model.PortsOfDevice, "network_id": n.model.PortsOfNetwork, "mac_address": n.model.PortsByMAC,
	} {
		if values := query[name]; len(values) == 1 && values[0] != "" {
			return index.Each(r, values[0]), true
		}
	}
	return nil, false
}

// portFilters are fixed_ips, whose values are "ip_address=…", "subnet_id=…"
// and "ip_address_substr=…": values of one name are alternatives.
func portFilters() map[string]api.Filter[portView] {
	return map[string]api.Filter[portView]{
		"fixed_ips": func(v portView, values []string) bool {
			return matchesFixedIPs(v.FixedIPs, values)
		},
		"mac_address": func(v portView, values []string) bool {
			for _, value := range values {
				if strings.EqualFold(value, v.MAC) {
					return true
				}
			}
			return false
		},
	}
}

func matchesFixedIPs(ips []model.FixedIP, values []string) bool {
	wanted := map[string][]string{}
	for _, value := range values {
		name, text, _ := strings.Cut(value, "=")
		wanted[name] = append(wanted[name], text)
	}
	for name, texts := range wanted {
		if !anyAddress(ips, name, texts) {
			return false
		}
	}
	return true
}

func anyAddress(ips []model.FixedIP, name string, texts []string) bool {
	for _, ip := range ips {
		for _, text := range texts {
			switch {
			case name == "subnet_id" && ip.SubnetID == text, name == "ip_address" && sameAddress(ip.IPAddress, text),
				name == "ip_address_substr" && strings.Contains(ip.IPAddress, text):
				return true
			}
		}
	}
	return false
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x == y
}

func (n *Core) viewPort(r store.Reader, p *api.Principal, v model.Port) portView {
	v.FixedIPs, v.Groups, v.AllowedPairs, v.DHCPOptions = list(v.FixedIPs), list(v.Groups), list(v.AllowedPairs), list(v.DHCPOptions)
	network, _ := n.model.Networks.Get(r, v.NetworkID)
	view := portView{Port: v, shown: show(v.NetworkMeta), DNSAssign: assignments(v, network),
		Allocation: "immediate", NetworkQoS: network.QoSPolicyID}
	if len(v.FixedIPs) == 0 && n.model.SubnetsOfNetwork.Count(r, v.NetworkID) == 0 {
		view.Allocation = "none"
	}
	if trunk, ok := n.model.TrunksOfPort.First(r, v.ID); ok {
		view.Trunk = n.trunkDetails(r, trunk)
	}
	if !isAdmin(p) {
		return view
	}
	vif, details, profile := "unbound", map[string]any{}, v.Profile
	if v.HostID != "" {
		vif, details = "ovs", map[string]any{"port_filter": true, "connectivity": "l2", "bridge_name": "br-int", "datapath_type": "system"}
	}
	if profile == nil {
		profile = map[string]any{}
	}
	view.HostID, view.Profile, view.VIFType, view.VIFDetails = &v.HostID, &profile, &vif, &details
	return view
}

func (n *Core) trunkDetails(r store.Reader, trunk model.Trunk) *trunkDetails {
	details := &trunkDetails{TrunkID: trunk.ID, SubPorts: []trunkPortView{}}
	for _, sub := range trunk.SubPorts {
		port, _ := n.model.Ports.Get(r, sub.PortID)
		details.SubPorts = append(details.SubPorts, trunkPortView{sub, port.MAC})
	}
	return details
}

const defaultDomain = "openstacklocal."

// assignments are the names of a port's addresses in the internal DNS.
func assignments(v model.Port, network model.Network) []dnsAssignment {
	assigned := []dnsAssignment{}
	domain := defaultDomain
	for _, own := range []string{network.DNSDomain, v.DNSDomain} {
		if own != "" && v.DNSName != "" {
			domain = own
		}
	}
	for _, ip := range v.FixedIPs {
		host := v.DNSName
		if host == "" {
			host = "host-" + strings.NewReplacer(".", "-", ":", "-").Replace(ip.IPAddress)
		}
		fqdn := host
		if !strings.HasSuffix(host, ".") {
			fqdn = host + "." + domain
		}
		assigned = append(assigned, dnsAssignment{strings.TrimSuffix(strings.SplitN(host, ".", 2)[0], "."), ip.IPAddress, fqdn})
	}
	return assigned
}
