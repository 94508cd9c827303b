package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// Start runs the machine, unless it runs.
func (s *server) Start(ctx context.Context) error {
	if s.adopt(); s.Process.Runs() {
		return s.save()
	}
	h, err := s.driver.prepare(ctx)
	if err != nil {
		return err
	}
	if s.Spec.UEFI && !h.tools.HasUEFI() {
		return &machine.Refusal{Reason: "The image asks for UEFI, but the host of virtual machines has no OVMF; install it (Debian's package ovmf)."}
	}
	if err := s.makeDisks(ctx, h); err != nil {
		return err
	}
	taps, err := s.taps(ctx)
	defer func() {
		for _, tap := range taps {
			tap.Close()
		}
	}()
	if err != nil {
		return err
	}
	args, err := s.arguments(h, len(taps))
	if err != nil {
		return err
	}
	if err := s.launch(h, args, taps); err != nil {
		return err
	}
	if err := s.save(); err != nil {
		s.Process.Kill()
		return err
	}
	return s.up(ctx)
}

// taps are the network's ends of the machine's cards.
func (s *server) taps(ctx context.Context) ([]*os.File, error) {
	var all []*os.File
	if s.trouble(faultinject.NoNetwork) {
		return nil, nil
	}
	for _, card := range s.Cards {
		tap, err := s.driver.site.Net.Tap(ctx, card)
		if err != nil {
			return all, err
		}
		all = append(all, tap)
	}
	return all, nil
}

// firstFile is the number of the first file that a process gets beside its three.
const firstFile = 3

// arguments are QEMU's. The machine is what Nova makes where nothing else is asked
// for: type pc, virtio disks and cards, a configuration drive on IDE.
func (s *server) arguments(h host, taps int) ([]string, error) {
	id := s.Spec.ID
	args := append(qemu.Base(s.name(), h.accelerator, max(1, s.Spec.VCPUs), max(64, s.Spec.MemoryMiB)),
		"-machine", "pc,graphics=off", "-uuid", id,
		// cloud-init knows the platform by this.
		"-smbios", "type=1,manufacturer=OpenStack Foundation,product=OpenStack Nova,serial="+id+",uuid="+id,
		"-qmp", "unix:"+qemu.Escape(s.socket())+",server=on,wait=off",
		"-chardev", "file,id=console,append=on,path="+qemu.Escape(s.path("console.log")), "-serial", "chardev:console",
		"-drive", "if=none,id=config,format=raw,readonly=on,file="+qemu.Escape(s.path("config.iso")), "-device", "ide-cd,drive=config")
	if s.Spec.UEFI {
		firmware, err := h.tools.Firmware(s.path("variables.fd"))
		if err != nil {
			return nil, err
		}
		args = append(args, firmware...)
	}
	if s.trouble(faultinject.NoBoot) {
		args = append(args, "-S")
	}
	disks, err := s.diskArguments()
	if err != nil {
		return nil, err
	}
	args = append(args, disks...)
	for i, card := range s.Cards[:taps] {
		args = append(args, "-netdev", fmt.Sprintf("tap,id=%s,fd=%d", netID(card.ID), firstFile+i), "-device", text(cardDevice(card)))
	}
	return args, nil
}

// A slow disk is one of a worn-out array: bytes and operations a second.
const slowDisk = ",throttling.bps-total=1048576,throttling.iops-total=40"

// diskArguments are the disks by the order of their slots, and the machine's own empty
// ones at their places on the bus.
func (s *server) diskArguments() ([]string, error) {
	var args []string
	for i, volume := range s.Slots {
		switch {
		case volume == rootSlot:
			// What the guest flushes does not reach the host's disk, as with
			// containers: every member of etcd would wait for the host's one disk.
			drive := "if=none,id=root,format=qcow2,cache=unsafe,discard=unmap,file=" + qemu.Escape(s.path("root.qcow2"))
			if s.trouble(faultinject.SlowDisk) {
				drive += slowDisk
			}
			args = append(args, "-drive", drive, "-device", "virtio-blk-pci,id=disk-root,drive=root,bootindex=1")
		case volume != "":
			node, err := json.Marshal(volumeNode(volume, s.driver.site.Disks.Path(volume)))
			if err != nil {
				return nil, err
			}
			device := volumeDevice(volume)
			if i == 0 {
				device["bootindex"] = "1"
			}
			args = append(args, "-blockdev", string(node), "-device", text(device))
		}
	}
	for i, disk := range s.Spec.Local {
		name := fmt.Sprintf("local%d", i)
		_, slot, _ := strings.Cut(strings.TrimSuffix(disk.Address, ".0"), "0000:00:")
		args = append(args, "-drive", "if=none,id="+name+",format=raw,file="+qemu.Escape(s.driver.site.Disks.Path(s.local(i))),
			"-device", "virtio-blk-pci,drive="+name+",bus=pci.0,addr=0x"+slot)
	}
	return args, nil
}

// adopt finds a QEMU that a process started which was killed before it wrote that down.
func (s *server) adopt() {
	if !s.Process.Runs() {
		s.Process = process.Find(s.name())
	}
}

// name is what QEMU's process is known by.
func (s *server) name() string { return "slipway-" + s.Spec.ID }

func (s *server) trouble(k faultinject.Kind) bool {
	for _, t := range s.Spec.Trouble {
		if t == string(k) {
			return true
		}
	}
	return false
}

// panicked is what the console of a machine says that is not to boot.
const panicked = "Kernel panic - not syncing: VFS: Unable to mount root fs\n"

// launch starts QEMU in a session of its own: it outlives this process.
func (s *server) launch(h host, args []string, taps []*os.File) error {
	_ = os.Remove(s.socket())
	log, err := os.OpenFile(s.path("qemu.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening QEMU's log: %w", err)
	}
	defer log.Close()
	if s.trouble(faultinject.NoBoot) {
		s.say(panicked)
	}
	cmd := exec.Command(h.tools.System, args...) //nolint:noctx // it outlives every context
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = log, log, taps, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting QEMU: %w", err)
	}
	s.Process, s.Halted = process.Of(cmd.Process.Pid), false
	s.driver.reaped.Go(func() { s.reap(cmd) })
	return nil
}

// reap waits for the end of QEMU. One that crashes or is killed says so on the console.
func (s *server) reap(cmd *exec.Cmd) {
	err := cmd.Wait()
	if err == nil {
		return
	}
	words, _ := process.Tail(s.path("qemu.log"), 3)
	cause := fmt.Sprintf("QEMU ended: %v: %s", err, strings.TrimSpace(words))
	if s.say("\r\n"+cause+"\r\n") == nil {
		s.driver.say("Server " + s.Spec.ID + ": " + cause)
	}
}

// say writes to the machine's console log, if the machine has not been deleted.
func (s *server) say(text string) error {
	log, err := os.OpenFile(s.path("console.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = log.WriteString(text)
	return errors.Join(err, log.Close())
}

// upTime is how long QEMU may take until it answers.
const upTime = 30 * time.Second

// up returns when QEMU answers, or why it has ended.
func (s *server) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		m, err := s.monitor(ctx)
		if err == nil {
			return m.Close()
		}
		if !s.Process.Runs() {
			words, _ := process.Tail(s.path("qemu.log"), 5)
			return fmt.Errorf("starting QEMU: it ended: %s", strings.TrimSpace(words))
		}
		if ctx.Err() != nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED) {
			s.Process.Kill()
			return fmt.Errorf("starting QEMU: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (s *server) monitor(ctx context.Context) (*qemu.Monitor, error) {
	return qemu.Dial(ctx, s.socket())
}
