package preflight

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/slipway-sh/slipway/internal/kubeversion"
	"github.com/slipway-sh/slipway/internal/localseed"
)

// LocalSeed is what a machine has for a local seed.
type LocalSeed struct {
	localseed.Host
	// Name is the cluster's, Owner the mark of this environment.
	Name, Owner string
	// AuthURL is the cloud's.
	AuthURL string
}

// The minimum for a local seed: kubeadm's control plane with Cluster API uses about 2 GiB; a
// node and the controllers watch more files than a desktop leaves of the kernel's default of
// 128 instances (kind's known issues, "Pod errors due to too many open files").
const (
	minLocalRAM       = 3500 // MiB: a virtual machine of 4 GB has less for itself
	minInotify        = 256
	minInotifyWatches = 65536
	// firstWithoutV1 is the first Kubernetes whose kubelet refuses cgroup v1.
	firstWithoutV1 = "v1.35.0"
)

const localHelp = "docs/get-started/kind.md"

// checkLocalSeed refuses a machine that cannot run the local seed.
func checkLocalSeed(r *run) {
	h := r.LocalSeed
	if !r.seed.IsLocal() || h == nil {
		return
	}
	switch object := firstOf(string(h.Runtime), "container runtime"); {
	case h.Runtime == "":
		r.find(Error, object, "install Docker or Podman, or use a seed in OpenStack: spec.seed.provider: openstack ("+localHelp+")", "the local seed needs one, but %s", h.Problem)
	case h.NoRights:
		r.find(Error, object, "join the group docker and log in again, or run slipway as root, or use rootless Podman ("+localHelp+")", "you may not use it: %s", h.Problem)
	case h.Problem != "":
		r.find(Error, object, "start it, and try "+string(h.Runtime)+" info", "it does not answer: %s", h.Problem)
	default:
		r.find(Info, object, "", "chosen: it runs the local seed")
		r.localLimits(h)
	}
	if u, err := url.Parse(h.AuthURL); err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) {
		r.find(Error, "auth_url "+h.AuthURL, "use an address of the cloud that is reached from elsewhere", "the local seed is a container, where this address is the container itself")
	}
	if h.Cluster != "" && h.Cluster != h.Owner {
		err := localseed.Foreign(h.Name, strings.TrimPrefix(h.Cluster, "-"), h.Owner)
		r.find(Error, "kind cluster "+h.Name, "if nobody needs it, run kind delete cluster --name "+h.Name+"; else run slipway up or slipway down in that environment first", "%s", strings.TrimPrefix(err.Error(), "kind cluster "+h.Name+": "))
	}
}

// localLimits refuses too little memory, low limits of the kernel, and an old cgroup.
func (r *run) localLimits(h *LocalSeed) {
	object := string(h.Runtime)
	if h.MemoryMiB > 0 && h.MemoryMiB < minLocalRAM {
		r.find(Error, object, "give it more; with Docker Desktop or podman machine, give its virtual machine more", "it has %d MiB of memory, the local seed needs %d MiB", h.MemoryMiB, minLocalRAM)
	}
	if h.NoModules {
		r.find(Error, "/lib/modules", "run sudo mkdir -p /lib/modules; it may stay empty", "there is no such folder: kind mounts it into its node, and %s refuses to", h.Runtime)
	}
	for _, limit := range []struct {
		name       string
		has, least int
	}{{"fs.inotify.max_user_instances", h.InotifyInstances, minInotify}, {"fs.inotify.max_user_watches", h.InotifyWatches, minInotifyWatches}} {
		if limit.has > 0 && limit.has < limit.least {
			better := 4 * limit.least
			r.find(Error, limit.name, fmt.Sprintf("run sudo sysctl %s=%d; to keep it, write the same line into /etc/sysctl.d/90-kind.conf", limit.name, better),
				"it is %d, the local seed needs %d: without it pods fail with \"too many open files\"", limit.has, limit.least)
		}
	}
	if h.CgroupV2 {
		return
	}
	version := r.localKubernetes()
	refused, err := kubeversion.Older(version, firstWithoutV1)
	switch {
	case h.Rootless:
		r.find(Error, "cgroup v2", "boot the machine with systemd.unified_cgroup_hierarchy=1, or use the runtime as root", "this machine has cgroup v1 only, and rootless %s cannot run a node without cgroup v2", h.Runtime)
	case err == nil && !refused:
		r.find(Error, "cgroup v2", "boot the machine with systemd.unified_cgroup_hierarchy=1", "this machine has cgroup v1 only, which Kubernetes %s refuses", version)
	}
}

// localKubernetes is the version on the local seed: that of the bundle, or that in the tag of
// the image.
func (r *run) localKubernetes() string {
	if r.seed.Image == "" {
		return r.Bundle.Kubernetes
	}
	name, _, _ := strings.Cut(r.seed.Image, "@")
	return name[strings.LastIndexByte(name, ':')+1:]
}
