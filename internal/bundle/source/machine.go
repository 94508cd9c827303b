package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
)

// machineFiles are the files that machines have besides packages and programs,
// by their place: "common" for all, then a folder for each machine. A word
// between @ is the name of a component and stands for its image.
//
//go:embed all:machines
var machineFiles embed.FS

// machine is the disk of a node, raw: hypervisors boot it by BIOS and by UEFI, and
// the sandbox makes a container of the root file system in it.
type machine struct {
	plain
	Base string
	// Boot is the recipe of the boot loader.
	Boot      string
	Processor processor
	// Folders of machineFiles, the later ones on top.
	Folders []string
	// Programs maps paths to recipes of executables; Archives maps folders to
	// recipes of archives that are unpacked there.
	Programs, Archives map[string]string
	// Images maps the names of archives to the images in them. They are imported
	// when the machine first boots.
	Images map[string][]string
	// Layouts says that Images are folders, for import-images, and no archives.
	Layouts bool
	// Enable are the units that start at boot.
	Enable []string
	// Version is what the property kube_version says.
	Version string
	// Room is how many bytes are left free for what is put in later.
	Room int64
}

func (m machine) needs() []string {
	needs := []string{m.Base, m.Boot}
	for _, images := range m.Images {
		needs = append(needs, images...)
	}
	needs = slices.AppendSeq(needs, maps.Values(m.Programs))
	needs = slices.AppendSeq(needs, maps.Values(m.Archives))
	slices.Sort(needs)
	return needs
}

// fingerprint covers the files of the machine's folders.
func (m machine) fingerprint() string {
	hash := sha256.New()
	for _, folder := range m.Folders {
		_ = fs.WalkDir(machineFiles, "machines/"+folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := machineFiles.ReadFile(name)
			fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
			return err
		})
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

func (m machine) make(ctx context.Context, j *job) (output, error) {
	root, err := j.mkdir("root")
	if err != nil {
		return output{}, err
	}
	for _, part := range []struct {
		name string
		make func(context.Context, *job, string) error
	}{
		{"unpacking packages", m.unpack}, {"copying programs", m.copyPrograms}, {"writing files", m.writeFiles},
		{"enabling units", m.enable}, {"looking for a kernel", m.findKernel}, {"writing images", m.writeImages},
	} {
		j.step.Run(part.name)
		if err := part.make(ctx, j, root); err != nil {
			return output{}, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	properties, err := m.properties(root)
	if err != nil {
		return output{}, err
	}
	if err := setTimes(root); err != nil {
		return output{}, fmt.Errorf("setting times: %w", err)
	}
	j.step.Run("writing the disk")
	loader, err := readLoader(j.input(m.Boot), m.Processor.EFIName)
	if err != nil {
		return output{}, err
	}
	file := j.path("machine.raw")
	if err := writeDisk(ctx, j, root, file, m.Room, loader, m.Processor.RootType); err != nil {
		return output{}, fmt.Errorf("writing the disk: %w", err)
	}
	return output{file: file, source: "debian " + j.builder.options.DebianSuite, packages: m.packages(j),
		properties: properties, contains: m.needs()}, nil
}

func (m machine) unpack(ctx context.Context, j *job, root string) error {
	cmd := j.builder.command(ctx, "", "tar", "--extract", "--file", j.input(m.Base), "--directory", root,
		"--preserve-permissions", "--numeric-owner", "--xattrs", "--xattrs-include=*")
	return j.builder.runCommand(cmd, nil)
}

func (m machine) copyPrograms(_ context.Context, j *job, root string) error {
	// In order: on some file systems that is the order of a folder's entries.
	for _, name := range slices.Sorted(maps.Keys(m.Programs)) {
		if err := copyProgram(filepath.Join(root, name), j.input(m.Programs[name])); err != nil {
			return err
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(m.Archives)) {
		if err := unpackArchive(j.input(m.Archives[folder]), filepath.Join(root, folder)); err != nil {
			return err
		}
	}
	return nil
}

// packages are those of the tree, and those that the boot loader is of.
func (m machine) packages(j *job) []string {
	all := slices.Concat(j.inputs[m.Base].packages, slices.DeleteFunc(slices.Clone(j.inputs[m.Boot].packages), func(p string) bool {
		return !strings.HasPrefix(p, "grub-")
	}))
	slices.Sort(all)
	return slices.Compact(all)
}

// findKernel makes sure of what grub.cfg names, and of the kernel's
// configuration, which kubeadm's preflight reads.
func (m machine) findKernel(_ context.Context, _ *job, root string) error {
	inside, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer inside.Close()
	for _, name := range []string{"vmlinuz", "initrd.img"} {
		if _, err := inside.Stat(name); err != nil {
			return fmt.Errorf("package %s left no /%s: %w", m.Processor.Kernel, name, err)
		}
	}
	configs, err := fs.Glob(inside.FS(), "boot/config-*")
	if err == nil && len(configs) == 0 {
		err = fmt.Errorf("package %s left no /boot/config-*", m.Processor.Kernel)
	}
	return err
}

// blank are files that each machine must make anew.
func blank() []string { return []string{"etc/machine-id", "etc/hostname"} }

// resolverFile is what the name servers of the network are written to; on other
// machines than those of the sandbox by systemd-resolved. It is the list of the
// servers, not of resolved's own, so that pods can use it too.
const resolverFile = "/run/systemd/resolve/resolv.conf"

func (m machine) writeFiles(_ context.Context, _ *job, root string) error {
	for _, folder := range m.Folders {
		files, err := fs.Sub(machineFiles, "machines/"+folder)
		if err != nil {
			return err
		}
		if err := copyTexts(files, root); err != nil {
			return err
		}
	}
	for _, name := range blank() {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			return err
		}
	}
	if err := replaceByLink(filepath.Join(root, "etc/resolv.conf"), resolverFile); err != nil {
		return err
	}
	keys, err := filepath.Glob(filepath.Join(root, "etc/ssh/ssh_host_*"))
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := os.Remove(key); err != nil {
			return err
		}
	}
	return nil
}

func replaceByLink(name, target string) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.Symlink(target, name)
}

// copyTexts writes embedded files into the root.
func copyTexts(files fs.FS, root string) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		target := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, fillRefs(text), textMode(text))
	})
}

// fillRefs replaces @component@ by the component's image.
func fillRefs(text []byte) []byte {
	for _, c := range component.All() {
		if c.Kind == bundle.Image {
			text = bytes.ReplaceAll(text, []byte("@"+c.Name+"@"), []byte(c.Ref))
		}
	}
	return text
}

// writeImages writes the images that the machine imports.
func (m machine) writeImages(ctx context.Context, j *job, root string) error {
	dir := filepath.Join(root, imageFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, archive := range slices.Sorted(maps.Keys(m.Images)) {
		items := make([]bundle.Item, len(m.Images[archive]))
		for i, name := range m.Images[archive] {
			items[i] = j.inputs[name].item
		}
		var err error
		if m.Layouts {
			err = j.builder.folder.WriteImageLayout(ctx, filepath.Join(dir, archive), items)
		} else {
			err = writeImageArchive(ctx, j, filepath.Join(dir, archive+".tar"), items)
		}
		if err != nil {
			return fmt.Errorf("images %s: %w", archive, err)
		}
	}
	return nil
}

func writeImageArchive(ctx context.Context, j *job, file string, items []bundle.Item) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := j.builder.folder.WriteImageArchive(ctx, out, items); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
