package try

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/qemu"
)

// diskFile is a disk in a file, with a loader for UEFI of that name, "" for none.
func diskFile(t *testing.T, loader string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk.raw")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	name := loader
	if name == "" {
		name = "OTHER.EFI"
	}
	if err := bootdisk.Write(file, bootdisk.Disk{ID: uuid.UUID{1}, RootType: bootdisk.TypeLinux, RootSize: 1 << 20,
		Loader: bootdisk.Loader{EFI: []byte("program"), EFIName: name}}); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesThatAreNoImagesAreRefused(t *testing.T) {
	t.Parallel()
	backed := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{})
	copy(backed[8:], []byte{0, 0, 0, 0, 0, 0, 1, 0}) // the place of a backing file's name
	backed[19] = 4
	for name, c := range map[string]struct {
		path, cause, fix string
	}{
		"no file":    {filepath.Join(t.TempDir(), "absent"), "no such file", "give the path"},
		"a folder":   {t.TempDir(), "not a regular file", "give the path"},
		"compressed": {write(t, []byte("\xfd7zXZ\x00 and more")), "compressed: xz", "xz -dk"},
		"a page":     {write(t, []byte("<!doctype html><p>404")), "not a disk image but a web page", "give the path"},
		"empty":      {write(t, nil), "not a disk image but empty", "give the path"},
		"backed":     {write(t, backed), "not self-contained", "flatten it"},
		"cut off":    {write(t, []byte("QFI\xfb\x00\x00\x00\x03")), "cut off", "flatten it"},
	} {
		_, err := inspect(c.path)
		if fault.ExitCode(err) != fault.ExitPreflight || !strings.Contains(err.Error(), c.cause) || !strings.Contains(fault.Remedy(err), c.fix) {
			t.Errorf("%s: %v (exit code %d), remedy %q", name, err, fault.ExitCode(err), fault.Remedy(err))
		}
	}
}

// Why firmware found nothing is told from the disk.
func TestWhyThereIsNoBootLoader(t *testing.T) {
	t.Parallel()
	qcow2 := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{})
	for name, c := range map[string]struct {
		path     string
		firmware Firmware
		reason   Reason
		cause    string
	}{
		"zeros":                {write(t, make([]byte, 1<<20)), BIOS, NoBootLoader, "no partition table"},
		"UEFI only, by BIOS":   {diskFile(t, "BOOTX64.EFI"), BIOS, NoBootLoader, "a boot loader for UEFI, but none for BIOS"},
		"another processor":    {diskFile(t, "BOOTAA64.EFI"), UEFI, WrongArchitecture, "BOOTAA64.EFI"},
		"another, by BIOS":     {diskFile(t, "BOOTAA64.EFI"), BIOS, WrongArchitecture, "another processor"},
		"an empty partition":   {diskFile(t, ""), UEFI, NoBootLoader, "has no /EFI/BOOT/BOOTX64.EFI"},
		"no code for BIOS":     {diskFile(t, ""), BIOS, NoBootLoader, "the first sector"},
		"no table, as a qcow2": {write(t, qcow2), UEFI, NoBootLoader, "no partition table"},
	} {
		i, err := inspect(c.path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reason, cause, fix := i.noLoader(c.firmware)
		if reason != c.reason || !strings.Contains(cause, c.cause) || fix == "" {
			t.Errorf("%s: %s: %s (%s)", name, reason, cause, fix)
		}
	}
	mbr := make([]byte, 1<<20) // one Linux partition, and no EFI system partition
	mbr[450], mbr[454], mbr[458], mbr[510], mbr[511] = 0x83, 1, 8, 0x55, 0xaa
	i, err := inspect(write(t, mbr))
	if err != nil {
		t.Fatal(err)
	}
	if _, cause, _ := i.noLoader(UEFI); !strings.Contains(cause, "boots by BIOS only") {
		t.Error(cause)
	}
}

// The disk that the machine gets is so large that a root that grew is larger than
// the image, and one that did not is not.
func TestAGrownRootIsLargerThanTheImage(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 1 << 20, 2 << 30, 100 << 30, 2 << 40} {
		i := image{size: size}
		const overhead = 0.94 // of file system and other partitions
		if grown := float64(i.bootSize()) * overhead; grown <= float64(size) || i.bootSize()%512 != 0 {
			t.Errorf("an image of %d bytes boots with %d", size, i.bootSize())
		}
	}
}

func TestBootsAreFaults(t *testing.T) {
	t.Parallel()
	if err := (Boot{Passed: true}).fault("f", 0); err != nil {
		t.Error(err)
	}
	for reason, exit := range map[Reason]fault.Exit{KernelPanic: fault.ExitFailure, TimedOut: fault.ExitDeadline} {
		err := Boot{Firmware: UEFI, Reason: reason, Cause: "the cause", Remedy: "the remedy"}.fault("disk.raw", 1)
		if fault.ExitCode(err) != exit || fault.Remedy(err) != "the remedy" || !strings.Contains(err.Error(), "image disk.raw by uefi") || !strings.Contains(err.Error(), string(reason)+": the cause") {
			t.Errorf("%s: %v (exit code %d), remedy %q", reason, err, fault.ExitCode(err), fault.Remedy(err))
		}
	}
}

func TestPathsForQEMU(t *testing.T) {
	t.Parallel()
	args := strings.Join(arguments("/tmp/a,b", qemu.TCG, 2222), " ")
	for _, want := range []string{"file=/tmp/a,,b/root.qcow2", "restrict=on", "hostfwd=tcp:127.0.0.1:2222-:22", "-cpu Nehalem", "-no-reboot"} {
		if !strings.Contains(args, want) {
			t.Errorf("%s lacks %s", args, want)
		}
	}
	if args := strings.Join(arguments("/tmp", qemu.KVM, 1), " "); !strings.Contains(args, "-accel kvm -cpu host") {
		t.Error(args)
	}
}

func TestMissingToolsAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := findHost([]Firmware{BIOS})
	for _, want := range []string{"qemu-img", "genisoimage"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	if fault.ExitCode(err) != fault.ExitPreflight || !errors.Is(err, errNoTool) {
		t.Errorf("exit code %d", fault.ExitCode(err))
	}
}
