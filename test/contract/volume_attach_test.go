package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/attachments"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/backups"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
)

// server is the id of a server that need not exist: the volume service takes
// the word of whoever attaches.
const server = "11111111-1111-4111-8111-111111111111"

func TestVolumeAttachments(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	v := newVolume(t, client, volumes.CreateOpts{Size: 1})
	old := *client
	_, err := attachments.Create(t.Context(), &old, attachments.CreateOpts{VolumeUUID: v.ID, InstanceUUID: server}).Extract()
	wantStatus(t, err, http.StatusNotFound) // before microversion 3.27

	client.Microversion = "3.44"
	a := must[*attachments.Attachment](t)(attachments.Create(t.Context(), client, attachments.CreateOpts{VolumeUUID: v.ID, InstanceUUID: server}).Extract())
	if a.Status != "reserved" || a.Instance != server || getVolume(t, client, v.ID).Status != "reserved" {
		t.Errorf("reserved: %+v", a)
	}
	_, err = attachments.Create(t.Context(), client, attachments.CreateOpts{VolumeUUID: v.ID, InstanceUUID: unknownID}).Extract()
	wantStatus(t, err, http.StatusBadRequest)
	wantStatus(t, volumes.Delete(t.Context(), client, v.ID, nil).ExtractErr(), http.StatusBadRequest)

	connector := map[string]any{"host": "here", "mountpoint": "/dev/vdb", "initiator": "iqn.2026-01.example"}
	a = must[*attachments.Attachment](t)(attachments.Update(t.Context(), client, a.ID, attachments.UpdateOpts{Connector: connector}).Extract())
	if a.Status != "attaching" || getVolume(t, client, v.ID).Status != "attaching" || len(a.ConnectionInfo) == 0 {
		t.Errorf("attaching: %+v", a)
	}
	if err := attachments.Complete(t.Context(), client, a.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	got := getVolume(t, client, v.ID)
	if got.Status != "in-use" || len(got.Attachments) != 1 || got.Attachments[0].ServerID != server || got.Attachments[0].Device != "/dev/vdb" {
		t.Errorf("attached: %+v", got)
	}
	wantStatus(t, volumes.Delete(t.Context(), client, v.ID, nil).ExtractErr(), http.StatusBadRequest)
	extend := volumes.ExtendSizeOpts{NewSize: 2}
	client.Microversion = "3.41"
	wantStatus(t, volumes.ExtendSize(t.Context(), client, v.ID, extend).ExtractErr(), http.StatusBadRequest)
	client.Microversion = "3.44"
	if err := volumes.ExtendSize(t.Context(), client, v.ID, extend).ExtractErr(); err != nil {
		t.Errorf("extending a volume in use: %v", err)
	}
	eventually(t, "the volume in use has grown", func() bool {
		v := getVolume(t, client, v.ID)
		return v.Status == "in-use" && v.Size == 2
	})
	if err := attachments.Delete(t.Context(), client, a.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	volumeReaches(t, client, v.ID, "available")
	wantStatus(t, attachments.Delete(t.Context(), client, a.ID).ExtractErr(), http.StatusNotFound)
}

func TestVolumeMultiattach(t *testing.T) {
	t.Parallel()
	boss := admin(t).BlockStorage(t)
	kind := must[*volumetypes.VolumeType](t)(volumetypes.Create(t.Context(), boss, volumetypes.CreateOpts{Name: unique(t),
		ExtraSpecs: map[string]string{"multiattach": "<is> True"}}).Extract())
	t.Cleanup(func() {
		eventually(t, "the type is free", func() bool { return volumetypes.Delete(cleanup(t), boss, kind.ID).ExtractErr() == nil })
	})
	client := newPerson(t).clients(t).BlockStorage(t)
	v := newVolume(t, client, volumes.CreateOpts{Size: 1, VolumeType: kind.Name})
	if !v.Multiattach || v.VolumeType != kind.Name {
		t.Errorf("volume %+v", v)
	}
	wantStatus(t, volumetypes.Delete(t.Context(), boss, kind.ID).ExtractErr(), http.StatusBadRequest)
	client.Microversion = "3.44"
	var made []string
	for i := range 2 {
		a := must[*attachments.Attachment](t)(attachments.Create(t.Context(), client, attachments.CreateOpts{VolumeUUID: v.ID,
			InstanceUUID: fmt.Sprintf("11111111-1111-4111-8111-11111111111%d", i)}).Extract())
		made = append(made, a.ID)
		if err := attachments.Complete(t.Context(), client, a.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"in-use", "available"} {
		if err := attachments.Delete(t.Context(), client, made[i]).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		if got := getVolume(t, client, v.ID).Status; got != want {
			t.Errorf("after %d of 2 the volume is %s, want %s", i+1, got, want)
		}
	}
}

func TestVolumeActions(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	v := newVolume(t, client, volumes.CreateOpts{Size: 1})
	for _, c := range []struct {
		body   string
		status int
		after  string
	}{
		{`{"os-reserve":{}}`, 202, "attaching"},
		{`{"os-reserve":{}}`, 400, "attaching"},
		{`{"os-unreserve":{}}`, 202, "available"},
		{`{"os-begin_detaching":{}}`, 400, "available"},
		{`{"os-attach":{"mountpoint":"/dev/vdc"}}`, 400, "available"},
		{`{"os-attach":{"mountpoint":"/dev/vdc","mode":"wr","instance_uuid":"` + server + `"}}`, 400, "available"},
		{`{"os-attach":{"mountpoint":"/dev/vdc","instance_uuid":"` + server + `"}}`, 202, "in-use"},
		{`{"os-begin_detaching":{}}`, 202, "detaching"},
		{`{"os-roll_detaching":{}}`, 202, "in-use"},
		{`{"os-detach":{"attachment_id":"` + unknownID + `"}}`, 404, "in-use"},
		{`{"os-detach":{}}`, 202, "available"},
		{`{"os-initialize_connection":{}}`, 400, "available"},
		{`{"os-initialize_connection":{"connector":{"host":"here"}}}`, 200, "available"},
		{`{"os-terminate_connection":{"connector":{"host":"here"}}}`, 202, "available"},
		{`{"os-set_bootable":{"bootable":"perhaps"}}`, 400, "available"},
		{`{"os-set_bootable":{"bootable":true}}`, 200, "available"},
		{`{"os-update_readonly_flag":{"readonly":true}}`, 202, "available"},
		{`{"os-set_image_metadata":{"metadata":{"a":"b"}}}`, 200, "available"},
		{`{"os-unset_image_metadata":{"key":"a"}}`, 200, "available"},
		{`{"os-unset_image_metadata":{"key":"a"}}`, 404, "available"},
		{`{"os-retype":{"new_type":"none"}}`, 404, "available"},
		{`{"os-reset_status":{"status":"error"}}`, 403, "available"},
		{`{"os-force_delete":{}}`, 403, "available"},
		{`{"os-dance":{}}`, 400, "available"},
		{`{"os-extend":`, 400, "available"},
	} {
		got := raw(t, "POST", client.ServiceURL("volumes", v.ID, "action"), client.Token(), c.body, nil)
		if got.status != c.status {
			t.Errorf("%s: %d, want %d: %s", c.body, got.status, c.status, got.text)
		}
		if now := getVolume(t, client, v.ID); now.Status != c.after {
			t.Errorf("%s: the volume is %s, want %s", c.body, now.Status, c.after)
		}
	}
	if now := getVolume(t, client, v.ID); now.Bootable != "true" || now.Metadata["readonly"] != "True" {
		t.Errorf("volume %+v", now)
	}
}

func TestVolumeErrorBody(t *testing.T) {
	t.Parallel()
	client := member(t).BlockStorage(t)
	got := raw(t, "GET", client.ServiceURL("volumes", unknownID), client.Token(), "", nil)
	if got.status != http.StatusNotFound || got.at("itemNotFound", "code") != 404.0 ||
		got.at("itemNotFound", "message") != "Volume "+unknownID+" could not be found." {
		t.Errorf("%d %s", got.status, got.text)
	}
	bad := raw(t, "GET", client.ServiceURL("volumes"), client.Token(), "", map[string]string{"OpenStack-API-Version": "volume 3.9999"})
	if bad.status != http.StatusNotAcceptable {
		t.Errorf("a microversion of the future: %d, want 406", bad.status)
	}
}

func TestVolumeZones(t *testing.T) {
	t.Parallel()
	pages, err := availabilityzones.List(member(t).BlockStorage(t)).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	zones := must[[]availabilityzones.AvailabilityZone](t)(availabilityzones.ExtractAvailabilityZones(pages))
	if len(zones) == 0 || !zones[0].ZoneState.Available {
		t.Errorf("zones %+v", zones)
	}
}

func TestVolumeBackup(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	v := newVolume(t, client, volumes.CreateOpts{Size: 1})
	b := must[*backups.Backup](t)(backups.Create(t.Context(), client, backups.CreateOpts{VolumeID: v.ID, Name: unique(t)}).Extract())
	t.Cleanup(func() { _ = backups.Delete(cleanup(t), client, b.ID).ExtractErr() })
	available := func() bool {
		got, err := backups.Get(t.Context(), client, b.ID).Extract()
		return err == nil && got.Status == "available" && got.VolumeID == v.ID && got.Size == 1
	}
	eventually(t, "the backup", available)
	_, err := backups.RestoreFromBackup(t.Context(), client, b.ID, backups.RestoreOpts{VolumeID: unknownID}).Extract()
	wantStatus(t, err, http.StatusNotFound)
	back := must[*backups.Restore](t)(backups.RestoreFromBackup(t.Context(), client, b.ID, backups.RestoreOpts{VolumeID: v.ID}).Extract())
	if back.VolumeID != v.ID {
		t.Errorf("restored to %+v", back)
	}
	volumeReaches(t, client, v.ID, "available")
	eventually(t, "the backup after its use", available)
}
