package preflight

import (
	"cmp"
	"errors"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// imageNamed finds the image that a key of the environment file names: one that
// the environment brings, by its name, which is returned; else one of the cloud.
func (r *run) imageNamed(wanted, key string) (info cloud.ImageInfo, listed string, ok bool) {
	for _, i := range r.Images {
		if i.Name == wanted {
			p := i.GlanceProperties()
			return cloud.ImageInfo{Thing: cloud.Thing{Kind: "image", Name: i.Name}, Status: "active", MinDisk: i.MinDisk, MinRAM: i.MinRAM,
				Distro: p[manifest.PropertyDistro], AdminUser: p["os_admin_user"], Properties: p}, i.Name, true
		}
	}
	if !r.Snapshot.Known(cloud.Image, cloud.ListImages) {
		return cloud.ImageInfo{}, "", false
	}
	info, ok = r.newest(wanted, key)
	return info, "", ok
}

// nodeImage chooses the image of the management cluster's nodes, and refuses
// one of which something is not as the cluster wants it: nodes that do not fit
// would show as machines that never join.
func (r *run) nodeImage(m *config.ManagementCluster, chosen *ManagementChoices) {
	const key = "spec.managementCluster.image"
	image, listed, ok := r.imageNamed(m.Image, key)
	if !ok {
		return
	}
	chosen.ImageID, chosen.ListedImage = image.ID, listed
	want := images.Wanted{KubernetesVersion: cmp.Or(m.KubernetesVersion, r.Bundle.Kubernetes), Architecture: r.Bundle.Architecture}
	want.RootDisk, want.RAM = r.leastNode(m, chosen)
	r.disagreements(image, want)
	if image.Properties[manifest.PropertyKubeVersion] == "" && image.Properties[manifest.PropertyKubernetesVersion] == "" && want.KubernetesVersion != "" {
		r.find(Warning, "image "+image.Name+": "+manifest.PropertyKubeVersion, "if it has this version: openstack image set --property "+manifest.PropertyKubeVersion+"="+
			manifest.WithV(want.KubernetesVersion)+" "+cmp.Or(image.ID, image.Name), "it is not set, so that nothing tells whether the image has Kubernetes %s", manifest.WithV(want.KubernetesVersion))
	}
}

// seedImage refuses an image that no seed can have: of other machines, or of
// nodes.
func (r *run) seedImage(image cloud.ImageInfo) {
	r.disagreements(image, images.Wanted{Architecture: r.Bundle.Architecture})
	if version := image.Properties[manifest.PropertyKubeVersion]; version != "" {
		r.find(Error, "image "+image.Name+": "+manifest.PropertyKubeVersion, "leave spec.seed.image empty for the bundle's, or name an image with k3s", "it is %s: this is an image for nodes, and the seed runs k3s", version)
	}
}

// disagreements makes a finding of each property that is not as wanted.
func (r *run) disagreements(image cloud.ImageInfo, want images.Wanted) {
	record := images.Record{ID: image.ID, Name: image.Name, Status: image.Status, MinDisk: image.MinDisk, MinRAM: image.MinRAM, Properties: image.Properties}
	for _, err := range fault.All(images.Disagreements(record, want)) {
		if f := (*fault.Fault)(nil); errors.As(err, &f) {
			r.find(Error, f.Object, f.Remedy, "%v", f.Err)
		}
	}
}

// leastNode is the least disk and memory that one of the cluster's machines
// has; 0 is not known.
func (r *run) leastNode(m *config.ManagementCluster, chosen *ManagementChoices) (disk, ram int) {
	least := func(flavor string, root *config.RootVolume) {
		for _, f := range r.Snapshot.Flavors {
			if f.Name != flavor {
				continue
			}
			has := f.Disk
			if root != nil {
				has = root.SizeGiB
			}
			if disk == 0 || has < disk {
				disk = has
			}
			if ram == 0 || f.RAM < ram {
				ram = f.RAM
			}
		}
	}
	least(chosen.ControlPlaneFlavor, m.ControlPlane.RootVolume)
	for _, group := range m.NodeGroups {
		least(chosen.NodeGroupFlavors[group.Name], group.RootVolume)
	}
	return disk, ram
}
