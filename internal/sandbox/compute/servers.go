package compute

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) serverRoutes() []api.Route {
	tags := api.Tags{Path: "/v2.1/servers/{id}", Read: api.Reader, Write: api.Member, Max: 60,
		Get: func(c *api.Call, r store.Reader) ([]string, error) {
			v, err := s.find(c, r)
			return v.Tags, err
		},
		Put: func(c *api.Call, tx *store.Tx, tags []string) {
			s.model.Servers.Change(tx, c.Path("id"), func(v *model.Server) { v.Tags = tags })
		}}
	return append(append(tags.Routes(), s.instanceActionRoutes()...),
		api.Route{Pattern: "GET /v2.1/servers", Role: api.Reader, Handle: func(c *api.Call) error { return s.listServers(c, false) }},
		api.Route{Pattern: "GET /v2.1/servers/detail", Role: api.Reader, Handle: func(c *api.Call) error { return s.listServers(c, true) }},
		api.Route{Pattern: "POST /v2.1/servers", Role: api.Member, Handle: s.createServer},
		api.Route{Pattern: "GET /v2.1/servers/{id}", Role: api.Reader, Handle: s.showServer},
		api.Route{Pattern: "PUT /v2.1/servers/{id}", Role: api.Member, Handle: s.updateServer},
		api.Route{Pattern: "DELETE /v2.1/servers/{id}", Role: api.Member, Handle: s.deleteServer},
		api.Route{Pattern: "GET /v2.1/servers/{id}/ips", Role: api.Reader, Handle: s.listAddresses},
		api.Route{Pattern: "GET /v2.1/servers/{id}/ips/{network}", Role: api.Reader, Handle: s.showAddresses},
		api.Route{Pattern: "GET /v2.1/servers/{id}/os-security-groups", Role: api.Reader, Handle: s.listServerGroups},
		api.Route{Pattern: "GET /v2.1/servers/{id}/os-server-password", Role: api.Reader, Handle: s.showPassword},
		api.Route{Pattern: "DELETE /v2.1/servers/{id}/os-server-password", Role: api.Member, Handle: s.clearPassword},
		api.Route{Pattern: "GET /v2.1/servers/{id}/diagnostics", Role: api.Admin, Handle: s.showDiagnostics},
	)
}

// find returns the server in the path, if the caller owns it.
func (s *service) find(c *api.Call, r store.Reader) (model.Server, error) {
	v, ok := s.model.Servers.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(v.ProjectID) {
		return v, api.NotFound("Instance %s could not be found.", c.Path("id"))
	}
	return v, nil
}

func (s *service) showServer(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"server": s.view(c, r, v)})
	})
}

type updateInput struct {
	Name        api.Optional[string] `json:"name"`
	AccessIPv4  api.Optional[string] `json:"accessIPv4"`
	AccessIPv6  api.Optional[string] `json:"accessIPv6"`
	DiskConfig  api.Optional[string] `json:"OS-DCF:diskConfig"`
	Description api.Optional[string] `json:"description"`
	Hostname    api.Optional[string] `json:"hostname"`
}

func (in updateInput) check(v api.Microversion) error {
	switch {
	case in.Description.Set && !v.AtLeast(2, 19):
		return unexpected("description")
	case in.Hostname.Set && !v.AtLeast(2, 90):
		return unexpected("hostname")
	case in.Name.Set:
		return checkName("name", in.Name.Value)
	}
	return nil
}

func (s *service) updateServer(c *api.Call) error {
	var in updateInput
	if err := c.DecodeIn("server", &in); err != nil {
		return err
	}
	if err := in.check(c.Version); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.find(c, tx)
		if err != nil {
			return err
		}
		s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
			n.Name = strings.TrimSpace(in.Name.Or(n.Name))
			in.AccessIPv4.Apply(&n.AccessIPv4)
			in.AccessIPv6.Apply(&n.AccessIPv6)
			in.DiskConfig.Apply(&n.DiskConfig)
			in.Hostname.Apply(&n.Hostname)
			if in.Description.Set {
				n.Description = orNull(in.Description.Value)
			}
			n.UpdatedAt = s.env.Timing.Now()
			v = *n
		})
		return c.Reply(http.StatusOK, map[string]any{"server": s.view(c, tx, v)})
	})
}

