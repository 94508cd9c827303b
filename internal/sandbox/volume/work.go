package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// What an operation on a volume comes to.
const (
	endCreate  = model.VolumeAvailable
	endDelete  = "deleted"
	endExtend  = "extended"
	endRetype  = "retyped"
	endUpload  = "uploaded"
	endRestore = "restored"
	endReimage = "reimaged"
)

var errNoBackend = errors.New("No valid backend was found. No weighed backends available")

// workVolume lets the driver do its part of an operation whose time has come,
// and ends the operation.
func (s *service) workVolume(ctx context.Context, id string) (time.Duration, error) {
	var v model.Volume
	_ = s.env.Store.View(func(r store.Reader) error { // never fails
		v, _ = s.model.Volumes.Get(r, id)
		return nil
	})
	if v.Work == nil {
		return 0, nil
	}
	if wait := v.Work.At.Sub(s.env.Timing.Now()); wait > 0 {
		return wait, nil
	}
	if v.Work.To == endCreate && v.ImageID != "" {
		_ = s.env.Store.Update(func(tx *store.Tx) error { s.mark(tx, id, model.VolumeDownloading); return nil })
	}
	err := s.drive(ctx, v)
	if ctx.Err() != nil {
		return 0, ctx.Err() // done again by the next process: drivers can repeat
	}
	if err != nil {
		s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Note, Step: "volumes", Message: id, Error: err.Error()})
	}
	return 0, s.env.Store.Update(func(tx *store.Tx) error {
		now, ok := s.model.Volumes.Get(tx, id)
		if !ok || now.Work == nil || *now.Work != *v.Work {
			return nil // another operation took its place meanwhile
		}
		if err != nil {
			s.fail(tx, now, err)
			return nil
		}
		s.end(tx, now)
		return nil
	})
}

// drive is the driver's part of an operation.
func (s *service) drive(ctx context.Context, v model.Volume) error {
	volumes := s.env.Host.Volumes()
	switch v.Work.To {
	case endCreate:
		if s.env.Faults.Hit(faultinject.NoValidHost, kind, v.Name) {
			return errNoBackend
		}
		return volumes.CreateVolume(ctx, s.source(v))
	case endDelete:
		return volumes.DeleteVolume(ctx, v.ID)
	case endExtend:
		return volumes.ExtendVolume(ctx, v.ID, v.NewGiB)
	case endRestore, endReimage:
		if err := volumes.DeleteVolume(ctx, v.ID); err != nil {
			return err
		}
		return volumes.CreateVolume(ctx, s.source(v))
	case endUpload:
		return s.upload(ctx, v)
	}
	return nil
}

// source says what a volume is made from. The driver keeps a backup as it
// keeps a snapshot: it lives on without its volume.
func (s *service) source(v model.Volume) machine.Volume {
	want := machine.Volume{ID: v.ID, GiB: v.Size}
	switch {
	case v.Restore != "":
		want.SourceSnapshot = v.Restore
	case v.ImageID != "":
		want.Image = image.File(s.env, v.ImageID)
	case v.SnapshotID != "":
		want.SourceSnapshot = v.SnapshotID
	case v.BackupID != "":
		want.SourceSnapshot = v.BackupID
	case v.SourceID != "":
		want.SourceVolume = v.SourceID
	}
	return want
}

// upload writes the bytes of a volume to its image. A driver without files
// has volumes of zeros.
func (s *service) upload(ctx context.Context, v model.Volume) error {
	var bytes io.Reader = io.LimitReader(zeros{}, int64(v.Size)<<30)
	if files, ok := s.env.Host.Volumes().(interface{ Path(id string) string }); ok {
		file, err := os.Open(files.Path(v.ID))
		if err != nil {
			return fmt.Errorf("reading volume: %w", err)
		}
		defer file.Close()
		bytes = file
	}
	return image.Write(ctx, s.env, v.Upload, bytes)
}

type zeros struct{}

// Read gives zeros without end.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// end makes of a volume what its operation comes to.
func (s *service) end(tx *store.Tx, v model.Volume) {
	image.Release(tx, s.env.Model, v.ID)
	if v.Work.To == endDelete {
		for t := range s.model.Transfers.All(tx) {
			if t.VolumeID == v.ID {
				s.model.Transfers.Delete(tx, t.ID)
			}
		}
		s.model.Volumes.Delete(tx, v.ID)
		return
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) {
		switch v.Work.To {
		case endCreate, endRestore, endReimage:
			v.Made, v.MadeGiB = true, v.Size
		case endExtend:
			v.Size, v.MadeGiB = v.NewGiB, v.NewGiB
		case endRetype:
			v.TypeID = v.NewType
		}
		v.Status, v.UpdatedAt = v.Before, s.env.Timing.Now()
		v.Work, v.Before, v.Restore, v.Upload, v.NewType, v.NewGiB = nil, "", "", "", "", 0
	})
	if v.Work.To == endRestore {
		s.restored(tx, v.Restore)
	}
}

// fail puts a volume in the status of a failed operation, and tells its
// owner why.
func (s *service) fail(tx *store.Tx, v model.Volume, cause error) {
	image.Release(tx, s.env.Model, v.ID)
	status := map[string]string{endDelete: "error_deleting", endExtend: "error_extending", endRestore: "error_restoring",
		endUpload: v.Before}[v.Work.To]
	if status == "" {
		status = model.VolumeError
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) {
		v.Status, v.UpdatedAt = status, s.env.Timing.Now()
		v.Work, v.Before, v.Restore, v.Upload, v.NewType, v.NewGiB = nil, "", "", "", "", 0
	})
	if v.Work.To == endRestore {
		s.restored(tx, v.Restore)
	}
	s.tell(tx, v.ProjectID, "VOLUME", v.ID, cause)
}
