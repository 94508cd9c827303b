package network

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (n *Core) newPort(network model.Network, project string, in owned) model.Port {
	return model.Port{NetworkMeta: n.newMeta(project, in), NetworkID: network.ID, AdminStateUp: true, Status: "DOWN",
		VNICType: "normal", PortSecurity: network.PortSecurity, FixedIPs: []model.FixedIP{}, Groups: []string{},
		AllowedPairs: []model.AddressPair{}, DHCPOptions: []model.DHCPOption{}}
}

// addPort gives a new port its MAC, addresses and security, and keeps it.
func (n *Core) addPort(tx *store.Tx, p *api.Principal, v model.Port, in portChange) (model.Port, error) {
	if v.MAC == "" {
		v.MAC = n.newMAC(tx)
	} else if err := n.macFree(tx, v); err != nil {
		return v, err
	}
	var err error
	if in.FixedIPs.Set && !in.FixedIPs.Null {
		v.FixedIPs, err = n.takeAddresses(tx, v, in.FixedIPs.Value, nil)
		if err == nil && len(v.FixedIPs) > 0 {
			v.FixedIPs, err = n.addAutomatic(tx, v, v.FixedIPs)
		}
	} else {
		v.FixedIPs, err = n.chooseAddresses(tx, v)
	}
	if err != nil {
		return v, err
	}
	if err := n.secure(tx, p, &v, in, true); err != nil {
		return v, err
	}
	if err := n.checkQoS(tx, v.QoSPolicyID); err != nil {
		return v, err
	}
	n.settle(&v)
	n.model.Ports.Put(tx, v)
	return v, nil
}

func (n *Core) macFree(r store.Reader, v model.Port) error {
	for other := range n.model.PortsByMAC.Each(r, v.MAC) {
		if other.NetworkID == v.NetworkID && other.ID != v.ID {
			return conflict("MacAddressInUse", "Unable to complete operation for network %s. The mac address %s is in use.", v.NetworkID, v.MAC)
		}
	}
	return nil
}

// secure sets security groups, port security and allowed address pairs, which
// depend on each other.
func (n *Core) secure(tx *store.Tx, p *api.Principal, v *model.Port, in portChange, created bool) error {
	trusted := strings.HasPrefix(v.DeviceOwner, "network:")
	if in.PortSecurity.Set && !in.PortSecurity.Null {
		v.PortSecurity = in.PortSecurity.Value
	} else if created && trusted {
		v.PortSecurity = false
	}
	if in.Groups.Set {
		v.Groups = []string{}
		for _, id := range in.Groups.Value {
			group, err := n.groups().find(tx, p, id)
			if err != nil {
				return err
			}
			v.Groups = append(v.Groups, group.ID)
		}
	}
	unsaid := !in.Groups.Set || (created && in.Groups.Null)
	if created && unsaid && v.PortSecurity && !trusted && v.ProjectID != "" {
		v.Groups = []string{n.defaultGroup(tx, v.ProjectID).ID}
	}
	if err := in.applyPairs(v); err != nil {
		return err
	}
	if v.PortSecurity {
		return nil
	}
	if len(v.Groups) > 0 {
		if created {
			return api.Errorf(http.StatusBadRequest, "PortSecurityAndIPRequiredForSecurityGroups",
				"Port security must be enabled and port must have an IP address in order to use security groups.")
		}
		return conflict("PortSecurityPortHasSecurityGroup",
			"Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	}
	if len(v.AllowedPairs) > 0 {
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// settle sets the status that follows from the binding: a bound port becomes
// ACTIVE, any other is DOWN.
func (n *Core) settle(v *model.Port) {
	active := v.AdminStateUp && v.DeviceOwner != model.OwnerFloatingIP &&
		(v.HostID != "" || strings.HasPrefix(v.DeviceOwner, "network:router"))
	v.Pending = nil
	switch {
	case !active:
		v.Status = "DOWN"
		if v.DeviceOwner == model.OwnerFloatingIP {
			v.Status = "N/A" // what Neutron says of these
		}
	case v.Status != "ACTIVE":
		v.Pending = n.env.Timing.Start("ACTIVE", time.Second)
	}
}

func (n *Core) updatePort(tx *store.Tx, p *api.Principal, old model.Port, raw json.RawMessage) (model.Port, error) {
	var in portChange
	if err := decodeInto(raw, &in, reflect.TypeFor[portView](), http.MethodPut); err != nil {
		return old, err
	}
	network, _ := n.model.Networks.Get(tx, old.NetworkID)
	if err := in.policy(p, network, "update_port"); err != nil {
		return old, err
	}
	v := old
	if err := in.apply(&v); err != nil {
		return old, err
	}
	return v, n.checkPortChange(tx, p, old, &v, in)
}

func (n *Core) checkPortChange(tx *store.Tx, p *api.Principal, old model.Port, v *model.Port, in portChange) error {
	if v.MAC != old.MAC {
		if old.HostID != "" {
			return conflict("PortBound", "Unable to complete operation on port %s, port is already bound, port type: ovs, old_mac %s, new_mac %s.", v.ID, old.MAC, v.MAC)
		}
		if err := n.macFree(tx, *v); err != nil {
			return err
		}
	}
	if in.FixedIPs.Set {
		ips, err := n.takeAddresses(tx, *v, in.FixedIPs.Value, old.FixedIPs)
		if err != nil {
			return err
		}
		v.FixedIPs = n.keepAutomatic(tx, *v, ips, old.FixedIPs)
		n.dropFloating(tx, *v)
	}
	if err := n.secure(tx, p, v, in, false); err != nil {
		return err
	}
	if err := n.checkQoS(tx, v.QoSPolicyID); err != nil {
		return err
	}
	n.settle(v)
	return nil
}

// deletePort refuses what belongs to routers, floating IPs and trunks.
func (n *Core) deletePort(tx *store.Tx, _ *api.Principal, v model.Port) error {
	switch v.DeviceOwner {
	case model.OwnerRouterInterface, model.OwnerRouterGateway:
		if _, ok := n.model.Routers.Get(tx, v.DeviceID); ok {
			return servicePort(v)
		}
	case model.OwnerFloatingIP:
		return servicePort(v)
	}
	return n.cutPort(tx, v)
}

func servicePort(v model.Port) error {
	return conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.", v.ID, v.DeviceOwner)
}

// cutPort takes from a port what leads to it.
func (n *Core) cutPort(tx *store.Tx, v model.Port) error {
	if trunk, ok := n.model.TrunksOfPort.First(tx, v.ID); ok {
		return conflict("PortInUseAsTrunkParent", "Port %s is currently a parent port for trunk %s.", v.ID, trunk.ID)
	}
	if trunk, ok := n.model.TrunksOfSubPort.First(tx, v.ID); ok {
		return conflict("PortInUseAsSubPort", "Port %s is currently a subport for trunk %s.", v.ID, trunk.ID)
	}
	for floating := range n.model.FloatingIPsOfPort.Each(tx, v.ID) {
		n.disassociateByID(tx, floating.ID)
	}
	for forwarding := range n.model.ForwardingsOfPort.Each(tx, v.ID) {
		n.model.Forwardings.Delete(tx, forwarding.ID)
	}
	return nil
}
