package blockdev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

const gib = 1 << 30

// Volumes keeps volumes and snapshots as files of one folder. It implements machine.Volumes.
type Volumes struct{ dir string }

var _ machine.Volumes = Volumes{}

// New returns the volumes of a folder, which it creates if necessary.
func New(dir string) (Volumes, error) {
	for _, d := range []string{"volumes", "snapshots"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return Volumes{}, fmt.Errorf("making the folder of volumes: %w", err)
		}
	}
	return Volumes{dir}, nil
}

// Path is the file of a volume.
func (v Volumes) Path(id string) string {
	return filepath.Join(v.dir, "volumes", filepath.Base(id)+".raw")
}

func (v Volumes) snapshot(id string) string {
	return filepath.Join(v.dir, "snapshots", filepath.Base(id)+".raw")
}

// CreateVolume creates the file; an existing one is kept as it is. A source that is larger than the
// volume is an error.
func (v Volumes) CreateVolume(ctx context.Context, want machine.Volume) error {
	path := v.Path(want.ID)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	// The file gets its name when it is whole, so that a crash leaves none that
	// looks finished.
	part := path + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("creating volume %s: %w", want.ID, err)
	}
	err := v.fill(ctx, want, part)
	if err == nil {
		err = resize(part, want.GiB)
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		os.Remove(part)
		return fmt.Errorf("creating volume %s: %w", want.ID, err)
	}
	return nil
}

func (v Volumes) fill(ctx context.Context, want machine.Volume, path string) error {
	switch {
	case want.Image != "":
		return Unpack(ctx, want.Image, path)
	case want.SourceSnapshot != "":
		return Copy(ctx, v.snapshot(want.SourceSnapshot), path)
	case want.SourceVolume != "":
		from := v.Path(want.SourceVolume)
		if err := flush(from); err != nil {
			return err
		}
		return Copy(ctx, from, path)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func resize(path string, size int) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	want := int64(size) * gib
	if st.Size() > want {
		return fmt.Errorf("%d GiB are less than the %d bytes it holds", size, st.Size())
	}
	return os.Truncate(path, want)
}

// ExtendVolume grows the file and its device, if it has one.
func (v Volumes) ExtendVolume(_ context.Context, id string, size int) error {
	path := v.Path(id)
	if err := resize(path, size); err != nil {
		return fmt.Errorf("extending volume %s: %w", id, err)
	}
	return Refresh(path)
}

// DeleteVolume removes the file; it fails while the volume is in use.
func (v Volumes) DeleteVolume(_ context.Context, id string) error {
	path := v.Path(id)
	if err := Detach(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting volume %s: %w", id, err)
	}
	return remove(path)
}

// CreateSnapshot copies the volume as it is now, without the data that a mounted file system has
// not written yet.
func (v Volumes) CreateSnapshot(ctx context.Context, id, volumeID string) error {
	path, from := v.snapshot(id), v.Path(volumeID)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := flush(from); err != nil {
		return fmt.Errorf("creating snapshot %s: %w", id, err)
	}
	part := path + ".part"
	if err := remove(part); err != nil {
		return err
	}
	if err := Copy(ctx, from, part); err != nil {
		return fmt.Errorf("creating snapshot %s: %w", id, err)
	}
	return os.Rename(part, path)
}

// DeleteSnapshot removes the file.
func (v Volumes) DeleteSnapshot(_ context.Context, id string) error { return remove(v.snapshot(id)) }

// Release detaches all volumes that have a device.
func (v Volumes) Release() error {
	paths, err := filepath.Glob(filepath.Join(v.dir, "volumes", "*.raw"))
	for _, path := range paths {
		err = errors.Join(err, Detach(path))
	}
	return err
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a volume's file: %w", err)
	}
	return nil
}
