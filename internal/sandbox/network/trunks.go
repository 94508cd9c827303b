package network

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// trunkView is a trunk as clients see it. Its status is that of its port.
type trunkView struct {
	model.Trunk
	shown
}

func (n *Core) trunks() resource[model.Trunk, trunkView] {
	return resource[model.Trunk, trunkView]{
		core: n, one: "trunk", many: "trunks", path: "/v2.0/trunks",
		table: n.model.Trunks, of: n.model.TrunksOf,
		meta: func(v *model.Trunk) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "TrunkNotFound", "Trunk %s could not be found.", id)
		},
		view: n.viewTrunk, create: n.createTrunk, update: n.updateTrunk, remove: n.deleteTrunk,
	}
}

func (n *Core) trunkRoutes() []api.Route {
	one := "/v2.0/trunks/{id}/"
	return append(n.trunks().routes(),
		api.Route{Pattern: "GET " + one + "get_subports", Role: api.Reader, Handle: n.listSubPorts},
		api.Route{Pattern: "PUT " + one + "add_subports", Role: api.Member, Handle: n.addSubPorts},
		api.Route{Pattern: "PUT " + one + "remove_subports", Role: api.Member, Handle: n.removeSubPorts})
}

func (n *Core) viewTrunk(r store.Reader, _ *api.Principal, v model.Trunk) trunkView {
	v.SubPorts, v.Status = list(v.SubPorts), "DOWN"
	if port, ok := n.model.Ports.Get(r, v.PortID); ok && port.Status == "ACTIVE" {
		v.Status = "ACTIVE"
	}
	return trunkView{v, show(v.NetworkMeta)}
}

type trunkChange struct {
	Name         api.Optional[string] `json:"name"`
	Description  api.Optional[string] `json:"description"`
	AdminStateUp api.Optional[bool]   `json:"admin_state_up"`
}

func (in trunkChange) apply(v *model.Trunk) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.AdminStateUp.Apply(&v.AdminStateUp)
	return lengths(v.Name, v.Description)
}

func (n *Core) createTrunk(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.Trunk, error) {
	var in struct {
		trunkChange
		owned
		PortID   api.Optional[string]          `json:"port_id"`
		SubPorts api.Optional[[]model.SubPort] `json:"sub_ports"`
	}
	var v model.Trunk
	if err := decodeInto(raw, &in, reflect.TypeFor[trunkView](), http.MethodPost); err != nil {
		return v, err
	}
	if err := require("port_id", in.PortID.Value != ""); err != nil {
		return v, err
	}
	project, err := in.project(p)
	if err != nil {
		return v, err
	}
	port, err := n.ports().find(tx, p, in.PortID.Value)
	if err != nil {
		return v, err
	}
	if err := n.trunkFree(tx, port); err != nil {
		return v, err
	}
	if err := n.reserve(tx, project, "trunk"); err != nil {
		return v, err
	}
	v = model.Trunk{NetworkMeta: n.newMeta(project, in.owned), PortID: port.ID, AdminStateUp: true, Status: "DOWN", SubPorts: []model.SubPort{}}
	if err := in.apply(&v); err != nil {
		return v, err
	}
	n.model.Trunks.Put(tx, v)
	if err := n.joinTrunk(tx, p, &v, in.SubPorts.Value); err != nil {
		return v, err
	}
	n.model.Trunks.Put(tx, v)
	return v, nil
}

// trunkFree refuses a port that is in a trunk already.
func (n *Core) trunkFree(r store.Reader, port model.Port) error {
	if _, ok := n.model.TrunksOfPort.First(r, port.ID); ok {
		return conflict("ParentPortInUse", "Port %s is currently in use and is not eligible for use as a parent port.", port.ID)
	}
	if trunk, ok := n.model.TrunksOfSubPort.First(r, port.ID); ok {
		return conflict("TrunkPortInUse", "Port %s is in use by another trunk: %s.", port.ID, trunk.ID)
	}
	return nil
}

// joinTrunk adds sub ports to a trunk, in the record and on the ports.
func (n *Core) joinTrunk(tx *store.Tx, p *api.Principal, v *model.Trunk, subs []model.SubPort) error {
	parent, _ := n.model.Ports.Get(tx, v.PortID)
	v.SubPorts = slices.Clone(v.SubPorts)
	for _, sub := range subs {
		port, err := n.ports().find(tx, p, sub.PortID)
		if err != nil {
			return err
		}
		if sub.SegmentationType == "inherit" {
			network, _ := n.model.Networks.Get(tx, port.NetworkID)
			if network.Segmentation == nil {
				return invalid("Cannot inherit the segmentation of network %s", network.ID)
			}
			sub.SegmentationType, sub.SegmentationID = "vlan", *network.Segmentation
		}
		if err := n.checkSubPort(tx, *v, port, sub); err != nil {
			return err
		}
		v.SubPorts = append(v.SubPorts, sub)
		n.model.Ports.Change(tx, port.ID, func(port *model.Port) {
			port.DeviceOwner, port.HostID = model.OwnerTrunkSubPort, parent.HostID
			n.settle(port)
			n.touch(&port.NetworkMeta)
		})
	}
	return nil
}

