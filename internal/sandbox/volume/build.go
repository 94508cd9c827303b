package volume

import (
	"maps"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// builder checks a Spec and fills in the record of a volume, step by step.
type builder struct {
	tx     *store.Tx
	env    *api.Env
	caller *api.Principal
	spec   Spec
	volume *model.Volume
	// least is the size of the source in GiB, whose name is what.
	least int
	what  string
}

func invalid(format string, args ...any) error {
	return api.BadRequest("Invalid input received: "+format, args...)
}

// source finds what the volume is made from.
func (b *builder) source() error {
	given := 0
	for _, id := range []string{b.spec.ImageID, b.spec.SnapshotID, b.spec.SourceID, b.spec.BackupID} {
		if id != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return invalid("May specify only one of snapshot, imageRef or source volume")
	case b.spec.ImageID != "":
		return b.fromImage()
	case b.spec.SnapshotID != "":
		return b.fromSnapshot()
	case b.spec.SourceID != "":
		return b.fromVolume()
	case b.spec.BackupID != "":
		return b.fromBackup()
	}
	return nil
}

func (b *builder) fromImage() error {
	if _, err := uuid.Parse(b.spec.ImageID); err != nil {
		return api.BadRequest("Invalid image identifier or unable to access requested image.")
	}
	v, err := image.Get(b.tx, b.env.Model, b.caller, b.spec.ImageID)
	switch {
	case err != nil:
		return invalid("Invalid image identifier or unable to access requested image.")
	case v.Status != model.ImageActive:
		return invalid("Image %s is not active.", v.ID)
	}
	size := v.Size
	if v.VirtualSize != nil {
		size = v.VirtualSize
	}
	gib := int((*size + 1<<30 - 1) >> 30)
	switch {
	case b.spec.Size > 0 && b.spec.Size < gib:
		return invalid("Size of specified image %dGB is larger than volume size %dGB.", gib, b.spec.Size)
	case b.spec.Size > 0 && b.spec.Size < v.MinDisk:
		return invalid("Volume size %dGB cannot be smaller than the image minDisk size %dGB.", b.spec.Size, v.MinDisk)
	}
	b.volume.ImageID, b.volume.ImageMetadata, b.volume.Bootable = v.ID, imageMetadata(v), true
	return nil
}

// imageMetadata is what a volume keeps of the image it was made from.
func imageMetadata(v model.Image) map[string]string {
	metadata := map[string]string{"image_id": v.ID, "image_name": v.Name, "container_format": v.ContainerFormat,
		"disk_format": v.DiskFormat, "min_disk": strconv.Itoa(v.MinDisk), "min_ram": strconv.Itoa(v.MinRAM),
		"checksum": v.Checksum, "size": strconv.FormatInt(*v.Size, 10)}
	maps.Copy(metadata, v.Properties)
	return metadata
}

func (b *builder) fromSnapshot() error {
	snapshot, ok := b.env.Model.Volume.Snapshots.Get(b.tx, b.spec.SnapshotID)
	switch {
	case !ok || !b.caller.Owns(snapshot.ProjectID):
		return api.NotFound("Snapshot %s could not be found.", b.spec.SnapshotID)
	case snapshot.Status != model.VolumeAvailable:
		return api.BadRequest("Invalid snapshot: Originating snapshot status must be one of 'available' values")
	}
	origin, _ := b.env.Model.Volume.Volumes.Get(b.tx, snapshot.VolumeID)
	b.volume.SnapshotID, b.least, b.what = snapshot.ID, snapshot.Size, "the snapshot size"
	b.inherit(origin)
	return nil
}

func (b *builder) fromVolume() error {
	origin, err := Get(b.tx, b.env.Model, b.caller, b.spec.SourceID)
	if err != nil {
		return err
	}
	if origin.Status != model.VolumeAvailable && origin.Status != model.VolumeInUse {
		return api.BadRequest("Invalid volume: Originating volume status must be one of 'available', 'in-use' values")
	}
	b.volume.SourceID, b.least, b.what = origin.ID, origin.Size, "original volume size"
	b.inherit(origin)
	return nil
}

// inherit takes over what a copy has from its origin.
func (b *builder) inherit(origin model.Volume) {
	b.volume.Bootable, b.volume.ImageMetadata = origin.Bootable, origin.ImageMetadata
	b.volume.TypeID, b.volume.Multiattach = origin.TypeID, origin.Multiattach
}

func (b *builder) fromBackup() error {
	backup, ok := b.env.Model.Volume.Backups.Get(b.tx, b.spec.BackupID)
	switch {
	case !ok || !b.caller.Owns(backup.ProjectID):
		return api.NotFound("Backup %s could not be found.", b.spec.BackupID)
	case backup.Status != model.VolumeAvailable:
		return api.BadRequest("Invalid backup: Originating backup status must be one of 'available' values")
	}
	b.volume.BackupID, b.least, b.what = backup.ID, backup.Size, "the backup size"
	return nil
}

func (b *builder) size() error {
	if b.spec.Size == 0 {
		b.volume.Size = b.least
	}
	switch {
	case b.volume.Size < 1:
		return invalid("Volume size '%d' must be an integer and greater than 0", b.volume.Size)
	case b.volume.Size < b.least:
		return invalid("Volume size '%d'GB cannot be smaller than %s %dGB. They must be >= %s.",
			b.volume.Size, b.what, b.least, b.what)
	}
	return nil
}

// kind finds the type: the one asked for, the source's, or the default.
func (b *builder) kind() error {
	types := b.env.Model.Volume.Types
	if b.spec.Type == "" && b.volume.TypeID == "" {
		b.spec.Type = defaultType
	}
	if b.spec.Type != "" {
		t, ok := findType(b.tx, types, b.caller, b.spec.Type)
		if !ok {
			return noType(b.spec.Type)
		}
		b.volume.TypeID = t.ID
	}
	t, _ := types.Get(b.tx, b.volume.TypeID)
	b.volume.Encrypted = t.Encryption != nil
	if t.ExtraSpecs["multiattach"] == "<is> True" || b.spec.Multiattach {
		b.volume.Multiattach = true
	}
	return nil
}

func (b *builder) zone() error {
	b.volume.AvailabilityZone = zone
	if b.spec.AvailabilityZone != "" && b.spec.AvailabilityZone != zone {
		return invalid("Availability zone '%s' is invalid.", b.spec.AvailabilityZone)
	}
	return nil
}

func (b *builder) quota() error {
	t, _ := b.env.Model.Volume.Types.Get(b.tx, b.volume.TypeID)
	return ledger{b.env, b.volume.ProjectID}.volumes(b.tx, t.Name, 1, b.volume.Size)
}

// over is 413 with the header that Cinder sends along.
func over(format string, args ...any) error {
	e := api.Errorf(http.StatusRequestEntityTooLarge, "", format, args...)
	e.Header = http.Header{"Retry-After": {"0"}}
	return e
}
