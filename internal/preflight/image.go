package preflight

import (
	"cmp"
	"errors"
	"strings"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// imageNamed finds the image that a key of the environment file names: an image of
// spec.images, whose name is returned, else an image in the cloud.
func (r *run) imageNamed(wanted, key string) (info cloud.ImageInfo, listed string, ok bool) {
	for _, i := range r.Images {
		if i.Name == wanted {
			p := i.GlanceProperties()
			return cloud.ImageInfo{Resource: cloud.Resource{Kind: "image", Name: i.Name}, Status: "active", MinDisk: i.MinDisk, MinRAM: i.MinRAM,
				Distro: p[manifest.PropertyDistro], AdminUser: p["os_admin_user"], Properties: p}, i.Name, true
		}
	}
	if !r.Snapshot.Known(cloud.Image, cloud.ListImages) {
		return cloud.ImageInfo{}, "", false
	}
	info, ok = r.newest(wanted, key)
	return info, "", ok
}

// nodeImage chooses the image of the management cluster's nodes, and refuses one
// that is not fit for the cluster: its machines would never join.
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
		r.find(Warning, "image "+image.Name+": "+manifest.PropertyKubeVersion, "if the image has this version, run openstack image set --property "+manifest.PropertyKubeVersion+"="+
			manifest.WithV(want.KubernetesVersion)+" "+cmp.Or(image.ID, image.Name), "it is not set, so Slipway cannot tell whether the image has Kubernetes %s", manifest.WithV(want.KubernetesVersion))
	}
}

// bundleImage compares the version that the environment file names with that of the bundle's node
// image, which is used if no other is named. kubeadm refuses a kubelet that is newer than the
// control plane, and a version that is newer than its own: no new machine would join.
func (r *run) bundleImage(m *config.ManagementCluster) {
	values, _, _ := unstructured.NestedString(m.Values, "kubernetesVersion")
	wanted, has := manifest.WithV(cmp.Or(values, m.KubernetesVersion)), manifest.WithV(r.Bundle.Kubernetes)
	_, byID := m.Values["machineImageId"]
	_, byName := m.Values["machineImage"]
	if wanted == "" || has == "" || wanted == has || byID || byName {
		return
	}
	const key = "spec.managementCluster.kubernetesVersion"
	remedy := "leave it out or set it to " + has + ", or name a node image with Kubernetes " + wanted + " in spec.managementCluster.image"
	if semver.MajorMinor(wanted) != semver.MajorMinor(has) {
		r.find(Error, key, remedy, "it is %s, but the bundle's node image has Kubernetes %s: its machines could not join", wanted, has)
		return
	}
	r.find(Warning, key, remedy, "it is %s, but the bundle's node image has Kubernetes %s: machines pull the images of the control plane", wanted, has)
}

// seedImage refuses an image that a seed cannot use: one of another architecture,
// or a node image. One that the bundle was not made into gets k3s over SSH.
func (r *run) seedImage(image cloud.ImageInfo) {
	r.disagreements(image, images.Wanted{Architecture: r.Bundle.Architecture})
	version := image.Properties[manifest.PropertyKubeVersion]
	switch {
	case ownSeed(image.Properties):
	case version != "":
		r.find(Error, "image "+image.Name+": "+manifest.PropertyKubeVersion, "leave spec.seed.image empty to use the bundle's image, or name a cloud image of a distribution", "it is %s: this is a node image, but the seed runs k3s", version)
	default:
		r.result.Choices.BringPayload = true
		r.find(Info, "image "+image.Name, "", "it is not the bundle's: slipway up brings k3s, container images and tools to the seed over SSH, about 500 MB")
	}
}

// ownSeed tells the bundle's seed image by the properties that an upload sets: that by up
// has the version of Slipway, that by image sync the version of k3s.
func ownSeed(properties map[string]string) bool {
	return properties["slipway_version"] != "" || strings.Contains(properties[manifest.PropertyKubeVersion], "+k3s")
}

// disagreements adds a finding for each property that does not match.
func (r *run) disagreements(image cloud.ImageInfo, want images.Wanted) {
	record := images.Record{ID: image.ID, Name: image.Name, Status: image.Status, MinDisk: image.MinDisk, MinRAM: image.MinRAM, Properties: image.Properties}
	for _, err := range fault.All(images.Disagreements(record, want)) {
		if f := (*fault.Fault)(nil); errors.As(err, &f) {
			r.find(Error, f.Object, f.Remedy, "%v", f.Err)
		}
	}
}

// leastNode returns the smallest disk and memory of the cluster's machines; 0 is
// unknown.
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