// deleteServer marks a server as being deleted; the loop deletes it.
func (s *service) deleteServer(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.find(c, tx)
		if err != nil {
			return err
		}
		if err := unlocked(c, v); err != nil {
			return err
		}
		s.beginDelete(tx, c, v)
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (s *service) beginDelete(tx *store.Tx, c *api.Call, v model.Server) {
	if v.TaskState == taskDeleting {
		return
	}
	action := s.begin(tx, c, v, "delete", "compute_terminate_instance")
	s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
		n.ActionID, n.UpdatedAt = action, s.env.Timing.Now()
		s.start(n, taskDeleting, 2*time.Second)
	})
}

func (s *service) listAddresses(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"addresses": plainAddresses(s.addresses(r, v))})
	})
}

// plainAddresses leaves out the attributes that only servers show.
func plainAddresses(all map[string][]address) map[string]any {
	out := map[string]any{}
	for name, list := range all {
		plain := []any{}
		for _, a := range list {
			plain = append(plain, map[string]any{"version": a.Version, "addr": a.Addr})
		}
		out[name] = plain
	}
	return out
}

func (s *service) showAddresses(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		name := c.Path("network")
		list, ok := plainAddresses(s.addresses(r, v))[name]
		if !ok {
			return api.NotFound("Instance is not a member of specified network")
		}
		return c.Reply(http.StatusOK, map[string]any{name: list})
	})
}

// listServerGroups lists the security groups of a server.
func (s *service) listServerGroups(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		list := []any{}
		var seen []string
		for _, port := range s.ports.PortsOf(r, v.ID) {
			for _, id := range port.Groups {
				g, ok := s.env.Model.Network.Groups.Get(r, id)
				if !ok || slices.Contains(seen, id) {
					continue
				}
				seen = append(seen, id)
				list = append(list, map[string]any{"id": g.ID, "name": g.Name, "description": g.Description,
					"tenant_id": g.ProjectID, "rules": []any{}})
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"security_groups": list})
	})
}

// showPassword returns the password that a guest has set, encrypted; guests of the sandbox set
// none.
func (s *service) showPassword(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if _, err := s.find(c, r); err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]string{"password": ""})
	})
}

func (s *service) clearPassword(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if _, err := s.find(c, r); err != nil {
			return err
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (s *service) showDiagnostics(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		if v.VMState != model.ServerActive && v.VMState != model.ServerPaused {
			return badState(v, "get_diagnostics", "vm_state", v.VMState)
		}
		if !c.Version.AtLeast(2, 48) {
			return c.Reply(http.StatusOK, map[string]any{"memory": v.Flavor.RAM << 10, "vda_errors": -1})
		}
		nics := []any{}
		for _, port := range s.ports.PortsOf(r, v.ID) {
			nics = append(nics, map[string]any{"mac_address": port.MAC})
		}
		return c.Reply(http.StatusOK, map[string]any{
			"state": powerName(v.PowerState), "driver": "libvirt", "hypervisor": "kvm", "hypervisor_os": "linux",
			"uptime": int(s.env.Timing.Now().Sub(launched(v)).Seconds()), "config_drive": v.ConfigDrive, "num_cpus": v.Flavor.VCPUs,
			"num_nics": len(nics), "nic_details": nics, "num_disks": len(v.Disks), "disk_details": []any{}, "cpu_details": []any{},
			"memory_details": map[string]any{"maximum": v.Flavor.RAM, "used": nil},
		})
	})
}

func launched(v model.Server) time.Time {
	if v.LaunchedAt != nil {
		return *v.LaunchedAt
	}
	return v.CreatedAt
}
