package compute

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// createImage begins an image of the server's disk.
func (s *service) createImage(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Name     string            `json:"name"`
		Metadata map[string]string `json:"metadata"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	if err := checkName("name", asked.Name); err != nil {
		return err
	}
	from := states(model.ServerActive, model.ServerStopped, model.ServerPaused, model.ServerSuspended)
	return s.do(c, rule{"snapshot", "createImage", from}, func(tx *store.Tx, n *model.Server) error {
		if n.ImageID == "" {
			return api.Errorf(http.StatusNotImplemented, "", "The sandbox makes no image of a server that boots from a volume; take a snapshot of the volume.")
		}
		made := s.imageOf(tx, c, *n, asked.Name, asked.Metadata)
		n.SnapshotID = made.ID
		s.start(n, taskSnapshot, 2*time.Second)
		if c.Version.AtLeast(2, 45) {
			return c.Reply(http.StatusAccepted, map[string]string{"image_id": made.ID})
		}
		c.Writer.Header().Set("Location", c.URL("/images/"+made.ID))
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) imageOf(tx *store.Tx, c *api.Call, v model.Server, name string, extra map[string]string) model.Image {
	base, _ := s.env.Model.Image.Images.Get(tx, v.ImageID) // it may have been deleted since
	made := model.Image{Name: name, ProjectID: v.ProjectID, DiskFormat: base.DiskFormat, ContainerFormat: cmp.Or(base.ContainerFormat, "bare"),
		MinRAM: base.MinRAM, MinDisk: max(base.MinDisk, v.Flavor.Disk), Properties: map[string]string{}}
	maps.Copy(made.Properties, base.Properties)
	maps.Copy(made.Properties, map[string]string{"image_type": "snapshot", "instance_uuid": v.ID, "base_image_ref": v.ImageID,
		"user_id": c.Principal.UserID(), "boot_roles": strings.Join(c.Principal.Roles, ","), "owner_id": v.ProjectID})
	maps.Copy(made.Properties, extra)
	return image.Create(tx, s.env, made)
}

// securityGroup adds a group to all ports of a server, or removes it.
func (s *service) securityGroup(c *api.Call, in json.RawMessage, add bool) error {
	var asked namedInput
	if err := parse(in, &asked); err != nil {
		return err
	}
	if asked.Name == "" {
		return api.BadRequest("Missing parameter dict")
	}
	return s.edit(c, http.StatusAccepted, func(tx *store.Tx, n *model.Server) error {
		g, err := s.ports.SecurityGroup(tx, n.ProjectID, asked.Name)
		if err != nil {
			if code, _ := status(err); code == http.StatusNotFound {
				return api.NotFound("Security group %s not found for project %s.", asked.Name, n.ProjectID)
			}
			return api.Conflict("Multiple security groups found matching '%s'. Use an ID to be more specific.", asked.Name)
		}
		return s.regroup(tx, *n, g, add)
	})
}

func (s *service) regroup(tx *store.Tx, v model.Server, g model.SecurityGroup, add bool) error {
	changed := false
	for _, port := range s.ports.PortsOf(tx, v.ID) {
		has := slices.Contains(port.Groups, g.ID)
		if has == add || !port.PortSecurity {
			continue
		}
		groups := without(port.Groups, g.ID)
		if add {
			groups = append(groups, g.ID)
		}
		if err := s.ports.SetGroups(tx, port.ID, groups); err != nil {
			return err
		}
		changed = true
	}
	if !changed && !add {
		return api.NotFound("Security group %s not associated with the instance %s", g.Name, v.ID)
	}
	return nil
}

type floatingInput struct {
	Address string `json:"address"`
	Fixed   string `json:"fixed_address"`
}

// addFloatingIP associates a floating IP with the server; 2.44 removed it.
func (s *service) addFloatingIP(c *api.Call, in json.RawMessage) error {
	var asked floatingInput
	if err := parse(in, &asked); err != nil {
		return err
	}
	if c.Version.AtLeast(2, 44) {
		return api.BadRequest("There is no such action: addFloatingIp")
	}
	return s.edit(c, http.StatusAccepted, func(tx *store.Tx, n *model.Server) error {
		f, err := s.ports.FloatingIP(tx, n.ProjectID, asked.Address)
		if err != nil {
			return api.NotFound("floating IP not found")
		}
		for _, a := range s.ports.Addresses(tx, n.ID) {
			if a.Version == 4 && !a.Floating && (asked.Fixed == "" || asked.Fixed == a.IP) {
				return s.associate(tx, c, f, a)
			}
		}
		return api.BadRequest("No fixed IPs associated to instance")
	})
}

func (s *service) associate(tx *store.Tx, c *api.Call, f model.FloatingIP, a network.Address) error {
	if err := s.ports.Associate(tx, c.Principal, f.ID, a.PortID, a.IP); err != nil {
		_, message := status(err)
		return api.BadRequest("Unable to associate floating IP %s to fixed IP %s for instance. Error: %s", f.IPAddress, a.IP, message)
	}
	return nil
}

func (s *service) removeFloatingIP(c *api.Call, in json.RawMessage) error {
	var asked floatingInput
	if err := parse(in, &asked); err != nil {
		return err
	}
	if c.Version.AtLeast(2, 44) {
		return api.BadRequest("There is no such action: removeFloatingIp")
	}
	return s.edit(c, http.StatusAccepted, func(tx *store.Tx, n *model.Server) error {
		f, err := s.ports.FloatingIP(tx, n.ProjectID, asked.Address)
		if err != nil {
			return api.NotFound("floating IP not found")
		}
		for _, a := range s.ports.Addresses(tx, n.ID) {
			if a.Floating && a.IP == asked.Address {
				s.ports.Disassociate(tx, f.ID)
				return nil
			}
		}
		return api.Conflict("Floating IP %s is not associated with instance %s.", asked.Address, n.ID)
	})
}

// consoleOutput reads the console log from the driver. It is the only call whose handler asks the
// driver, because the text is nowhere else.
func (s *service) consoleOutput(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Length json.RawMessage `json:"length"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	lines := 0
	if word := strings.Trim(string(asked.Length), `"`); word != "" && word != "null" {
		n, err := strconv.Atoi(word)
		if err != nil || n < -1 {
			return api.BadRequest("Invalid input for field/attribute length. Value: %s. %s is not valid under any of the given schemas", word, word)
		}
		lines = max(n, 0)
	}
	var v model.Server
	if err := c.View(func(r store.Reader) (err error) { v, err = s.find(c, r); return err }); err != nil {
		return err
	}
	if v.Host == "" {
		return api.Conflict("Instance %s is not ready", v.ID)
	}
	output, err := s.machines().Console(c.Context(), v.ID, lines)
	if err != nil {
		return api.NotFound("Unable to get console log for instance %s: %v", v.ID, err)
	}
	return c.Reply(http.StatusOK, map[string]string{"output": output})
}