func (n *Core) checkSubPort(r store.Reader, v model.Trunk, port model.Port, sub model.SubPort) error {
	if sub.SegmentationType != "vlan" {
		return invalid("Invalid segmentation type: '%s', must be one of ['inherit', 'vlan']", sub.SegmentationType)
	}
	if sub.SegmentationID < 1 || sub.SegmentationID > 4094 {
		return invalid("Invalid segmentation id %d: must be between 1 and 4094", sub.SegmentationID)
	}
	if port.ID == v.PortID {
		return conflict("ParentPortInUse", "Port %s is currently in use by trunk %s and is not eligible for use as a subport.", port.ID, v.ID)
	}
	if port.DeviceID != "" {
		return conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			port.ID, port.NetworkID, port.DeviceID)
	}
	if err := n.trunkFree(r, port); err != nil {
		return err
	}
	for _, other := range v.SubPorts {
		if other.PortID == port.ID {
			return conflict("TrunkPortInUse", "Port %s is in use by another trunk: %s.", port.ID, v.ID)
		}
		if other.SegmentationID == sub.SegmentationID {
			return conflict("DuplicateSubPort", "segmentation_type %s and segmentation_id %d already in use on trunk %s.",
				sub.SegmentationType, sub.SegmentationID, v.ID)
		}
	}
	return nil
}

func (n *Core) updateTrunk(_ *store.Tx, _ *api.Principal, old model.Trunk, raw json.RawMessage) (model.Trunk, error) {
	var in trunkChange
	if err := decodeInto(raw, &in, reflect.TypeFor[trunkView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	return v, in.apply(&v)
}

// deleteTrunk refuses while a server has the parent port.
func (n *Core) deleteTrunk(tx *store.Tx, _ *api.Principal, v model.Trunk) error {
	if port, ok := n.model.Ports.Get(tx, v.PortID); ok && port.HostID != "" {
		return conflict("TrunkInUse", "Trunk %s is currently in use.", v.ID)
	}
	for _, sub := range v.SubPorts {
		n.leaveTrunk(tx, sub.PortID)
	}
	return nil
}

func (n *Core) leaveTrunk(tx *store.Tx, portID string) {
	n.model.Ports.Change(tx, portID, func(port *model.Port) {
		port.DeviceOwner, port.HostID = "", ""
		n.settle(port)
		n.touch(&port.NetworkMeta)
	})
}

// followTrunk moves the sub ports of a port's trunk to the port's host.
func (n *Core) followTrunk(tx *store.Tx, port model.Port) {
	trunk, ok := n.model.TrunksOfPort.First(tx, port.ID)
	if !ok {
		return
	}
	for _, sub := range trunk.SubPorts {
		n.model.Ports.Change(tx, sub.PortID, func(sub *model.Port) {
			sub.HostID = port.HostID
			n.settle(sub)
		})
	}
}

func (n *Core) listSubPorts(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		trunk, err := n.trunks().find(r, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"sub_ports": list(trunk.SubPorts)})
	})
}

func (n *Core) addSubPorts(c *api.Call) error {
	return n.editSubPorts(c, n.joinTrunk)
}

func (n *Core) removeSubPorts(c *api.Call) error {
	return n.editSubPorts(c, func(tx *store.Tx, _ *api.Principal, v *model.Trunk, subs []model.SubPort) error {
		for _, sub := range subs {
			i := slices.IndexFunc(v.SubPorts, func(has model.SubPort) bool { return has.PortID == sub.PortID })
			if i < 0 {
				return api.Errorf(http.StatusNotFound, "SubPortNotFound", "SubPort on trunk %s with parent port %s could not be found.", v.ID, sub.PortID)
			}
			v.SubPorts = slices.Delete(slices.Clone(v.SubPorts), i, i+1)
			n.leaveTrunk(tx, sub.PortID)
		}
		return nil
	})
}

func (n *Core) editSubPorts(c *api.Call, edit func(*store.Tx, *api.Principal, *model.Trunk, []model.SubPort) error) error {
	var in struct {
		SubPorts []model.SubPort `json:"sub_ports"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		trunk, err := n.trunks().change(tx, c, "update")
		if err != nil {
			return err
		}
		if err := edit(tx, c.Principal, &trunk, in.SubPorts); err != nil {
			return err
		}
		n.trunks().put1(tx, trunk)
		stored, _ := n.model.Trunks.Get(tx, trunk.ID)
		return c.Reply(http.StatusOK, n.viewTrunk(tx, c.Principal, stored))
	})
}
