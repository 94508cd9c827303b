package source

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/slipway-sh/slipway/internal/component"
)

// seedFolder has the files of the seed alone, below machines.
const seedFolder = "seed"

// Payload is what a seed has besides its operating system. The builder puts it into the
// bundle's own image; on a machine of another image the same list is brought over SSH.
type Payload struct {
	// Texts are small files, by their path.
	Texts []Text
	// Programs maps paths to names of the bundle's items.
	Programs map[string]string
	// Archives maps paths to the names of the images in them.
	Archives map[string][]string
}

// Text is a small file of a machine.
type Text struct {
	Path string
	// Mode is octal: 0644, or 0755 for a program.
	Mode    fs.FileMode
	Content string
}

// Tools are the programs of a seed that people use and k3s does not need. A bundle
// that was pulled may lack them.
func (Payload) Tools() []string { return []string{"helm", "k9s", "kustomize"} }

// Items are the names of the bundle's items in the payload, sorted.
func (p Payload) Items() []string {
	items := slices.Collect(maps.Values(p.Programs))
	for _, images := range p.Archives {
		items = append(items, images...)
	}
	slices.Sort(items)
	return slices.Compact(items)
}

// SeedPayload is the payload of the seed. Paths are absolute.
func SeedPayload() (Payload, error) {
	p := Payload{Programs: map[string]string{}, Archives: map[string][]string{}}
	for name, item := range seedPrograms() {
		p.Programs["/"+name] = item
	}
	for archive, images := range map[string][]string{"management": seedImages(), ownArchive: {component.SlipwayImage}} {
		p.Archives["/"+path.Join(imageFolder, archive+".tar")] = images
	}
	for _, name := range commonPayload() {
		if err := p.add("common", name); err != nil {
			return p, err
		}
	}
	seed, err := fs.Sub(machineFiles, "machines/"+seedFolder)
	if err != nil {
		return p, err
	}
	err = fs.WalkDir(seed, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return p.add(seedFolder, name)
	})
	return p, err
}

func (p *Payload) add(folder, name string) error {
	text, err := machineFiles.ReadFile(path.Join("machines", folder, name))
	if err != nil {
		return err
	}
	p.Texts = append(p.Texts, Text{Path: "/" + name, Mode: textMode(text), Content: string(fillRefs(text))})
	return nil
}

// textMode is the mode of an embedded file. embed keeps none: what begins as a script is
// executable.
func textMode(text []byte) fs.FileMode {
	if bytes.HasPrefix(text, []byte("#!")) {
		return 0o755
	}
	return 0o644
}

// commonPayload are the files of all machines that a seed needs whoever built its image.
// The others belong to the operating system: its boot loader, its journal, its network.
func commonPayload() []string {
	return []string{
		"etc/modules-load.d/slipway.conf",
		"etc/sysctl.d/90-slipway-network.conf",
		"etc/systemd/networkd.conf.d/slipway.conf",
		"etc/systemd/system/slipway-container.service",
		"usr/libexec/slipway/shadow-settings",
	}
}

// seedPrograms maps paths to recipes. Those that ask Kubernetes have a script of their
// name in usr/local/bin.
func seedPrograms() map[string]string {
	return map[string]string{"usr/local/bin/k3s": "k3s", "usr/local/bin/kustomize": "kustomize",
		"usr/libexec/slipway/helm": "helm", "usr/libexec/slipway/k9s": "k9s"}
}

// seedImages are the images of the seed but for Slipway's own.
func seedImages() []string { return append([]string{"coredns", "pause"}, managementImages()...) }
