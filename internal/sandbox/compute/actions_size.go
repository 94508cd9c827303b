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

func (s *service) resizeAction(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Flavor     values `json:"flavorRef"`
		DiskConfig string `json:"OS-DCF:diskConfig"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	if len(asked.Flavor) != 1 {
		return api.BadRequest("Invalid input for field/attribute resize. 'flavorRef' is a required property")
	}
	return s.do(c, rule{"resize", "resize", states(model.ServerActive, model.ServerStopped)}, func(tx *store.Tx, n *model.Server) error {
		f, err := s.flavor(c, tx, asked.Flavor[0])
		switch {
		case err != nil:
			return api.BadRequest("Unable to locate requested flavor.")
		case f.ID == n.Flavor.ID:
			return api.BadRequest("When resizing, instances must change flavor!")
		case f.Disk == 0 && n.ImageID != "":
			return api.BadRequest("Resize to zero disk flavor is not allowed.")
		case f.Disk < n.Flavor.Disk && n.ImageID != "":
			return api.BadRequest("Resize error: Unable to resize disk down.")
		}
		more := map[string]int{"cores": f.VCPUs - n.Flavor.VCPUs, "ram": f.RAM - n.Flavor.RAM}
		if err := s.room(tx, n.ProjectID, more); err != nil {
			return err
		}
		f.Projects = nil
		s.beginResize(n, f)
		return nil
	})
}

func (s *service) beginResize(n *model.Server, f model.Flavor) {
	n.Before = &model.ServerBefore{VMState: n.VMState, Resized: &f}
	s.start(n, taskResizePrep, time.Second)
}

// migrateAction moves a server to another host, as a resize to the flavor that it has already.
func (s *service) migrateAction(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Host string `json:"host"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	return s.do(c, rule{"migrate", "migrate", states(model.ServerActive, model.ServerStopped)}, func(tx *store.Tx, n *model.Server) error {
		if asked.Host != "" {
			if err := s.checkHost(tx, *n, asked.Host); err != nil {
				return err
			}
		}
		s.beginResize(n, n.Flavor)
		return nil
	})
}

func (s *service) checkHost(r store.Reader, v model.Server, host string) error {
	if _, ok := s.model.Hosts.Get(r, host); !ok {
		return api.BadRequest("Compute host %s could not be found.", host)
	}
	if host == v.Host {
		return api.BadRequest("The target host can't be the same one.")
	}
	return nil
}

func (s *service) liveMigrateAction(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Host *string `json:"host"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	return s.do(c, rule{"live_migrate", "live-migration", states(model.ServerActive, model.ServerPaused)}, func(tx *store.Tx, n *model.Server) error {
		target := ""
		if asked.Host != nil && *asked.Host != "" {
			target = *asked.Host
			if err := s.checkHost(tx, *n, target); err != nil {
				return err
			}
		} else if found, ok := s.pick(tx, *n, n.Flavor, n.Host); ok {
			target = found
		} else {
			return api.BadRequest("No valid host was found. There are not enough hosts available.")
		}
		n.Before = &model.ServerBefore{VMState: n.VMState, Host: n.Host, Target: target}
		s.start(n, taskMigrating, 3*time.Second)
		return nil
	})
}

// confirmResize forgets what the server was before; the machine already has its new size.
func (s *service) confirmResize(c *api.Call, _ json.RawMessage) error {
	return s.do(c, rule{"confirm_resize", "confirmResize", states(model.ServerResized)}, func(tx *store.Tx, n *model.Server) error {
		state := n.Before.VMState
		n.Before = nil
		s.finish(tx, n, state)
		return c.Reply(http.StatusNoContent, nil)
	})
}

type rebuildInput struct {
	Image       string               `json:"imageRef"`
	Name        *string              `json:"name"`
	Password    *string              `json:"adminPass"`
	Metadata    map[string]string    `json:"metadata"`
	Personality []fileInput          `json:"personality"`
	AccessIPv4  *string              `json:"accessIPv4"`
	AccessIPv6  *string              `json:"accessIPv6"`
	DiskConfig  *string              `json:"OS-DCF:diskConfig"`
	Description api.Optional[string] `json:"description"`
	Key         api.Optional[string] `json:"key_name"`
	UserData    api.Optional[string] `json:"user_data"`
	Hostname    *string              `json:"hostname"`
}

func (s *service) rebuildAction(c *api.Call, raw json.RawMessage) error {
	var in rebuildInput
	if err := parse(raw, &in); err != nil {
		return err
	}
	if in.Image == "" {
		return api.BadRequest("Invalid input for field/attribute rebuild. 'imageRef' is a required property")
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return err
	}
	from := states(model.ServerActive, model.ServerStopped, model.ServerError)
	err := s.do(c, rule{"rebuild", "rebuild", from}, func(tx *store.Tx, n *model.Server) error {
		if err := s.rebuildSource(tx, c, n, in.Image); err != nil {
			return err
		}
		password := rand.Text()[:12]
		if in.Password != nil {
			password = *in.Password
		}
		in.apply(n)
		if err := s.rebuildPayload(tx, c, n, in, password); err != nil {
			return err
		}
		s.start(n, taskRebuilding, 2*time.Second)
		view := s.view(c, tx, *n)
		view["adminPass"] = password
		c.Writer.Header().Set("Location", c.URL("/v2.1/servers/"+n.ID))
		return c.Reply(http.StatusAccepted, map[string]any{"server": view})
	})
	return err
}

// rebuildSource sets the image of a rebuild. It refuses a server that boots from a volume.
func (s *service) rebuildSource(r store.Reader, c *api.Call, n *model.Server, id string) error {
	img, err := s.usableImage(r, c.Principal, id)
	if err != nil {
		return err
	}
	if n.ImageID == "" {
		return api.BadRequest("Unable to rebuild with a different image for a volume-backed server.")
	}
	n.ImageID, n.RescueImage = img.ID, ""
	return fits(c, n.Flavor, img)
}

func (in rebuildInput) apply(n *model.Server) {
	set := func(target *string, value *string) {
		if value != nil {
			*target = *value
		}
	}
	set(&n.Name, in.Name)
	set(&n.AccessIPv4, in.AccessIPv4)
	set(&n.AccessIPv6, in.AccessIPv6)
	set(&n.DiskConfig, in.DiskConfig)
	set(&n.Hostname, in.Hostname)
	if in.Metadata != nil {
		n.Metadata = in.Metadata
	}
	if in.Description.Set {
		n.Description = orNull(in.Description.Value)
	}
}

// rebuildPayload sets what only the machine gets.
func (s *service) rebuildPayload(tx *store.Tx, c *api.Call, n *model.Server, in rebuildInput, password string) error {
	data, err := userData(orNull(in.UserData.Value))
	if err != nil {
		return err
	}
	var key model.KeyPair
	if in.Key.Or("") != "" {
		found, ok := s.model.KeyPairs.Get(tx, model.KeyPairID(n.UserID, in.Key.Value))
		if !ok {
			return api.BadRequest("Invalid key_name provided.")
		}
		key = found
	}
	put, err := files(in.Personality, s.quota.Limits(tx, n.ProjectID))
	if err != nil {
		return err
	}
	s.model.Payloads.Change(tx, n.ID, func(p *model.ServerPayload) {
		p.Password = password
		if in.UserData.Set {
			p.UserData = data
		}
		if in.Key.Set {
			n.KeyName, p.KeyType, p.PublicKey = key.Name, key.Type, key.PublicKey
		}
		if in.Personality != nil {
			p.Files = put
		}
	})
	return nil
}
