package volume

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// action does one action on a volume that the caller owns. It changes the
// record and answers, with 202 unless it says otherwise.
type action struct {
	admin bool
	do    func(c *api.Call, tx *store.Tx, v model.Volume, args json.RawMessage) error
}

func (s *service) actionRoutes() []api.Route {
	actions := map[string]action{
		"os-extend": {do: s.extend}, "os-retype": {do: s.retype}, "os-reimage": {do: s.reimage},
		"os-set_bootable": {do: s.setBootable}, "os-update_readonly_flag": {do: s.setReadOnly},
		"os-set_image_metadata": {do: s.setImageMetadata}, "os-unset_image_metadata": {do: s.unsetImageMetadata},
		"os-show_image_metadata": {do: s.showImageMetadata}, "os-volume_upload_image": {do: s.uploadImage},
		"os-reserve": {do: s.reserve}, "os-unreserve": {do: s.unreserve}, "os-attach": {do: s.attach}, "os-detach": {do: s.detach},
		"os-begin_detaching": {do: s.beginDetaching}, "os-roll_detaching": {do: s.rollDetaching},
		"os-initialize_connection": {do: s.initializeConnection}, "os-terminate_connection": {do: s.terminateConnection},
		"os-reset_status": {admin: true, do: s.resetStatus}, "os-force_delete": {admin: true, do: s.forceDelete},
		"os-force_detach": {admin: true, do: s.detach}, "os-unmanage": {admin: true, do: s.unmanage},
	}
	return []api.Route{{Pattern: "POST /v3/volumes/{id}/action", Role: api.Member, Handle: func(c *api.Call) error {
		return s.act(c, actions)
	}}}
}

func (s *service) act(c *api.Call, actions map[string]action) error {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	if len(body) != 1 {
		return api.BadRequest("Malformed request body: one action is expected")
	}
	name := anyKey(body)
	do, ok := actions[name]
	if !ok {
		return api.BadRequest("There is no such action: %s", name)
	}
	if do.admin && !c.Principal.Admin() {
		return api.Forbidden("Policy doesn't allow volume_extension:volume_admin_actions:%s to be performed.", name)
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.volume(c, tx)
		if err != nil {
			return err
		}
		if err := c.Reply(http.StatusAccepted, nil); err != nil {
			return err
		}
		return do.do(c, tx, v, body[name])
	})
}

// arguments decodes the arguments of an action; null has none.
func arguments(text json.RawMessage, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return api.BadRequest("Invalid input for an action: %v", err)
	}
	return nil
}

// begin puts a volume to work: it has the status until the work, which usually
// takes so long, ends.
func (s *service) begin(tx *store.Tx, id, status, end string, usual time.Duration, edit func(*model.Volume)) {
	s.model.Volumes.Change(tx, id, func(v *model.Volume) {
		v.Before, v.Status, v.UpdatedAt = v.Status, status, s.env.Timing.Now()
		v.Work = s.env.Timing.Start(end, usual)
		edit(v)
	})
}

func (s *service) extend(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Size number `json:"new_size"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	size, online := int(in.Size), c.Version.AtLeast(3, 42)
	switch {
	case size < 1:
		return api.BadRequest("Invalid input for field/attribute new_size. Value: %d. %d is less than the minimum of 1", size, size)
	case size <= v.Size:
		return invalid("New size for extend must be greater than current size. (current: %d, extended: %d).", v.Size, size)
	case v.Status != model.VolumeAvailable && (v.Status != model.VolumeInUse || !online):
		expected := model.VolumeAvailable
		if v.Status == model.VolumeInUse || s.model.AttachmentsOf.Count(tx, v.ID) > 0 {
			expected = "available or in-use with microversion 3.42"
		}
		return api.BadRequest("Invalid volume: Volume %s status must be %s to extend, currently %s.", v.ID, expected, v.Status)
	}
	if err := (ledger{s.env, v.ProjectID}).grow(tx, v, size); err != nil {
		return err
	}
	s.begin(tx, v.ID, model.VolumeExtending, endExtend, 2*time.Second, func(v *model.Volume) { v.NewGiB = size })
	return nil
}

func (s *service) retype(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Type   string `json:"new_type"`
		Policy string `json:"migration_policy"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	if in.Policy != "" && in.Policy != "never" && in.Policy != "on-demand" {
		return api.BadRequest("Invalid input for field/attribute migration_policy. Value: %s.", in.Policy)
	}
	t, ok := findType(tx, s.model.Types, c.Principal, in.Type)
	switch {
	case !ok:
		return noType(in.Type)
	case v.Status != model.VolumeAvailable && v.Status != model.VolumeInUse:
		return api.BadRequest("Invalid volume: Retype needs volume to be in available or in-use state, " +
			"not be part of an active migration or a group, and new type cannot be the same as the current one.")
	case t.ID == v.TypeID:
		return api.BadRequest("Invalid input received: New volume_type same as original: %s.", t.ID)
	}
	s.begin(tx, v.ID, model.VolumeRetyping, endRetype, time.Second, func(v *model.Volume) { v.NewType = t.ID })
	return nil
}

func (s *service) setBootable(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Bootable any `json:"bootable"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	bootable, err := flag("bootable", in.Bootable)
	if err != nil {
		return err
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) { v.Bootable = bootable })
	return c.Reply(http.StatusOK, nil)
}

// flag reads a boolean as clients write it.
func flag(field string, value any) (bool, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string:
		if truth(v) || slices.Contains([]string{"0", "false", "False", "f", "no", "off", "n"}, v) {
			return truth(v), nil
		}
	}
	return false, api.BadRequest("Invalid input for field/attribute %s. Value: %v. '%v' is not a 'boolean'", field, value, value)
}

func (s *service) setReadOnly(_ *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		ReadOnly any `json:"readonly"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	readOnly, err := flag("readonly", in.ReadOnly)
	if err != nil {
		return err
	}
	if v.Status != model.VolumeAvailable {
		return api.BadRequest("Invalid volume: Volume %s status must be available to update readonly flag, but current status is: %s.", v.ID, v.Status)
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) { v.ReadOnly = &readOnly })
	return nil
}

func (s *service) resetStatus(_ *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Status    string `json:"status"`
		Migration string `json:"migration_status"`
		Attach    string `json:"attach_status"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	known := []string{"creating", "available", "deleting", "error", "attaching", "detaching", "in-use", "maintenance", "error_deleting",
		"reserved", "error_extending", "error_restoring", "downloading", "uploading", "retyping", "extending", "awaiting-transfer"}
	if in.Status == "" && in.Migration == "" && in.Attach == "" || in.Status != "" && !slices.Contains(known, in.Status) {
		return api.BadRequest("Invalid input for field/attribute os-reset_status. Value: %s. '%s' is not a valid status", text, in.Status)
	}
	if in.Attach == "detached" {
		for a := range s.model.AttachmentsOf.Each(tx, v.ID) {
			s.model.Attachments.Delete(tx, a.ID)
		}
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) {
		v.Work, v.UpdatedAt = nil, s.env.Timing.Now()
		if in.Status != "" {
			v.Status = in.Status
		}
		if in.Migration == "none" {
			v.MigrationStatus = ""
		}
	})
	return nil
}

func (s *service) forceDelete(_ *api.Call, tx *store.Tx, v model.Volume, _ json.RawMessage) error {
	if s.model.SnapshotsIn.Count(tx, v.ID) > 0 || v.Status == model.VolumeInUse {
		return deletable(tx, s.model, v, false)
	}
	remove(tx, s.env, v)
	return nil
}
