package compute

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// snapshot ends the time in which the disk is read; the upload of its bytes follows.
func (s *service) snapshot(_ context.Context, v model.Server) (time.Duration, error) {
	return 0, s.advance(v, func(_ *store.Tx, n *model.Server) error {
		s.start(n, taskUploading, time.Second)
		return nil
	})
}

// upload writes the disk of a server to the image that was begun for it. If that fails, it deletes
// the image, as Nova does.
func (s *service) upload(ctx context.Context, v model.Server) (time.Duration, error) {
	err := s.write(ctx, v)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		problem := ""
		if err != nil {
			problem = err.Error()
			s.env.Model.Image.Images.Delete(tx, n.SnapshotID)
		}
		n.SnapshotID = ""
		s.idle(tx, n, problem)
		return nil
	})
}

// write writes the bytes of a server's disk to its image, unless an earlier process did and was
// ended before it recorded that.
func (s *service) write(ctx context.Context, v model.Server) error {
	var made model.Image
	_ = s.env.Store.View(func(r store.Reader) error { // never fails
		made, _ = s.env.Model.Image.Images.Get(r, v.SnapshotID)
		return nil
	})
	if made.Status == model.ImageActive {
		return nil
	}
	disk, format, err := s.disk(ctx, v)
	if err != nil {
		return err
	}
	defer disk.Close()
	err = s.env.Store.Update(func(tx *store.Tx) error {
		s.env.Model.Image.Images.Change(tx, v.SnapshotID, func(i *model.Image) { i.DiskFormat = cmp.Or(format, i.DiskFormat) })
		return nil
	})
	if err != nil {
		return err
	}
	return image.Write(ctx, s.env, v.SnapshotID, disk)
}

// disk reads the disk of a server, which is raw. For a driver that keeps no disk, it reads the
// image that the server was created from, because the disk never differed from it; the format is
// then empty.
func (s *service) disk(ctx context.Context, v model.Server) (io.ReadCloser, string, error) {
	if reader, ok := s.machines().(machine.Snapshotter); ok {
		disk, err := reader.Snapshot(ctx, v.ID)
		if !errors.Is(err, machine.ErrNoDisk) {
			return disk, "raw", err
		}
	}
	disk, err := os.Open(image.File(s.env, v.ImageID))
	return disk, "", err
}
