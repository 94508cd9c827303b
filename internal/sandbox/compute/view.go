package compute

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func serverLinks(c *api.Call, id string) []api.Link {
	return []api.Link{{Rel: "self", Href: c.URL("/v2.1/servers/" + id)}, {Rel: "bookmark", Href: c.URL("/servers/" + id)}}
}

// instanceName returns the hypervisor's name of the server.
func instanceName(v model.Server) string { return "instance-" + v.ID[:8] }

// hostHash returns a hash that tells users whether two servers share a host, but not which host.
func hostHash(v model.Server) string {
	if v.Host == "" {
		return ""
	}
	sum := sha256.Sum224([]byte(v.ProjectID + v.Host))
	return hex.EncodeToString(sum[:])
}

// serverStatus is the status that users see.
func serverStatus(v model.Server) string {
	if status, ok := taskStatus(v.VMState, v.TaskState); ok {
		return status
	}
	switch v.VMState {
	case model.ServerBuilding:
		return "BUILD"
	case model.ServerStopped:
		return "SHUTOFF"
	case model.ServerRescued:
		return "RESCUE"
	case model.ServerResized:
		return "VERIFY_RESIZE"
	}
	return strings.ToUpper(v.VMState)
}

// taskStatus returns the status while a task is under way, if the task has a status of its own.
func taskStatus(vm, task string) (string, bool) {
	switch task {
	case taskRebooting:
		return "REBOOT", vm == model.ServerActive
	case taskRebootingHard:
		return "HARD_REBOOT", true
	case taskPassword:
		return "PASSWORD", vm == model.ServerActive
	case taskRebuilding, taskRebuildSpawning:
		return "REBUILD", true
	case taskMigrating:
		return "MIGRATING", true
	case taskResizePrep, taskResizeMigrating, taskResizeFinish:
		return "RESIZE", vm == model.ServerActive || vm == model.ServerStopped
	case taskReverting:
		return "REVERT_RESIZE", vm == model.ServerResized
	}
	return "", false
}

// view returns a server with everything that the caller may see in the version.
func (s *service) view(c *api.Call, r store.Reader, v model.Server) map[string]any {
	out := map[string]any{
		"id": v.ID, "name": v.Name, "status": serverStatus(v), "tenant_id": v.ProjectID, "user_id": v.UserID,
		"metadata": orEmpty(v.Metadata), "hostId": hostHash(v), "flavor": serverFlavor(c, v.Flavor),
		"created": v.CreatedAt.Format(seconds), "updated": v.UpdatedAt.Format(seconds), "addresses": s.addresses(r, v),
		"accessIPv4": v.AccessIPv4, "accessIPv6": v.AccessIPv6, "links": serverLinks(c, v.ID), "image": "",
		"OS-DCF:diskConfig": v.DiskConfig, "OS-EXT-AZ:availability_zone": v.Zone, "config_drive": "", "key_name": orNull(v.KeyName),
		"OS-SRV-USG:launched_at": text(v.LaunchedAt, micros), "OS-SRV-USG:terminated_at": nil,
		"OS-EXT-STS:task_state": orNull(v.TaskState), "OS-EXT-STS:vm_state": v.VMState, "OS-EXT-STS:power_state": v.PowerState,
		"os-extended-volumes:volumes_attached": attachedVolumes(c, v),
	}
	if v.ImageID != "" {
		out["image"] = map[string]any{"id": v.ImageID, "links": []api.Link{{Rel: "bookmark", Href: c.URL("/images/" + v.ImageID)}}}
	}
	if v.ConfigDrive {
		out["config_drive"] = "True"
	}
	if groups := s.groupNames(r, v); len(groups) > 0 {
		out["security_groups"] = groups
	}
	switch status := out["status"]; status {
	case "ERROR":
		if v.Fault != nil {
			out["fault"] = faultView(c, *v.Fault)
		}
	case "ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "MIGRATING":
		out["progress"] = 0
	}
	if c.Principal.Admin() {
		s.addAdmin(c, r, v, out)
	}
	s.addVersioned(c, v, out)
	return out
}

func faultView(c *api.Call, f model.ServerFault) map[string]any {
	out := map[string]any{"code": f.Code, "created": f.Created.Format(seconds), "message": f.Message}
	if f.Details != "" && (f.Code != 500 || c.Principal.Admin()) {
		out["details"] = f.Details
	}
	return out
}

