package compute

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// eventInput is an event of Neutron or Cinder about a server.
type eventInput struct {
	Name   string `json:"name"`
	Server string `json:"server_uuid"`
	Status string `json:"status"`
	Tag    string `json:"tag"`
}

// eventNames returns the events that a version knows.
func eventNames(v api.Microversion) []string {
	names := []string{"network-changed", "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted"}
	if v.AtLeast(2, 51) {
		names = append(names, "volume-extended")
	}
	if v.AtLeast(2, 76) {
		names = append(names, "power-update")
	}
	if v.AtLeast(2, 82) {
		names = append(names, "accelerator-request-bound")
	}
	if v.AtLeast(2, 93) {
		names = append(names, "volume-reimaged")
	}
	return names
}

// externalEvents takes events about servers. Here, ports and volumes are in the same model and
// their changes are seen without events, so only the event of a deleted port has an effect.
func (s *service) externalEvents(c *api.Call) error {
	var in []eventInput
	if err := c.DecodeIn("events", &in); err != nil {
		return err
	}
	if len(in) == 0 {
		return api.BadRequest("Invalid input for field/attribute events. Value: []. [] is too short")
	}
	for _, e := range in {
		if !slices.Contains(eventNames(c.Version), e.Name) {
			return api.BadRequest("Invalid input for field/attribute name. Value: %s. %q is not one of the events of this version", e.Name, e.Name)
		}
	}
	return c.Update(func(tx *store.Tx) error {
		list := []any{}
		known, failed := 0, 0
		for _, e := range in {
			code, status := s.takeEvent(tx, e)
			if code == http.StatusOK {
				known++
			} else {
				failed++
			}
			list = append(list, map[string]any{"name": e.Name, "server_uuid": e.Server, "tag": e.Tag, "status": status, "code": code})
		}
		switch {
		case known == 0:
			return api.NotFound("No instances found for any event")
		case failed > 0:
			return c.Reply(http.StatusMultiStatus, map[string]any{"events": list})
		}
		return c.Reply(http.StatusOK, map[string]any{"events": list})
	})
}

func (s *service) takeEvent(tx *store.Tx, e eventInput) (code int, status string) {
	v, ok := s.model.Servers.Get(tx, e.Server)
	switch {
	case !ok:
		return http.StatusNotFound, "failed"
	case v.Host == "":
		return http.StatusUnprocessableEntity, "failed"
	case e.Name == "network-vif-deleted":
		s.model.Servers.Change(tx, v.ID, func(n *model.Server) { leave(n, e.Tag) })
	}
	if e.Status != "" {
		return http.StatusOK, e.Status
	}
	return http.StatusOK, "completed"
}
