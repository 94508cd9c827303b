package source

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/slipway-sh/slipway/internal/bootdisk"
)

// rootLabel is the label of the root file system of machines, by which boot
// loader and kernel find it.
const rootLabel = "slipway-root"

// bootLoader is GRUB, linked for disks of machines: a tar archive of what
// bootdisk.Loader has. It comes from Debian's packages of the machines' own
// release and runs with the libraries from there, so that it is the same
// whatever the host has.
type bootLoader struct {
	plain
	Tree      string
	Processor processor
	// Early is what GRUB does first: it finds the root and reads the rest there.
	Early string
	// Modules are linked in on every platform; BIOSModules and UEFIModules on one.
	Modules, BIOSModules, UEFIModules []string
}

// The names in the archive.
const (
	bootSectorFile = "boot.img"
	coreFile       = "core.img"
	efiFile        = "boot.efi"
)

func (l bootLoader) needs() []string { return []string{l.Tree} }

func (l bootLoader) make(ctx context.Context, j *job) (output, error) {
	root, err := j.mkdir("root")
	if err != nil {
		return output{}, err
	}
	cmd := j.builder.command(ctx, "", "tar", "--extract", "--file", j.input(l.Tree), "--directory", root, "--no-same-owner",
		"lib", "usr/lib", "usr/bin/grub-mkimage")
	if err := j.builder.runCommand(cmd, nil); err != nil {
		return output{}, fmt.Errorf("unpacking GRUB: %w", err)
	}
	if err := os.WriteFile(j.path("early.cfg"), []byte(l.Early), 0o600); err != nil {
		return output{}, err
	}
	files := map[string]string{efiFile: j.path(efiFile)}
	if err := l.link(ctx, j, l.Processor.UEFI, efiFile, l.UEFIModules); err != nil {
		return output{}, err
	}
	if l.Processor.BIOS != "" {
		files[coreFile], files[bootSectorFile] = j.path(coreFile), j.path("root/usr/lib/grub", l.Processor.BIOS, bootSectorFile)
		if err := l.link(ctx, j, l.Processor.BIOS, coreFile, l.BIOSModules); err != nil {
			return output{}, err
		}
	}
	return output{file: j.path("loader.tar"), source: "debian " + j.builder.options.DebianSuite, packages: j.inputs[l.Tree].packages},
		writeLoader(j.path("loader.tar"), files)
}

// link makes GRUB's program for a platform.
func (l bootLoader) link(ctx context.Context, j *job, platform, file string, modules []string) error {
	root := j.path("root")
	args := []string{"--library-path", root + "/" + l.Processor.Libraries + ":" + root + "/usr/" + l.Processor.Libraries,
		root + "/usr/bin/grub-mkimage", "--directory", root + "/usr/lib/grub/" + platform, "--format", platform,
		"--output", j.path(file), "--prefix", "/boot/grub", "--config", j.path("early.cfg")}
	cmd := j.builder.command(ctx, "", root+"/"+l.Processor.Loader, append(append(args, l.Modules...), modules...)...)
	cmd.Env = j.builder.timeless()
	if err := j.builder.runCommand(cmd, nil); err != nil {
		return fmt.Errorf("linking GRUB for %s: %w", platform, err)
	}
	return nil
}

func writeLoader(to string, files map[string]string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	for _, name := range []string{bootSectorFile, coreFile, efiFile} {
		if files[name] == "" {
			continue
		}
		text, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		if err := writeText(w, name, text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), out.Close())
}

// readLoader reads what bootLoader made.
func readLoader(file, efiName string) (bootdisk.Loader, error) {
	loader := bootdisk.Loader{EFIName: efiName}
	in, err := os.Open(file)
	if err != nil {
		return loader, err
	}
	defer in.Close()
	places := map[string]*[]byte{bootSectorFile: &loader.BootSector, coreFile: &loader.Core, efiFile: &loader.EFI}
	for reader := tar.NewReader(in); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return loader, nil
		}
		if err != nil {
			return loader, fmt.Errorf("reading the boot loader: %w", err)
		}
		if place := places[header.Name]; place != nil {
			if *place, err = io.ReadAll(reader); err != nil {
				return loader, fmt.Errorf("reading the boot loader: %w", err)
			}
		}
	}
}

// earlyConfig finds the machine's root file system by its label and goes on with
// the configuration there. What it prints goes to the serial port too: that is
// what a cloud keeps.
func earlyConfig() string {
	return strings.Join([]string{
		"serial --unit=0 --speed=115200",
		"terminal_output --append serial",
		"search --no-floppy --set=root --label " + rootLabel,
		"set prefix=($root)/boot/grub",
		"configfile $prefix/grub.cfg",
	}, "\n") + "\n"
}
