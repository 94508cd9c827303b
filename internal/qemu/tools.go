// Package qemu knows how QEMU is run on this machine: which tools there are, whether
// hardware virtualization really works, and how the parts of a virtual machine that a
// cloud gives are written on a command line.
package qemu

import (
	"os"
	"os/exec"
)

// Tools are the paths of the programs and files of this machine.
type Tools struct {
	// System is qemu-system-x86_64, Image qemu-img, ISO makes file systems of CD-ROMs.
	System, Image, ISO string
	// Code and Variables are OVMF's, for UEFI: the program, and the first state of
	// its variables. They are empty where OVMF is not installed.
	Code, Variables string
}

// Lack is a tool that is not installed, and the package of Debian that has it.
type Lack struct{ Tool, Package string }

// ovmf are the places where distributions have UEFI for virtual machines.
func ovmf() [][2]string {
	return [][2]string{
		{"/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
		{"/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"},
		{"/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"},
		{"/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"},
		{"/usr/share/qemu/ovmf-x86_64-code.bin", "/usr/share/qemu/ovmf-x86_64-vars.bin"},
	}
}

// Find looks for the tools, and for OVMF. It returns all that machines with a BIOS
// need and is missing; for UEFI ask HasUEFI.
func Find() (Tools, []Lack) {
	var t Tools
	var lacks []Lack
	for _, tool := range []struct {
		path  *string
		names []string
		pack  string
	}{
		{&t.System, []string{"qemu-system-x86_64", "/usr/libexec/qemu-kvm"}, "qemu-system-x86"},
		{&t.Image, []string{"qemu-img"}, "qemu-utils"},
		{&t.ISO, []string{"genisoimage", "mkisofs", "xorrisofs"}, "genisoimage"},
	} {
		if *tool.path = lookUp(tool.names); *tool.path == "" {
			lacks = append(lacks, Lack{tool.names[0], tool.pack})
		}
	}
	for _, pair := range ovmf() {
		if exists(pair[0]) && exists(pair[1]) {
			t.Code, t.Variables = pair[0], pair[1]
			break
		}
	}
	return t, lacks
}

// HasUEFI tells whether machines can boot by UEFI.
func (t Tools) HasUEFI() bool { return t.Code != "" }

func lookUp(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
