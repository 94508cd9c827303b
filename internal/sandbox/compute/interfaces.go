package compute

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) interfaceRoutes() []api.Route {
	const all, one = "/v2.1/servers/{id}/os-interface", "/v2.1/servers/{id}/os-interface/{port}"
	return []api.Route{
		{Pattern: "GET " + all, Role: api.Reader, Handle: s.listInterfaces},
		{Pattern: "POST " + all, Role: api.Member, Handle: s.createInterface},
		{Pattern: "GET " + one, Role: api.Reader, Handle: s.showInterface},
		{Pattern: "DELETE " + one, Role: api.Member, Handle: s.deleteInterface},
	}
}

func interfaceView(c *api.Call, v model.Server, p model.Port) map[string]any {
	ips := []any{}
	for _, ip := range p.FixedIPs {
		ips = append(ips, map[string]string{"subnet_id": ip.SubnetID, "ip_address": ip.IPAddress})
	}
	view := map[string]any{"port_id": p.ID, "net_id": p.NetworkID, "mac_addr": p.MAC, "port_state": p.Status, "fixed_ips": ips}
	if c.Version.AtLeast(2, 70) {
		view["tag"] = nil
		for _, card := range v.Ports {
			if card.PortID == p.ID {
				view["tag"] = orNull(card.Tag)
			}
		}
	}
	return view
}

func (s *service) listInterfaces(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		list := []any{}
		for _, p := range s.ports.PortsOf(r, v.ID) {
			list = append(list, interfaceView(c, v, p))
		}
		return c.Reply(http.StatusOK, map[string]any{"interfaceAttachments": list})
	})
}

func (s *service) showInterface(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		for _, p := range s.ports.PortsOf(r, v.ID) {
			if p.ID == c.Path("port") {
				return c.Reply(http.StatusOK, map[string]any{"interfaceAttachment": interfaceView(c, v, p)})
			}
		}
		return api.NotFound("Instance %s does not have fixed IP or port %s.", v.ID, c.Path("port"))
	})
}

type interfaceInput struct {
	Network string          `json:"net_id"`
	Port    string          `json:"port_id"`
	IPs     []model.FixedIP `json:"fixed_ips"`
	Tag     string          `json:"tag"`
}

func (in interfaceInput) card(v api.Microversion) (cardInput, error) {
	card := cardInput{UUID: in.Network, Port: in.Port, Tag: in.Tag}
	if err := uuid.Validate(in.Port); in.Port != "" && err != nil {
		return card, api.BadRequest("Invalid input for field/attribute port_id. Value: %s. '%s' is not a 'uuid'", in.Port, in.Port)
	}
	switch {
	case in.Network != "" && in.Port != "":
		return card, api.BadRequest("Must not input both network_id and port_id")
	case len(in.IPs) > 1:
		return card, api.BadRequest("Invalid input for field/attribute fixed_ips. The list is too long")
	case in.Tag != "" && !v.AtLeast(2, 49):
		return card, unexpected("tag")
	case len(in.IPs) == 1 && in.Network == "":
		return card, api.BadRequest("Must input network_id when request IP address")
	case len(in.IPs) == 1:
		card.FixedIP = in.IPs[0].IPAddress
	}
	return card, nil
}

// createInterface puts a card into a server. The port is there when the call
// returns; the machine gets the card soon after.
func (s *service) createInterface(c *api.Call) error {
	var in interfaceInput
	if err := c.DecodeIn("interfaceAttachment", &in); err != nil {
		return err
	}
	asked, err := in.card(c.Version)
	if err != nil {
		return err
	}
	from := states(model.ServerActive, model.ServerPaused, model.ServerStopped)
	return s.do(c, rule{"attach_interface", "attach_interface", from}, func(tx *store.Tx, n *model.Server) error {
		if asked.UUID == "" && asked.Port == "" {
			all := s.ports.Available(tx, n.ProjectID)
			if len(all) != 1 {
				return api.Conflict("Multiple possible networks found, use a Network ID to be more specific.")
			}
			asked.UUID = all[0].ID
		}
		card, err := s.card(tx, c.Principal, asked)
		if err != nil {
			return interfaceError(err)
		}
		p, err := s.addPort(tx, n, card)
		if err != nil {
			return interfaceError(err)
		}
		return c.Reply(http.StatusOK, map[string]any{"interfaceAttachment": interfaceView(c, *n, p)})
	})
}

// interfaceError turns errors of card and Neutron into Nova's answers: for a missing resource that
// is 404 here, and 400 when a server is created.
func interfaceError(err error) error {
	code, message := status(err)
	switch {
	case strings.Contains(message, "could not be found"):
		return api.NotFound("%s", message)
	case code == http.StatusConflict && !strings.HasPrefix(message, "Quota exceeded"):
		return api.Conflict("%s", message)
	case code == http.StatusConflict:
		return api.Forbidden("Maximum number of ports exceeded")
	case code >= 500 || code == http.StatusForbidden:
		return err
	}
	return api.BadRequest("%s", message)
}

func (s *service) deleteInterface(c *api.Call) error {
	from := states(model.ServerActive, model.ServerPaused, model.ServerStopped)
	return s.do(c, rule{"detach_interface", "detach_interface", from}, func(_ *store.Tx, n *model.Server) error {
		if !leave(n, c.Path("port")) {
			return api.NotFound("Port %s is not attached to instance %s.", c.Path("port"), n.ID)
		}
		return nil
	})
}
