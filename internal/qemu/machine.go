package qemu

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Base are the arguments that every machine has: no default devices, no window,
// system calls limited, and a source of random numbers.
func Base(name, accelerator string, vcpus, memoryMiB int) []string {
	// Nehalem is the oldest processor on which current distributions run, and the quickest to
	// emulate. Under the model number of an Atom that does not speculate, Linux does without its
	// defenses against Meltdown and Spectre, which an emulated processor does not have and which
	// cost a fifth of its time: the isolation of page tables empties QEMU's at each system call.
	model, speed := "Nehalem,model=28", "tcg,thread=multi,tb-size=512"
	if accelerator == KVM {
		model, speed = "host", "kvm"
	}
	return []string{
		"-name", Escape(name), "-nodefaults", "-no-user-config", "-display", "none",
		"-accel", speed, "-cpu", model, "-smp", strconv.Itoa(vcpus), "-m", strconv.Itoa(memoryMiB),
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng",
	}
}

// Escape writes a path or name so that QEMU takes a comma in it as one.
func Escape(text string) string { return strings.ReplaceAll(text, ",", ",,") }

// Firmware are the arguments for UEFI. The machine's variables are the file
// variables, which is made if it is not there, or has another size than the firmware
// wants: a disk was full, or a process killed, while it was made.
func (t Tools) Firmware(variables string) ([]string, error) {
	text, err := os.ReadFile(t.Variables)
	if err != nil {
		return nil, fmt.Errorf("reading UEFI's variables: %w", err)
	}
	if have, err := os.Stat(variables); err != nil || have.Size() != int64(len(text)) {
		if err := os.WriteFile(variables, text, 0o600); err != nil {
			return nil, fmt.Errorf("copying UEFI's variables: %w", err)
		}
	}
	return []string{"-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" + Escape(t.Code),
		"-drive", "if=pflash,unit=1,format=raw,file=" + Escape(variables)}, nil
}

// Overlay makes a qcow2 disk of so many bytes upon an image of a format.
func (t Tools) Overlay(ctx context.Context, file, image, format string, size int64) error {
	return run(ctx, t.Image, "create", "-q", "-f", "qcow2", "-F", format, "-b", image, file, strconv.FormatInt(size, 10))
}

// Grow gives a qcow2 disk that no machine has open so many bytes.
func (t Tools) Grow(ctx context.Context, file string, size int64) error {
	return run(ctx, t.Image, "resize", "-q", "-f", "qcow2", file, strconv.FormatInt(size, 10))
}

// Flatten writes a qcow2 disk to a raw file; a machine that has it open stands still.
func (t Tools) Flatten(ctx context.Context, file, to string) error {
	return run(ctx, t.Image, "convert", "-q", "-U", "-f", "qcow2", "-O", "raw", file, to)
}

// driveLabel is how cloud-init knows a configuration drive.
const driveLabel = "config-2"

// ConfigDrive makes a configuration drive of the documents by path, which are kept in
// a folder beside it until it is made.
func (t Tools) ConfigDrive(ctx context.Context, file string, documents map[string][]byte) error {
	tree := file + ".tree"
	defer os.RemoveAll(tree)
	for path, text := range documents {
		path = filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("writing the configuration drive: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return fmt.Errorf("writing the configuration drive: %w", err)
		}
	}
	return run(ctx, t.ISO, "-quiet", "-J", "-r", "-V", driveLabel, "-o", file, tree)
}

// run runs a tool; its error has the tool's name and words.
func run(ctx context.Context, tool string, args ...string) error {
	if out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(tool), err, bytes.TrimSpace(out))
	}
	return nil
}
