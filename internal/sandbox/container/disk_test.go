package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
)

const testRoot = 32 << 20

// testDisk is an image with a file in its root, partitioned as machines' disks
// are, or a file system as a whole.
func testDisk(t *testing.T, partitioned bool) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("there are no loop devices")
	}
	mke2fs, err := exec.LookPath("mke2fs")
	if err != nil {
		t.Skipf("%v: run make deps", err)
	}
	dir := t.TempDir()
	tree, file, offset := filepath.Join(dir, "tree"), filepath.Join(dir, "disk.raw"), "0"
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "here"), []byte("the root"), 0o600); err != nil {
		t.Fatal(err)
	}
	disk, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	if partitioned {
		offset = strconv.Itoa(bootdisk.RootOffset)
		err = bootdisk.Write(disk, bootdisk.Disk{ID: uuid.UUID{1}, RootType: bootdisk.TypeRootAMD64, RootSize: testRoot,
			Loader: bootdisk.Loader{EFI: []byte("program"), EFIName: "BOOTX64.EFI"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), mke2fs, "-q", "-F", "-t", "ext4", "-d", tree, "-E", "offset="+offset, file, "32768k").CombinedOutput()
	if err != nil {
		t.Fatalf("mke2fs: %v: %s", err, out)
	}
	return file
}

func TestAnImageIsMountedWithAndWithoutPartitions(t *testing.T) {
	t.Parallel()
	for name, partitioned := range map[string]bool{"a disk": true, "a file system": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := testDisk(t, partitioned)
			i := newImages(t.TempDir())
			kept, err := i.Keep(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := i.release(nil, true); err != nil {
					t.Error(err)
				}
				if left := loops(t, i.Dir()); left != "" {
					t.Errorf("a loop device is left: %s", left)
				}
			})
			folder, err := i.mount(kept)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(folder, "here")); err != nil || string(text) != "the root" {
				t.Errorf("%q, %v", text, err)
			}
			if err := os.WriteFile(filepath.Join(folder, "there"), nil, 0o600); err == nil {
				t.Error("the image can be written to")
			}
		})
	}
}

// A volume with partitions is the machine's disk as a whole, and its root is
// mounted from the partition: what is written there is on the disk.
func TestARootVolumeIsMountedFromItsPartition(t *testing.T) {
	t.Parallel()
	for name, partitioned := range map[string]bool{"a disk": true, "a file system": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, root := testDisk(t, partitioned), filepath.Join(t.TempDir(), "root")
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			whole, err := blockdev.Attach(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := mountDisk(whole.Path, root); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unmount(root) })
			if err := os.WriteFile(filepath.Join(root, "there"), []byte("written by the machine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if again, err := blockdev.Attach(file); err != nil || again != whole {
				t.Errorf("the disk has a second device: %+v, %v", again, err)
			}
			if err := unmount(root); err != nil {
				t.Fatal(err)
			}
			if err := blockdev.Detach(file); err != nil {
				t.Error(err)
			}
			if left := loops(t, filepath.Dir(file)); left != "" {
				t.Errorf("a loop device is left: %s", left)
			}
			content, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(content), "written by the machine") {
				t.Errorf("what was written is not in the file (%v)", err)
			}
		})
	}
}

func TestADiskWithoutARootSaysWhatItHas(t *testing.T) {
	t.Parallel()
	file := testDisk(t, true)
	disk, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	// An MBR with LVM in the place of the GUID partition table.
	sector := make([]byte, 1024)
	sector[450], sector[454], sector[458], sector[510], sector[511] = 0x8e, 1, 8, 0x55, 0xaa
	if _, err := disk.WriteAt(sector, 0); err != nil {
		t.Fatal(err)
	}
	i := newImages(t.TempDir())
	kept, err := i.Keep(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.mount(kept); err == nil || !strings.Contains(err.Error(), "1: LVM") {
		t.Errorf("%v", err)
	}
	zeros := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(zeros, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err = i.Keep(t.Context(), zeros); err != nil {
		t.Fatal(err)
	}
	if _, err := i.mount(kept); err == nil || !strings.Contains(err.Error(), "which has no partitions, is no file system") {
		t.Errorf("%v", err)
	}
	if left := loops(t, i.Dir()); left != "" {
		t.Errorf("a loop device is left: %s", left)
	}
}

// loops are the files of a folder that have a loop device.
func loops(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	used, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, path := range used {
		if text, _ := os.ReadFile(path); strings.HasPrefix(string(text), dir) {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	return strings.Join(all, " ")
}

// TestTheBundlesDisksAreMounted looks for what a container and a virtual machine
// start with, in the file that both are made of.
func TestTheBundlesDisksAreMounted(t *testing.T) {
	t.Parallel()
	bundle := os.Getenv("SLIPWAY_BUNDLE")
	if bundle == "" || os.Geteuid() != 0 {
		t.Skip("SLIPWAY_BUNDLE is not set, or there are no root rights")
	}
	for _, name := range []string{"node", "seed"} {
		i := newImages(t.TempDir())
		kept, err := i.Keep(t.Context(), filepath.Join(bundle, "machines", name+".raw"))
		if err != nil {
			t.Fatal(err)
		}
		folder, err := i.mount(kept)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"sbin/init", "vmlinuz", "initrd.img", "boot/grub/grub.cfg"} {
			if _, err := os.Lstat(filepath.Join(folder, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := i.release(nil, true); err != nil {
			t.Error(err)
		}
	}
}
