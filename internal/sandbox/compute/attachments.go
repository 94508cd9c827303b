package compute

import (
	"net/http"
	"strconv"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

func (s *service) attachmentRoutes() []api.Route {
	const all, one = "/v2.1/servers/{id}/os-volume_attachments", "/v2.1/servers/{id}/os-volume_attachments/{volume}"
	return []api.Route{
		{Pattern: "GET " + all, Role: api.Reader, Handle: s.listAttachments},
		{Pattern: "POST " + all, Role: api.Member, Handle: s.createAttachment},
		{Pattern: "GET " + one, Role: api.Reader, Handle: s.showAttachment},
		{Pattern: "PUT " + one, Role: api.Member, Handle: s.updateAttachment},
		{Pattern: "DELETE " + one, Role: api.Member, Handle: s.deleteAttachment},
	}
}

func attachmentView(c *api.Call, v model.Server, d model.ServerDisk) map[string]any {
	view := map[string]any{"volumeId": d.VolumeID, "serverId": v.ID, "device": d.Device}
	if !c.Version.AtLeast(2, 89) {
		view["id"] = d.VolumeID
	} else {
		view["attachment_id"], view["bdm_uuid"] = d.AttachmentID, d.ID
	}
	if c.Version.AtLeast(2, 70) {
		view["tag"] = orNull(d.Tag)
	}
	if c.Version.AtLeast(2, 79) {
		view["delete_on_termination"] = d.Delete
	}
	return view
}

func (s *service) listAttachments(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		list := []any{}
		for _, d := range v.Disks {
			if d.VolumeID != "" {
				list = append(list, attachmentView(c, v, d))
			}
		}
		offset, _ := strconv.Atoi(c.Query("offset"))
		list = list[min(max(offset, 0), len(list)):]
		if limit, err := strconv.Atoi(c.Query("limit")); err == nil && limit >= 0 {
			list = list[:min(limit, len(list))]
		}
		return c.Reply(http.StatusOK, map[string]any{"volumeAttachments": list})
	})
}

// attached finds, for the server and the volume in the path, the disk of the server that is this
// volume.
func (s *service) attached(c *api.Call, r store.Reader) (model.Server, model.ServerDisk, error) {
	v, err := s.find(c, r)
	if err != nil {
		return v, model.ServerDisk{}, err
	}
	d, ok := volumeDisk(v, c.Path("volume"))
	if !ok {
		return v, d, api.NotFound("No volume Block Device Mapping with id %s.", c.Path("volume"))
	}
	return v, d, nil
}

func (s *service) showAttachment(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, d, err := s.attached(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"volumeAttachment": attachmentView(c, v, d)})
	})
}

func plugged(name string) rule {
	return rule{name, name, states(model.ServerActive, model.ServerPaused, model.ServerStopped, model.ServerResized,
		model.ServerSuspended, model.ServerShelved, model.ServerOffloaded)}
}

// createAttachment reserves the volume; the machine gets it soon after.
func (s *service) createAttachment(c *api.Call) error {
	var in struct {
		Volume string `json:"volumeId"`
		Device string `json:"device"`
		Tag    string `json:"tag"`
		Delete *flag  `json:"delete_on_termination"`
	}
	if err := c.DecodeIn("volumeAttachment", &in); err != nil {
		return err
	}
	switch {
	case in.Volume == "":
		return api.BadRequest("Invalid input for field/attribute volumeAttachment. 'volumeId' is a required property")
	case in.Tag != "" && !c.Version.AtLeast(2, 49):
		return unexpected("tag")
	case in.Delete != nil && !c.Version.AtLeast(2, 79):
		return unexpected("delete_on_termination")
	}
	return s.do(c, plugged("attach_volume"), func(tx *store.Tx, n *model.Server) error {
		if _, err := volume.Get(tx, s.env.Model, c.Principal, in.Volume); err != nil {
			return err
		}
		if _, twice := volumeDisk(*n, in.Volume); twice {
			return api.BadRequest("Invalid volume: Volume %s is already attached to instance %s.", in.Volume, n.ID)
		}
		d := model.ServerDisk{ID: model.NewID(), Source: "volume", SourceID: in.Volume, VolumeID: in.Volume, BootIndex: -1, Tag: in.Tag,
			Delete: in.Delete != nil && bool(*in.Delete), Device: nextDevice(*n)}
		if d.Device == "" {
			return api.Forbidden("The maximum allowed number of disk devices (26) to attach to a single instance has been exceeded.")
		}
		if err := s.reserve(tx, *n, &d); err != nil {
			return err
		}
		n.Disks = append(n.Disks, d)
		return c.Reply(http.StatusOK, map[string]any{"volumeAttachment": attachmentView(c, *n, d)})
	})
}

// updateAttachment changes whether the volume is deleted with the server (2.85). Only Cinder swaps
// one volume for another, in migrations.
func (s *service) updateAttachment(c *api.Call) error {
	var in struct {
		Volume string `json:"volumeId"`
		Delete *flag  `json:"delete_on_termination"`
	}
	if err := c.DecodeIn("volumeAttachment", &in); err != nil {
		return err
	}
	if in.Volume != "" && in.Volume != c.Path("volume") {
		if !c.Principal.Admin() {
			return api.Forbidden("Policy doesn't allow os_compute_api:os-volumes-attachments:swap to be performed.")
		}
		return api.Errorf(http.StatusNotImplemented, "", "The sandbox does not swap volumes.")
	}
	if in.Delete != nil && !c.Version.AtLeast(2, 85) {
		return unexpected("delete_on_termination")
	}
	return s.edit(c, http.StatusAccepted, func(_ *store.Tx, n *model.Server) error {
		for i := range n.Disks {
			if n.Disks[i].VolumeID == c.Path("volume") {
				if in.Delete != nil {
					n.Disks[i].Delete = bool(*in.Delete)
				}
				return nil
			}
		}
		return api.NotFound("No volume Block Device Mapping with id %s.", c.Path("volume"))
	})
}

// deleteAttachment begins to detach the volume from the machine.
func (s *service) deleteAttachment(c *api.Call) error {
	return s.do(c, plugged("detach_volume"), func(tx *store.Tx, n *model.Server) error {
		if _, err := volume.Get(tx, s.env.Model, c.Principal, c.Path("volume")); err != nil {
			return err
		}
		for i := range n.Disks {
			d := &n.Disks[i]
			switch {
			case d.VolumeID != c.Path("volume"):
				continue
			case d.BootIndex == 0 && n.VMState != model.ServerOffloaded:
				return api.BadRequest("Cannot detach a root device volume")
			}
			if _, err := volume.BeginDetach(tx, s.env, d.VolumeID, n.ID); err != nil {
				return err
			}
			d.Leaving = true
			return nil
		}
		return api.NotFound("No volume Block Device Mapping with id %s.", c.Path("volume"))
	})
}
