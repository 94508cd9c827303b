package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
)

// The minimum for k3s with Cluster API and its providers (F22).
const (
	minVCPUs = 2
	minRAM   = 8192 // MiB
	minDisk  = 20   // GiB
)

// seedStep is the step that creates the seed's server.
const seedStep = "seed"

// checkFlavor takes the named flavor, or the large enough one with the least memory
// (F22). The flavor's disk does not matter if the server boots from a volume.
func checkFlavor(r *run) {
	if r.seed.IsLocal() || !r.Snapshot.Known(cloud.Compute, cloud.ListFlavors) {
		return
	}
	if wanted := r.seed.Flavor; wanted != "" {
		if f, ok := pick(r, "flavor", wanted, r.Snapshot.Flavors, func(f cloud.FlavorInfo) (string, string) { return f.ID, f.Name }); ok {
			r.take(f)
			if lack := r.lacks(f); lack != "" {
				r.find(Error, "flavor "+f.Name, "choose a larger one, or leave spec.seed.flavor empty", "it is too small for the seed: %s", lack)
			}
		}
		return
	}
	if f, ok := r.kept(); ok {
		r.take(f)
		r.find(Info, "flavor "+f.Name, "", "kept: the seed has this flavor")
		return
	}
	for _, f := range r.Snapshot.Flavors { // sorted by memory
		if r.lacks(f) == "" {
			r.take(f)
			r.find(Info, "flavor "+f.Name, "", "chosen: it has the least memory of the flavors that are large enough (%d vCPUs, %d MiB of memory, %d GB of disk)", f.VCPUs, f.RAM, f.Disk)
			return
		}
	}
	r.find(Error, "flavor", "ask the cloud's operator for a larger flavor, or set spec.seed.rootVolume if only the disk is too small", "none of %d flavors has %d vCPUs, %d MiB of memory and %d GB of disk", len(r.Snapshot.Flavors), minVCPUs, minRAM, r.needsDisk())
}

// kept returns the flavor that the seed already has: a smaller flavor that appears
// later must not cause a resize of the seed.
func (r *run) kept() (cloud.FlavorInfo, bool) {
	for _, server := range r.Snapshot.Servers {
		if server.Owner == nil || *server.Owner != r.Environment.Mark(seedStep) {
			continue
		}
		for _, f := range r.Snapshot.Flavors {
			if f.Name == server.Flavor {
				return f, true
			}
		}
	}
	return cloud.FlavorInfo{}, false
}

func (r *run) take(f cloud.FlavorInfo) {
	r.flavor = &f
	r.result.Choices.FlavorID, r.result.Choices.FlavorName = f.ID, f.Name
}

func (r *run) needsDisk() int {
	if r.seed.RootVolume != nil {
		return 0
	}
	return minDisk
}

// lacks says what a flavor has too little of.
func (r *run) lacks(f cloud.FlavorInfo) string {
	var lacks []string
	if f.VCPUs < minVCPUs {
		lacks = append(lacks, fmt.Sprintf("%d of %d vCPUs", f.VCPUs, minVCPUs))
	}
	if f.RAM < minRAM {
		lacks = append(lacks, fmt.Sprintf("%d of %d MiB of memory", f.RAM, minRAM))
	}
	if disk := r.needsDisk(); f.Disk < disk {
		lacks = append(lacks, fmt.Sprintf("%d of %d GB of disk", f.Disk, disk))
	}
	return strings.Join(lacks, ", ")
}

// bundleUser is the login user of the bundle's own machine images, and of Debian's.
const bundleUser = "debian"

// checkImage takes the newest active image with the name (S-13), and its login user.
func checkImage(r *run) {
	if r.seed.IsLocal() { // its image is none of the cloud
		return
	}
	c := &r.result.Choices
	if r.seed.Image == "" {
		c.SSHUser = firstOf(r.seed.SSH.User, bundleUser)
		return
	}
	image, listed, ok := r.imageNamed(r.seed.Image, "spec.seed.image")
	if !ok {
		return
	}
	c.ImageID, c.ListedImage = image.ID, listed
	r.seedImage(image)
	object := "image " + image.Name
	if c.SSHUser = firstOf(r.seed.SSH.User, image.AdminUser, loginOf(image.Distro), loginOf(strings.ToLower(image.Name))); c.SSHUser == "" {
		r.find(Error, object, "set the user in spec.seed.ssh.user", "the login user is unknown: the image has neither os_admin_user nor a known os_distro")
	}
	if r.flavor != nil && r.seed.RootVolume == nil && image.MinDisk > r.flavor.Disk {
		r.find(Error, object, "choose a larger flavor, or set spec.seed.rootVolume", "it needs %d GB of disk, flavor %s has %d", image.MinDisk, r.flavor.Name, r.flavor.Disk)
	}
	if root := r.seed.RootVolume; root != nil && image.MinDisk > root.SizeGiB {
		r.find(Error, object, "raise spec.seed.rootVolume.sizeGiB", "it needs %d GB of disk, the root volume has %d", image.MinDisk, root.SizeGiB)
	}
	if r.flavor != nil && image.MinRAM > r.flavor.RAM {
		r.find(Error, object, "choose a larger flavor", "it needs %d MiB of memory, flavor %s has %d", image.MinRAM, r.flavor.Name, r.flavor.RAM)
	}
}

