package images

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Wanted is what a cluster, a template or an upgrade wants of an image. Empty
// fields want nothing.
type Wanted struct {
	// KubernetesVersion, with or without v.
	KubernetesVersion string
	// Distro is the value that os_distro must have.
	Distro string
	// Architecture as Nova calls it, such as x86_64.
	Architecture string
	// Format is the disk format, such as raw.
	Format string
	// RootDisk in GiB and RAM in MiB are what machines will have.
	RootDisk, RAM int
}

// Gate refuses an image that Magnum cannot use, with a fault for each property
// that disagrees or that it lacks. It is pure; templates and upgrades ask it
// before they make anything: a wrong image shows only as a cluster that fails
// much later (magnum-capi-helm looks at kube_version after it answered 202).
func Gate(r Record, want Wanted) error {
	g := &gate{record: r}
	g.status()
	g.distro(want, true)
	g.version(want, true)
	g.sizes(want)
	return errors.Join(g.faults...)
}

// Disagreements refuses an image of which something is not as wanted, with a
// fault for each property; what the image says nothing of is no disagreement.
// It is pure; `up` asks it for the machines that it makes itself.
func Disagreements(r Record, want Wanted) error {
	g := &gate{record: r}
	g.status()
	g.distro(want, false)
	g.version(want, false)
	g.sizes(want)
	return errors.Join(g.faults...)
}

// gate collects the faults of one image.
type gate struct {
	record Record
	faults []error
}

func (g *gate) refuse(property, remedy, cause string, args ...any) {
	g.faults = append(g.faults, fault.New(fmt.Sprintf("%s: %s", g.record.object(), property), fmt.Errorf(cause, args...), remedy))
}

func (g *gate) set(property, value string) string {
	return fmt.Sprintf("run openstack image set --property %s=%s %s, or choose another image", property, value, cmp.Or(g.record.ID, g.record.Name))
}

func (g *gate) status() {
	if !g.record.Active() {
		g.refuse("status", "run slipway image sync, or choose another image", "it is %s", g.record.Status)
	}
}

func (g *gate) distro(want Wanted, needed bool) {
	distro := g.record.Properties[manifest.PropertyDistro]
	switch {
	case distro == "" && needed:
		g.refuse(manifest.PropertyDistro, g.set(manifest.PropertyDistro, cmp.Or(want.Distro, "ubuntu")), "it is not set, but Magnum chooses the driver by it")
	case distro != "" && want.Distro != "" && distro != want.Distro:
		g.refuse(manifest.PropertyDistro, g.set(manifest.PropertyDistro, want.Distro), "it is %s, expected %s", distro, want.Distro)
	}
}

func (g *gate) version(want Wanted, needed bool) {
	if want.KubernetesVersion == "" {
		return
	}
	version, other := KubernetesVersion(g.record), bareVersion(g.record.Properties[manifest.PropertyKubernetesVersion])
	wanted := bareVersion(want.KubernetesVersion)
	differ := func(property, version string) {
		g.refuse(property, "choose the image of v"+wanted, "it is v%s, expected v%s", version, wanted)
	}
	switch {
	case version == "" && needed:
		g.refuse(manifest.PropertyKubeVersion, g.set(manifest.PropertyKubeVersion, "v"+wanted), "it is not set, but the cluster's Kubernetes version comes from it")
	case version == "" && other != "" && other != wanted:
		differ(manifest.PropertyKubernetesVersion, other)
	case version != "" && version != wanted:
		differ(manifest.PropertyKubeVersion, version)
	}
	if other != "" && version != "" && other != version {
		g.refuse(manifest.PropertyKubernetesVersion, g.set(manifest.PropertyKubernetesVersion, "v"+version), "it is v%s, but kube_version is v%s", other, version)
	}
}

func (g *gate) sizes(want Wanted) {
	r := g.record
	if want.Format != "" && r.DiskFormat != want.Format {
		g.refuse("disk_format", "choose or convert another image", "it is %s, expected %s", r.DiskFormat, want.Format)
	}
	if has := r.Properties[manifest.PropertyArchitecture]; has != "" && want.Architecture != "" && has != want.Architecture {
		g.refuse(manifest.PropertyArchitecture, "choose an image for "+want.Architecture, "it is %s, expected %s", has, want.Architecture)
	}
	if want.RootDisk > 0 && r.MinDisk > want.RootDisk {
		g.refuse("min_disk", "choose a larger flavor or root volume", "the image needs %d GiB of disk, but the machines have %d", r.MinDisk, want.RootDisk)
	}
	if want.RAM > 0 && r.MinRAM > want.RAM {
		g.refuse("min_ram", "choose a larger flavor", "the image needs %d MiB of memory, but the machines have %d", r.MinRAM, want.RAM)
	}
}

// KubernetesVersion is the version in the image's kube_version as
// magnum-capi-helm reads it: without v and without anything but digits and
// dots; "" if the image has none.
func KubernetesVersion(r Record) string {
	return bareVersion(r.Properties[manifest.PropertyKubeVersion])
}

func bareVersion(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '.' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.TrimPrefix(text, "v"))
}
