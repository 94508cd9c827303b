package volume

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// unmanaged is the status of a volume that Cinder has let go: the driver
// still has its bytes, and the API no longer shows it. Its project is empty.
const unmanaged = "unmanaged"

func (s *service) manageRoutes() []api.Route {
	return []api.Route{{Pattern: "POST /v3/manageable_volumes", Role: api.Admin, Handle: since(8, s.manage)}}
}

func (s *service) unmanage(_ *api.Call, tx *store.Tx, v model.Volume, _ json.RawMessage) error {
	if err := deletable(tx, s.model, v, false); err != nil {
		return err
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) { v.ProjectID, v.Status = "", unmanaged })
	return nil
}

// manage takes a volume back that was let go, by its name at the driver.
func (s *service) manage(c *api.Call) error {
	var in struct {
		Host        string            `json:"host"`
		Ref         map[string]string `json:"ref"`
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Type        string            `json:"volume_type"`
		Zone        string            `json:"availability_zone"`
		Bootable    bool              `json:"bootable"`
		Metadata    map[string]string `json:"metadata"`
	}
	if err := c.DecodeIn("volume", &in); err != nil {
		return err
	}
	if in.Host != host && in.Host != pool {
		return api.BadRequest("Service %s could not be found.", in.Host)
	}
	return c.Update(func(tx *store.Tx) error {
		id := strings.TrimPrefix(in.Ref["source-name"], "volume-")
		v, ok := s.model.Volumes.Get(tx, id)
		if !ok || v.Status != unmanaged {
			return api.BadRequest("Invalid input received: the reference %v names no volume that can be managed.", in.Ref)
		}
		if in.Type != "" {
			t, ok := findType(tx, s.model.Types, c.Principal, in.Type)
			if !ok {
				return noType(in.Type)
			}
			v.TypeID = t.ID
		}
		kind, _ := s.model.Types.Get(tx, v.TypeID)
		if err := (ledger{s.env, c.Principal.ProjectID}).volumes(tx, kind.Name, 1, v.Size); err != nil {
			return err
		}
		v.ProjectID, v.UserID, v.Status = c.Principal.ProjectID, c.Principal.UserID(), model.VolumeAvailable
		v.Name, v.Description, v.Bootable, v.Metadata = in.Name, in.Description, in.Bootable, filled(in.Metadata)
		v.UpdatedAt = s.env.Timing.Now()
		s.model.Volumes.Put(tx, v)
		return c.Reply(http.StatusAccepted, map[string]any{"volume": s.view(c, tx, v).render(c)})
	})
}
