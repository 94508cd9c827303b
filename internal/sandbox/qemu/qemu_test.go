package qemu

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/machinetest"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

const volume = "01234567-89ab-cdef-0123-456789abcdef"

// offline is a driver that no other test uses.
func offline(t *testing.T) *Driver {
	t.Helper()
	dir := t.TempDir()
	place, err := site.Open(site.Options{Dir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenAt(place, qemu.TCG)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// image is a disk that boots by BIOS: the smallest system that a cloud can deal with.
func image(t *testing.T) string {
	t.Helper()
	return write(t, machinetest.Guest(1<<20))
}

func write(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.raw")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// efiImage is a disk that boots by UEFI alone, with a loader of that name.
func efiImage(t *testing.T, loader string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "efi.raw")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := bootdisk.Write(file, bootdisk.Disk{ID: uuid.UUID{1}, RootType: bootdisk.TypeRootAMD64, RootSize: 1 << 20,
		Loader: bootdisk.Loader{EFI: []byte("program"), EFIName: loader}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// An image that would not boot is refused with the cause, before anything is started.
func TestImagesThatDoNotBootAreRefused(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large.raw")
	content, err := os.ReadFile(image(t))
	if err == nil {
		err = errors.Join(os.WriteFile(large, content, 0o600), os.Truncate(large, 3<<30))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		image string
		uefi  bool
		want  []string // nil: it boots
	}{
		"BIOS":              {image(t), false, nil},
		"UEFI":              {efiImage(t, "BOOTX64.EFI"), true, nil},
		"no disk":           {write(t, make([]byte, 1<<20)), false, []string{"does not boot by BIOS", "no partition table"}},
		"UEFI only":         {efiImage(t, "BOOTX64.EFI"), false, []string{"does not boot by BIOS", "for UEFI, but none for BIOS", "hw_firmware_type to uefi"}},
		"BIOS only":         {image(t), true, []string{"does not boot by UEFI", "remove its property"}},
		"another processor": {efiImage(t, "BOOTAA64.EFI"), true, []string{"BOOTAA64.EFI", "x86_64"}},
		"too large":         {large, false, []string{"larger", "flavor's disk of 2 GiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{driver: offline(t)}
			err := s.Make(t.Context(), machine.Spec{ID: "id", Image: c.image, UEFI: c.uefi, DiskGiB: 2})
			var refused *machine.Refusal
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &refused) {
				t.Fatalf("%v is no refusal", err)
			}
			for _, want := range c.want {
				if !strings.Contains(refused.Reason, want) {
					t.Errorf("%q has no %q", refused.Reason, want)
				}
			}
		})
	}
}

// Whoever asks for KVM where there is none is told so with the first machine.
func TestKVMThatIsNotThere(t *testing.T) {
	t.Parallel()
	tools, lacks := qemu.Find()
	if len(lacks) > 0 {
		t.Skipf("%v: run make deps", lacks)
	}
	if _, err := tools.Accelerator(t.Context(), qemu.KVM); err == nil {
		t.Skip("KVM works here")
	}
	d := offline(t)
	d.wanted = qemu.KVM
	_, err := d.prepare(t.Context())
	var refused *machine.Refusal
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "KVM does not work") || !strings.Contains(refused.Reason, "--accel auto") {
		t.Errorf("%v", err)
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	d := offline(t)
	if state, err := d.State(t.Context(), "unknown"); state != machine.Gone || err != nil || d.Has("unknown") {
		t.Errorf("unknown: %s, %v", state, err)
	}
	if err := d.Start(t.Context(), "unknown"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("starting what is not there: %v", err)
	}
	if err := errors.Join(d.DetachVolume(t.Context(), "unknown", "v"), d.DetachPort(t.Context(), "unknown", "p"), d.Delete(t.Context(), "unknown")); err != nil {
		t.Errorf("taking from what is not there: %v", err)
	}
	for _, id := range []string{"", ".", "..", "../x", "a/b"} {
		if _, err := d.Load(id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	s, _ := d.Load("one")
	if err := s.Make(t.Context(), machine.Spec{ID: "one"}); err == nil {
		t.Error("a machine without a disk")
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	d := offline(t)
	s := &server{driver: d}
	card := machine.Port{ID: "11111111-2222-3333-4444-555555555555", MAC: "fa:16:3e:00:00:01", MTU: 1450}
	spec := machine.Spec{ID: "id", Image: image(t), Volumes: []string{volume}, VCPUs: 3, MemoryMiB: 512, Ports: []machine.Port{card},
		Local: []machine.LocalDisk{{GiB: 1, Address: "0000:00:10.0"}}, Trouble: []string{"slow-disk"}}
	if err := s.Make(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	args, err := s.arguments(host{accelerator: qemu.TCG}, 1)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(args, " ")
	for _, want := range []string{"-smp 3", "-m 512", "product=OpenStack Nova", "drive=root,bootindex=1", "cache=unsafe", "throttling.bps-total",
		"serial=01234567-89ab-cdef-0", "addr=0x10", "tap,id=net-11111111-2222-3333-4,fd=3", "mac=fa:16:3e:00:00:01", "host_mtu=1450"} {
		if !strings.Contains(line, want) {
			t.Errorf("%s has no %s", line, want)
		}
	}
	if strings.Count(line, "cache=unsafe") != 1 {
		t.Error("what a guest flushes to a volume must reach the disk")
	}
	s.Spec.Trouble = []string{"no-network", "no-boot"}
	if args, err = s.arguments(host{}, 0); err != nil || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "virtio-net") }) || !slices.Contains(args, "-S") {
		t.Errorf("%v: a machine that is to have no network and not to boot: %v", err, args)
	}
	s.Spec.Image, s.Image, s.Slots = "", "", machine.Slots{volume}
	if args, err = s.arguments(host{}, 0); err != nil || !strings.Contains(strings.Join(args, " "), "bootindex=1") {
		t.Errorf("%v: no boot from the volume: %v", err, args)
	}
}

// TestASmallMachine takes a machine with the smallest system through its life: QEMU
// starts, volumes come and go, it crashes, is found again, and is switched off.
func TestASmallMachine(t *testing.T) {
	t.Parallel()
	if _, lacks := qemu.Find(); len(lacks) > 0 {
		t.Skipf("%v: run make deps", lacks)
	}
	d, id := offline(t), uuid.NewString()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = d.End(t.Context()) }()
	spec := machine.Spec{ID: id, Image: image(t), VCPUs: 1, MemoryMiB: 64, DiskGiB: 1}
	begin := time.Now()
	must(d.Create(ctx, spec))
	running := func(want machine.State) process.ID {
		t.Helper()
		state, err := d.State(ctx, id)
		if err != nil || state != want {
			t.Fatalf("it is %s (%v), want %s", state, err, want)
		}
		return process.Find("slipway-" + id)
	}
	first := running(machine.Running)
	must(d.site.Disks.CreateVolume(ctx, machine.Volume{ID: volume, GiB: 1}))
	for range 2 {
		device, err := d.AttachVolume(ctx, id, volume)
		must(err)
		if device != "/dev/vdb" {
			t.Errorf("the volume is %s", device)
		}
	}
	eventually := func(want string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			text, err := d.Console(ctx, id, 0)
			must(err)
			if strings.Contains(text, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the console has no %q: %q", want, text)
			}
		}
	}
	eventually(machinetest.GuestSays)
	t.Log("the guest runs", time.Since(begin))
	must(d.Grow(ctx, id, volume, 2<<30))
	if err := d.Grow(ctx, id, "another", 2<<30); err == nil {
		t.Error("a volume that it does not have grows")
	}
	if err := d.Resize(ctx, spec); err == nil {
		t.Error("a machine that runs is resized")
	}
	must(d.Pause(ctx, id))
	must(d.Unpause(ctx, id))
	t.Log("grown, paused", time.Since(begin))
	for range 2 {
		must(d.DetachVolume(ctx, id, volume))
	}
	t.Log("detached", time.Since(begin))
	if _, err := d.AttachVolume(ctx, id, volume); err != nil {
		t.Errorf("attaching again: %v", err)
	}

	// The process was killed before it wrote down which QEMU it had started.
	s, err := d.Load(id)
	must(err)
	s.Process = process.ID{}
	must(s.save())
	must(d.Start(ctx, id))
	if again := running(machine.Running); again != first {
		t.Errorf("a second QEMU, %+v beside %+v", again, first)
	}

	must(unix.Kill(first.PID, unix.SIGKILL))
	eventually("QEMU ended: signal: killed")
	t.Log("crashed", time.Since(begin))
	running(machine.Stopped)
	spec.DiskGiB, spec.VCPUs = 2, 2
	must(d.Resize(ctx, spec))
	must(d.Reboot(ctx, id, true))
	if second := running(machine.Running); second == first {
		t.Error("it was not started again")
	}
	disk, err := d.Snapshot(ctx, id)
	must(err)
	if info, err := disk.(*os.File).Stat(); err != nil || info.Size() != 2<<30 {
		t.Errorf("the disk was not resized: %v, %v", info, err)
	}
	disk.Close()
	t.Log("started again, read", time.Since(begin))
	// The firmware of the next one would not see the power button: so only its own words count.
	s, err = d.Load(id)
	must(err)
	must(s.Stop(ctx, false))
	must(os.WriteFile(filepath.Join(d.Folder, id, "console.log"), nil, 0o600))
	must(d.Start(ctx, id))
	eventually(machinetest.GuestSays)
	off := time.Now()
	must(d.End(ctx)) // switched off, kept
	if took := time.Since(off); took > 25*time.Second {
		t.Errorf("it did not switch itself off: it was ended after %v", took)
	}
	t.Log("ended", time.Since(begin))
	running(machine.Stopped)
	must(d.Delete(ctx, id))
	running(machine.Gone)
	left, _ := filepath.Glob(filepath.Join(d.site.Dir, "vm*", "*"))
	if sockets, _ := filepath.Glob(filepath.Join(d.site.RunDir, "vm-*")); len(left)+len(sockets) > 0 || process.Find("slipway-"+id).Runs() {
		t.Errorf("left: %v %v", left, sockets)
	}
}
