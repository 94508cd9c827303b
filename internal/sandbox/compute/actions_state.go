package compute

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// edit changes the server in the path in whatever state it is.
func (s *service) edit(c *api.Call, status int, change func(tx *store.Tx, n *model.Server) error) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.find(c, tx)
		if err != nil {
			return err
		}
		if err := c.Reply(status, nil); err != nil {
			return err
		}
		s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
			n.UpdatedAt = s.env.Timing.Now()
			err = change(tx, n)
		})
		return err
	})
}

func (s *service) lock(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Reason *string `json:"locked_reason"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	if asked.Reason != nil && !c.Version.AtLeast(2, 73) {
		return unexpected("locked_reason")
	}
	return s.edit(c, http.StatusAccepted, func(tx *store.Tx, n *model.Server) error {
		s.end(tx, s.begin(tx, c, *n, "lock", ""), n.Host, "")
		n.Locked, n.LockedReason, n.LockedBy = true, asked.Reason, "owner"
		if c.Principal.ProjectID != n.ProjectID {
			n.LockedBy = "admin"
		}
		return nil
	})
}

// unlock is refused to owners for what an administrator has locked.
func (s *service) unlock(c *api.Call, _ json.RawMessage) error {
	return s.edit(c, http.StatusAccepted, func(tx *store.Tx, n *model.Server) error {
		if n.LockedBy == "admin" && !c.Principal.Admin() {
			return api.Forbidden("Policy doesn't allow os_compute_api:os-lock-server:unlock:unlock_override to be performed.")
		}
		s.end(tx, s.begin(tx, c, *n, "unlock", ""), n.Host, "")
		n.Locked, n.LockedReason, n.LockedBy = false, nil, ""
		return nil
	})
}

func (s *service) forceDelete(c *api.Call, _ json.RawMessage) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.find(c, tx)
		if err != nil {
			return err
		}
		if err := unlocked(c, v); err != nil {
			return err
		}
		s.beginDelete(tx, c, v)
		return c.Reply(http.StatusAccepted, nil)
	})
}

// undelete would bring back a server that was deleted softly; servers are
// deleted at once here.
func (s *service) undelete(c *api.Call, _ json.RawMessage) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		return badState(v, "restore", "vm_state", v.VMState)
	})
}

func (s *service) resetState(c *api.Call, in json.RawMessage) error {
	var asked struct {
		State string `json:"state"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	if asked.State != "active" && asked.State != "error" {
		return api.BadRequest("Invalid input for field/attribute state. Value: %s. %q is not one of ['active', 'error']", asked.State, asked.State)
	}
	return s.edit(c, http.StatusAccepted, func(_ *store.Tx, n *model.Server) error {
		n.VMState, n.TaskState, n.Pending = asked.State, "", nil
		if asked.State == "active" {
			n.PowerState = power(model.ServerActive)
		}
		return nil
	})
}

func (s *service) changePassword(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Password *string `json:"adminPass"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	if asked.Password == nil || *asked.Password == "" {
		return api.BadRequest("No adminPass was specified")
	}
	return s.do(c, rule{"set_admin_password", "changePassword", states(model.ServerActive)}, func(tx *store.Tx, n *model.Server) error {
		s.model.Payloads.Change(tx, n.ID, func(p *model.ServerPayload) { p.Password = *asked.Password })
		s.start(n, taskPassword, time.Second)
		return nil
	})
}

func (s *service) rescueAction(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Password string `json:"adminPass"`
		Image    string `json:"rescue_image_ref"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	if asked.Password == "" {
		asked.Password = rand.Text()[:12]
	}
	from := states(model.ServerActive, model.ServerStopped, model.ServerError)
	return s.do(c, rule{"rescue", "rescue", from}, func(tx *store.Tx, n *model.Server) error {
		if n.ImageID == "" && !c.Version.AtLeast(2, 87) {
			return api.BadRequest("Instance %s cannot be rescued: Cannot rescue a volume-backed instance", n.ID)
		}
		n.RescueImage = n.ImageID
		if asked.Image != "" {
			img, err := s.usableImage(tx, c.Principal, asked.Image)
			if err != nil {
				return err
			}
			n.RescueImage = img.ID
		}
		s.start(n, taskRescuing, 3*time.Second)
		return c.Reply(http.StatusOK, map[string]string{"adminPass": asked.Password})
	})
}