func (r *run) newest(wanted, key string) (cloud.ImageInfo, bool) {
	var found []cloud.ImageInfo
	var names, states []string
	for _, i := range r.Snapshot.Images {
		switch {
		case i.ID != wanted && i.Name != wanted:
			names = append(names, i.Name)
		case i.Status != "active":
			states = append(states, i.Status)
		default:
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		cause := "there is no image with this name or ID"
		if len(states) > 0 {
			cause = "it is not active; its status is " + strings.Join(states, ", ")
		}
		slices.Sort(names)
		r.find(Error, "image "+wanted, "choose "+choices(slices.Compact(names))+", or leave "+key+" empty to use the bundle's", "%s", cause)
		return cloud.ImageInfo{}, false
	}
	newest := slices.MaxFunc(found, func(x, y cloud.ImageInfo) int { return x.CreatedAt.Compare(y.CreatedAt) })
	if len(found) > 1 {
		r.find(Info, "image "+wanted, "", "chosen: %s of %s is the newest of %d", newest.ID, newest.CreatedAt.UTC().Format("2006-01-02"), len(found))
	}
	return newest, true
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// loginOf returns the login user of a distribution's cloud images.
func loginOf(text string) string {
	for _, known := range []struct{ distro, user string }{
		{"ubuntu", "ubuntu"}, {"debian", "debian"}, {"rocky", "rocky"}, {"almalinux", "almalinux"}, {"fedora", "fedora"}, {"centos", "cloud-user"},
		{"rhel", "cloud-user"}, {"flatcar", "core"}, {"opensuse", "opensuse"}, {"sles", "sles"},
	} {
		if strings.HasPrefix(text, known.distro) {
			return known.user
		}
	}
	return ""
}

func checkVolumeTypes(r *run) {
	if !r.Snapshot.Known(cloud.Volume, cloud.ListVolumeTypes) {
		return
	}
	for _, v := range r.volumes() {
		if v.kind != "" && !slices.Contains(r.Snapshot.VolumeTypes, v.kind) && (v.ofSeed || !isID(v.kind)) {
			r.find(r.mistake(v), "volume type "+v.kind, "choose "+choices(r.Snapshot.VolumeTypes)+" in "+v.key+".type", "there is none of this name")
		}
	}
}

// isID reports whether a name has the form of an ID, by which Cinder takes a type, too.
func isID(name string) bool { return len(name) == 36 && strings.Count(name, "-") == 4 }

// volume is a volume of the environment file: the path, type and zone of its settings.
type volume struct {
	key, kind, zone string
	// ofSeed is set if it is the seed's: its type is compared with the name that Cinder tells.
	ofSeed bool
}

// mistake is the level of a setting of a volume that Cinder does not list. It may take others too,
// such as zones with allow_availability_zone_fallback: a cluster that is there is not refused.
func (r *run) mistake(v volume) Level {
	if !v.ofSeed && r.clusterExists() {
		return Warning
	}
	return Error
}

// volumes are those of the seed and of the management cluster's machines.
func (r *run) volumes() []volume {
	var all []volume
	root := func(of string, v *config.RootVolume) {
		if v != nil {
			all = append(all, volume{of + ".rootVolume", v.Type, v.AvailabilityZone, of == "spec.seed"})
		}
	}
	if !r.seed.IsLocal() {
		all = append(all, volume{"spec.seed.dataVolume", r.seed.DataVolume.Type, r.seed.DataVolume.AvailabilityZone, true})
		root("spec.seed", r.seed.RootVolume)
	}
	m := r.spec.ManagementCluster
	if m == nil {
		return all
	}
	root("spec.managementCluster.controlPlane", m.ControlPlane.RootVolume)
	if etcd := m.ControlPlane.EtcdVolume; etcd != nil {
		all = append(all, volume{key: "spec.managementCluster.controlPlane.etcdVolume", kind: etcd.Type})
	}
	for i, group := range m.NodeGroups {
		root(fmt.Sprintf("spec.managementCluster.nodeGroups[%d]", i), group.RootVolume)
	}
	return all
}

func checkKeyPair(r *run) {
	if wanted := r.seed.SSH.KeyPair; wanted != "" && r.Snapshot.Known(cloud.Compute, cloud.ListKeyPairs) {
		pick(r, "key pair", wanted, r.Snapshot.KeyPairs, func(t cloud.Resource) (string, string) { return t.ID, t.Name })
	}
}

// checkLoadBalancer chooses OVN, which needs no machines of its own, only if there is
// no amphora: OVN can neither terminate TLS nor check HTTP. Octavia lists "octavia",
// the old name of amphora, even if there is none. A cluster that exists keeps what it has: CAPO
// refuses another one (pkg/webhooks/openstackcluster_webhook.go).
func checkLoadBalancer(r *run) {
	providers := r.Snapshot.Providers
	const remedy = "ask the cloud's operator for Octavia: the Kubernetes API of every cluster is behind a load balancer"
	kept := r.keptProvider()
	switch {
	case kept != "":
		r.result.Choices.LoadBalancerProvider = kept
	case r.Snapshot.Lacks(cloud.LoadBalancer):
		r.find(Warning, "service load-balancer", remedy, "the cloud has no such service: the seed works without it, but clusters with several control plane nodes do not")
	case !r.Snapshot.Known(cloud.LoadBalancer, cloud.ListProviders):
	case len(providers) == 0:
		r.find(Warning, "service load-balancer", remedy, "no load balancer provider is enabled")
	case slices.Contains(providers, "amphora"):
		r.result.Choices.LoadBalancerProvider = "amphora"
	default:
		others := slices.DeleteFunc(slices.Clone(providers), func(name string) bool { return name == "octavia" })
		r.result.Choices.LoadBalancerProvider = append(others, providers[0])[0]
	}
}

// keptProvider is that of the management cluster's load balancer; empty if there is none yet.
func (r *run) keptProvider() string {
	made := r.balancer()
	if made == nil {
		return ""
	}
	only := r.Snapshot.Known(cloud.LoadBalancer, cloud.ListProviders) && !slices.Contains(r.Snapshot.Providers, "amphora")
	if made.Provider == "octavia" && !only {
		return "amphora"
	}
	return made.Provider
}
