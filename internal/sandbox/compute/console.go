package compute

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type consoleInput struct {
	Protocol string `json:"protocol"`
	Type     string `json:"type"`
}

// protocols returns the types of consoles by protocol.
func protocols() map[string][]string {
	return map[string][]string{"vnc": {"novnc", "xvpvnc"}, "spice": {"spice-html5"}, "serial": {"serial"}, "rdp": {"rdp-html5"}, "mks": {"webmks"}}
}

// remoteConsole answers with an address that has a token. Machines of the sandbox have no screen,
// so nothing answers at the address, as in a cloud whose proxy is down.
func (s *service) remoteConsole(c *api.Call) error {
	if !c.Version.AtLeast(2, 6) {
		return api.NotFound("The resource could not be found.")
	}
	var in consoleInput
	if err := c.DecodeIn("remote_console", &in); err != nil {
		return err
	}
	if !slices.Contains(protocols()[in.Protocol], in.Type) {
		return api.BadRequest("Invalid input for field/attribute type. Value: %s. %q is not one of the types of protocol %q", in.Type, in.Type, in.Protocol)
	}
	return s.console(c, "remote_console", in)
}

// oldConsole is the same as an action, until 2.5.
func (s *service) oldConsole(c *api.Call, raw json.RawMessage) error {
	var in consoleInput
	if err := parse(raw, &in); err != nil {
		return err
	}
	return s.console(c, "console", in)
}

func (s *service) console(c *api.Call, key string, in consoleInput) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		if !runs(v.VMState) || v.Host == "" {
			return api.Conflict("Instance %s is not ready", v.ID)
		}
		out := map[string]string{"type": in.Type, "url": c.URL("/console/" + in.Type + "?token=" + model.NewID())}
		if in.Protocol != "" {
			out["protocol"] = in.Protocol
		}
		return c.Reply(http.StatusOK, map[string]any{key: out})
	})
}
