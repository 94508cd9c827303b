package blockdev_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

func volumes(t *testing.T) blockdev.Volumes {
	t.Helper()
	v, err := blockdev.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func create(t *testing.T, v blockdev.Volumes, want machine.Volume) string {
	t.Helper()
	if err := v.CreateVolume(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	return v.Path(want.ID)
}

func write(t *testing.T, path, text string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string, at int64, n int) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestVolumesAreSparse(t *testing.T) {
	t.Parallel()
	v := volumes(t)
	path := create(t, v, machine.Volume{ID: "a", GiB: 100})
	write(t, path, "kept", 50<<30)
	create(t, v, machine.Volume{ID: "a", GiB: 100}) // once more: kept
	if err := v.CreateSnapshot(t.Context(), "s", "a"); err != nil {
		t.Fatal(err)
	}
	write(t, path, "lost", 50<<30)
	for name, from := range map[string]machine.Volume{
		"lost": {ID: "b", GiB: 101, SourceVolume: "a"},
		"kept": {ID: "c", GiB: 101, SourceSnapshot: "s"},
	} {
		copied := create(t, v, from)
		if got := read(t, copied, 50<<30, 4); got != name {
			t.Errorf("volume %s holds %q, want %q", from.ID, got, name)
		}
		var st unix.Stat_t
		if err := unix.Stat(copied, &st); err != nil {
			t.Fatal(err)
		}
		if st.Size != 101<<30 || st.Blocks*512 > 1<<20 {
			t.Errorf("volume %s: %d bytes, %d on disk; want 101 GiB and few", from.ID, st.Size, st.Blocks*512)
		}
	}
}

func TestVolumeErrors(t *testing.T) {
	t.Parallel()
	v := volumes(t)
	create(t, v, machine.Volume{ID: "a", GiB: 2})
	for name, want := range map[string]machine.Volume{
		"too small":     {ID: "b", GiB: 1, SourceVolume: "a"},
		"no such image": {ID: "b", GiB: 1, Image: "/nowhere"},
		"no snapshot":   {ID: "b", GiB: 1, SourceSnapshot: "gone"},
	} {
		if err := v.CreateVolume(t.Context(), want); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := v.ExtendVolume(t.Context(), "a", 1); err == nil {
		t.Error("a volume shrinks")
	}
	left, _ := filepath.Glob(v.Path("b") + "*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDevices(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	v := volumes(t)
	path := create(t, v, machine.Volume{ID: "a", GiB: 1})
	d, err := blockdev.Attach(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blockdev.Detach(path) })
	if again, err := blockdev.Attach(path); err != nil || again != d {
		t.Errorf("attached again: %v, %v; want %v", again, err, d)
	}
	write(t, d.Path, "data", 4096)
	if err := v.ExtendVolume(t.Context(), "a", 2); err != nil {
		t.Fatal(err)
	}
	read(t, d.Path, 2<<30-512, 512) // fails if the device did not grow
	user, err := unix.Open(d.Path, unix.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.DeleteVolume(t.Context(), "a"); err == nil {
		t.Error("a volume in use is deleted")
	}
	unix.Close(user)
	if err := blockdev.Detach(path); err != nil {
		t.Fatal(err)
	}
	if _, found, err := blockdev.Find(path); found || err != nil {
		t.Errorf("after detaching: found %t, %v", found, err)
	}
	if got := read(t, path, 4096, 4); got != "data" {
		t.Errorf("the file holds %q, want %q", got, "data")
	}
	if err := v.DeleteVolume(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	// A qcow2 header, version 2, whose backing file is at 72 with 10 bytes.
	header := make([]byte, 65536)
	copy(header, "QFI\xfb\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x48\x00\x00\x00\x0a\x00\x00\x00\x10")
	header[31], header[39] = 0, 1
	copy(header[72:], "/etc/hosts")
	for name, content := range map[string][]byte{
		"backing file": header,
		"vmdk":         append([]byte("KDMV\x01\x00\x00\x00"), bytes.Repeat([]byte{0}, 1024)...),
	} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "image"), filepath.Join(dir, "raw")
		if err := os.WriteFile(from, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := blockdev.Unpack(t.Context(), from, to); err == nil {
			t.Errorf("%s: unpacked", name)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: a file is left", name)
		}
	}
}