func (s *service) addAdmin(c *api.Call, r store.Reader, v model.Server, out map[string]any) {
	const prefix = "OS-EXT-SRV-ATTR:"
	out[prefix+"host"], out[prefix+"hypervisor_hostname"] = orNull(v.Host), orNull(v.Host)
	out[prefix+"instance_name"] = instanceName(v)
	if c.Version.AtLeast(2, 3) {
		p, _ := s.model.Payloads.Get(r, v.ID)
		out[prefix+"hostname"], out[prefix+"reservation_id"], out[prefix+"launch_index"] = v.Hostname, v.ReservationID, v.LaunchIndex
		out[prefix+"kernel_id"], out[prefix+"ramdisk_id"], out[prefix+"root_device_name"] = "", "", rootDevice(v)
		out[prefix+"user_data"] = orNull(base64.StdEncoding.EncodeToString(p.UserData))
	}
	if c.Version.AtLeast(2, 16) {
		out["host_status"] = ""
		if h, ok := s.model.Hosts.Get(r, v.Host); ok {
			out["host_status"] = hostStatus(h)
		}
	}
}

func hostStatus(h model.ComputeHost) string {
	switch {
	case h.ForcedDown:
		return "DOWN"
	case h.Disabled:
		return "MAINTENANCE"
	}
	return "UP"
}

func (s *service) addVersioned(c *api.Call, v model.Server, out map[string]any) {
	if c.Version.AtLeast(2, 9) {
		out["locked"] = v.Locked
	}
	if c.Version.AtLeast(2, 19) {
		out["description"] = v.Description
	}
	if c.Version.AtLeast(2, 26) {
		out["tags"] = append([]string{}, v.Tags...)
	}
	if c.Version.AtLeast(2, 63) {
		out["trusted_image_certificates"] = nil
	}
	if c.Version.AtLeast(2, 71) {
		out["server_groups"] = []string{}
		if v.GroupID != "" {
			out["server_groups"] = []string{v.GroupID}
		}
	}
	if c.Version.AtLeast(2, 73) {
		out["locked_reason"] = v.LockedReason
	}
	if c.Version.AtLeast(2, 90) {
		out["OS-EXT-SRV-ATTR:hostname"] = v.Hostname
	}
	if c.Version.AtLeast(2, 96) {
		out["pinned_availability_zone"] = orNull(v.PinnedZone)
	}
}

// serverFlavor returns the flavor in a server: a link, and since 2.47 the flavor as it was when the
// server was created.
func serverFlavor(c *api.Call, f model.Flavor) map[string]any {
	if !c.Version.AtLeast(2, 47) {
		return map[string]any{"id": f.ID, "links": []api.Link{{Rel: "bookmark", Href: c.URL("/flavors/" + f.ID)}}}
	}
	return map[string]any{"vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "ephemeral": f.Ephemeral, "swap": f.Swap,
		"original_name": f.Name, "extra_specs": orEmpty(f.ExtraSpecs)}
}

func attachedVolumes(c *api.Call, v model.Server) []map[string]any {
	list := []map[string]any{}
	for _, d := range v.Disks {
		if d.VolumeID == "" {
			continue
		}
		entry := map[string]any{"id": d.VolumeID}
		if c.Version.AtLeast(2, 3) {
			entry["delete_on_termination"] = d.Delete
		}
		list = append(list, entry)
	}
	return list
}

// address is one address of a server.
type address struct {
	Version int    `json:"version"`
	Addr    string `json:"addr"`
	Type    string `json:"OS-EXT-IPS:type"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
}

// addresses are the addresses of a server by the name of the network.
func (s *service) addresses(r store.Reader, v model.Server) map[string][]address {
	out := map[string][]address{}
	for _, a := range s.ports.Addresses(r, v.ID) {
		kind := "fixed"
		if a.Floating {
			kind = "floating"
		}
		out[a.NetworkName] = append(out[a.NetworkName], address{a.Version, a.IP, kind, a.MAC})
	}
	return out
}

// groupNames returns the security groups of a server's ports, each once for every port that has it,
// as Nova lists them.
func (s *service) groupNames(r store.Reader, v model.Server) []map[string]string {
	var list []map[string]string
	for _, port := range s.ports.PortsOf(r, v.ID) {
		for _, id := range port.Groups {
			if g, ok := s.env.Model.Network.Groups.Get(r, id); ok {
				list = append(list, map[string]string{"name": g.Name})
			}
		}
	}
	return list
}
