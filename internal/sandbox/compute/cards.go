package compute

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// cardInput is an entry of networks.
type cardInput struct {
	UUID    string `json:"uuid"`
	Port    string `json:"port"`
	FixedIP string `json:"fixed_ip"`
	Tag     string `json:"tag"`
}

// cards reads the networks that were asked for: a list, "auto" or "none". If the request has none,
// the project's only network is taken.
func (b *builder) cards() error {
	for _, name := range b.server.SecurityGroups {
		if _, err := b.ports.SecurityGroup(b.tx, b.server.ProjectID, name); err != nil {
			return groupError(err, name, b.server.ProjectID)
		}
	}
	var list []cardInput
	var word string
	switch {
	case len(b.in.Networks) == 0 || string(b.in.Networks) == "null":
		return b.anyNetwork()
	case json.Unmarshal(b.in.Networks, &word) == nil:
		return b.wordNetworks(word)
	}
	if err := parse(b.in.Networks, &list); err != nil {
		return err
	}
	if len(list) == 0 && !b.call.Version.AtLeast(2, 37) {
		return b.anyNetwork()
	}
	if len(list) == 0 {
		return api.BadRequest("Invalid input for field/attribute networks. Value: []. [] is too short")
	}
	seen := map[string]bool{}
	for _, in := range list {
		if in.Port != "" && seen[in.Port] {
			return api.BadRequest("Port %s is repeated in the request.", in.Port)
		}
		seen[in.Port] = true
		card, err := b.card(b.tx, b.call.Principal, in)
		if err != nil {
			return err
		}
		b.server.Networks = append(b.server.Networks, card)
	}
	return nil
}

func (b *builder) wordNetworks(word string) error {
	switch {
	case !b.call.Version.AtLeast(2, 37):
		return api.BadRequest("Invalid input for field/attribute networks. Value: %s. %q is not of type 'array'", word, word)
	case word == "none":
		return nil
	case word != "auto":
		return api.BadRequest("Invalid input for field/attribute networks. Value: %s. %q is not one of ['none', 'auto']", word, word)
	}
	if len(b.ports.Available(b.tx, b.server.ProjectID)) == 0 {
		return api.BadRequest("Unable to automatically allocate a network for project %s", b.server.ProjectID)
	}
	return b.anyNetwork()
}

func (b *builder) anyNetwork() error {
	switch all := b.ports.Available(b.tx, b.server.ProjectID); len(all) {
	case 0:
	case 1:
		b.server.Networks = []model.ServerNetwork{{NetworkID: all[0].ID}}
	default:
		return api.Conflict("Multiple possible networks found, use a Network ID to be more specific.")
	}
	return nil
}

// card checks one network card of the request.
func (s *service) card(r store.Reader, p *api.Principal, in cardInput) (model.ServerNetwork, error) {
	card := model.ServerNetwork{NetworkID: in.UUID, PortID: in.Port, FixedIP: in.FixedIP, Tag: in.Tag}
	if in.Port != "" {
		card.NetworkID = ""
		return card, s.checkPort(r, p, in)
	}
	if in.UUID == "" {
		return card, api.BadRequest("Bad network format: missing 'uuid'")
	}
	n, err := s.ports.Network(r, p, in.UUID)
	switch {
	case err != nil:
		return card, api.BadRequest("Network %s could not be found.", in.UUID)
	case n.External && n.ProjectID != p.ProjectID && !p.Admin() && !s.offered(r, p, n.ID):
		return card, api.Forbidden("It is not allowed to create an interface on external network %s", n.ID)
	case len(s.ports.SubnetsOf(r, n.ID)) == 0:
		return card, api.BadRequest("Network %s requires a subnet in order to boot instances on.", n.ID)
	}
	return card, nil
}

// offered reports whether a network is one that servers of the project may use.
func (s *service) offered(r store.Reader, p *api.Principal, networkID string) bool {
	for _, n := range s.ports.Available(r, p.ProjectID) {
		if n.ID == networkID {
			return true
		}
	}
	return false
}

func (s *service) checkPort(r store.Reader, p *api.Principal, in cardInput) error {
	port, err := s.ports.Port(r, p, in.Port)
	switch {
	case err != nil:
		return api.BadRequest("Port id %s could not be found.", in.Port)
	case port.DeviceID != "":
		return api.Conflict("Port %s is still in use.", in.Port)
	case in.FixedIP != "":
		return api.BadRequest("Specified Fixed IP '%s' cannot be used with port '%s': the two cannot be specified together.", in.FixedIP, in.Port)
	}
	return nil
}

// status returns the status and message of another service's error; OK if there is no error.
func status(err error) (int, string) {
	if err == nil {
		return http.StatusOK, ""
	}
	var e *api.Error
	if errors.As(err, &e) {
		return e.Status, e.Message
	}
	return http.StatusInternalServerError, err.Error()
}

func groupError(err error, name, project string) error {
	if code, _ := status(err); code == http.StatusNotFound {
		return api.BadRequest("Security group %s not found for project %s.", name, project)
	}
	return api.Conflict("Multiple security groups found matching '%s'. Use an ID to be more specific.", name)
}
