package compute

import (
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// controller is the host of the services that are not hypervisors.
const controller = "controller"

func (s *service) serviceRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-services", Role: api.Admin, Handle: s.listServices},
		{Pattern: "PUT /v2.1/os-services/{id}", Role: api.Admin, Handle: s.updateService},
		{Pattern: "DELETE /v2.1/os-services/{id}", Role: api.Admin, Handle: s.deleteService},
	}
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func enabled(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func serviceID(c *api.Call, h model.ComputeHost) any {
	if c.Version.AtLeast(2, 53) {
		return h.ServiceID
	}
	return h.Number + 2 // after scheduler and conductor
}

func (s *service) serviceView(c *api.Call, r store.Reader, h model.ComputeHost) map[string]any {
	v := map[string]any{"id": serviceID(c, h), "binary": "nova-compute", "host": h.Name, "zone": s.zone(r, h.Name),
		"status": enabled(!h.Disabled), "state": upDown(!h.ForcedDown), "disabled_reason": orNull(h.DisabledReason),
		"updated_at": s.env.Timing.Now().Format(micros)}
	if c.Version.AtLeast(2, 11) {
		v["forced_down"] = h.ForcedDown
	}
	return v
}

func (s *service) listServices(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		list := []map[string]any{}
		for n, binary := range []string{"nova-scheduler", "nova-conductor"} {
			v := s.serviceView(c, r, model.ComputeHost{Name: controller, Number: n - 1, ServiceID: hostID(binary, controller)})
			v["binary"], v["zone"] = binary, internalZone
			list = append(list, v)
		}
		for h := range s.model.Hosts.All(r) {
			list = append(list, s.serviceView(c, r, h))
		}
		chosen := []any{}
		for _, v := range list {
			if (c.Query("binary") == "" || c.Query("binary") == v["binary"]) && (c.Query("host") == "" || c.Query("host") == v["host"]) {
				chosen = append(chosen, v)
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"services": chosen})
	})
}

type serviceInput struct {
	Host       string `json:"host"`
	Binary     string `json:"binary"`
	Status     string `json:"status"`
	Reason     string `json:"disabled_reason"`
	ForcedDown *flag  `json:"forced_down"`
}

// updateService sets status and forced_down of a compute service: by its id since 2.53; before
// that, by a word in the path and the host in the body.
func (s *service) updateService(c *api.Call) error {
	var in serviceInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	if !c.Version.AtLeast(2, 53) {
		switch word := c.Path("id"); word {
		case "enable":
			in.Status = "enabled"
		case "disable", "disable-log-reason":
			in.Status = "disabled"
		case "force-down":
		default:
			return api.NotFound("Unknown action")
		}
	}
	if in.Status != "" && in.Status != "enabled" && in.Status != "disabled" {
		return api.BadRequest("Invalid input for field/attribute status. Value: %s. %q is not one of ['enabled', 'disabled']", in.Status, in.Status)
	}
	if in.Reason != "" && in.Status != "disabled" {
		return api.BadRequest("Specifying disabled_reason requires that status is set to disabled.")
	}
	return c.Update(func(tx *store.Tx) error {
		h, err := s.computeService(c, tx, in.Host)
		if err != nil {
			return err
		}
		if in.Status != "" {
			h.Disabled, h.DisabledReason = in.Status == "disabled", strings.TrimSpace(in.Reason)
		}
		if in.ForcedDown != nil {
			h.ForcedDown = bool(*in.ForcedDown)
		}
		s.model.Hosts.Put(tx, h)
		return c.Reply(http.StatusOK, map[string]any{"service": s.serviceView(c, tx, h)})
	})
}

func (s *service) computeService(c *api.Call, r store.Reader, host string) (model.ComputeHost, error) {
	for h := range s.model.Hosts.All(r) {
		if c.Version.AtLeast(2, 53) && h.ServiceID == c.Path("id") || !c.Version.AtLeast(2, 53) && h.Name == host {
			return h, nil
		}
	}
	if c.Version.AtLeast(2, 53) {
		return model.ComputeHost{}, api.NotFound("Service %s could not be found.", c.Path("id"))
	}
	return model.ComputeHost{}, api.NotFound("Could not find binary nova-compute on host %s.", host)
}

// deleteService removes a host without servers from the cloud.
func (s *service) deleteService(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		h, err := s.computeService(c, tx, "")
		if err != nil {
			return err
		}
		if s.model.ServersOn.Count(tx, h.Name) > 0 {
			return api.Conflict("Unable to delete compute service that is hosting instances. Migrate or delete the instances first.")
		}
		for a := range s.model.Aggregates.All(tx) {
			s.model.Aggregates.Change(tx, a.UUID, func(a *model.Aggregate) { a.Hosts = without(a.Hosts, h.Name) })
		}
		s.model.Hosts.Delete(tx, h.Name)
		return c.Reply(http.StatusNoContent, nil)
	})
}
