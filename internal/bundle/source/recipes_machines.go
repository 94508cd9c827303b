package source

import (
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

const baseMachine = "debian-machine"

// The machines without Slipway's own image.
const (
	nodeSystem = "node-system"
	seedSystem = "seed-system"
)

// ownArchive is the archive of Slipway's own image, and ownRoom what is kept free
// for it: several times its size.
const (
	ownArchive = "controllers"
	ownRoom    = 256 << 20
)

func withArchive(system string) lateArchive {
	return lateArchive{System: system, Archive: ownArchive, Images: []string{component.SlipwayImage}}
}

// What machines boot with: GRUB's packages, and GRUB linked for their disks.
const (
	grubTree     = "debian-grub"
	machineBoot  = "machine-boot"
	networkUnits = "systemd-networkd.service systemd-networkd-wait-online.service"
)

// bootRecipes make the boot loader.
func bootRecipes() map[string]recipe {
	p := hostProcessor()
	return map[string]recipe{
		grubTree: debianTree{Variant: "extract", Packages: p.Grub},
		machineBoot: bootLoader{Tree: grubTree, Processor: p, Early: earlyConfig(),
			Modules:     strings.Fields("part_gpt ext2 search search_label normal configfile linux serial terminal echo test"),
			BIOSModules: []string{"biosdisk"}, UEFIModules: strings.Fields("fat efi_gop all_video")},
	}
}

// machineRecipes make the two kinds of machines: the seed, which runs k3s, and
// the nodes of clusters, which kubeadm sets up.
func machineRecipes() map[string]recipe {
	p := hostProcessor()
	units := append([]string{"slipway-container.service"}, strings.Fields(networkUnits)...)
	return map[string]recipe{
		baseMachine: debianTree{Variant: "minbase", Packages: []string{
			"systemd", "systemd-sysv", "dbus", "libpam-systemd", "udev", "cloud-init", "cloud-guest-utils", "openssh-server", "sudo",
			"ca-certificates", "iproute2", "iptables", "nftables", "ipset", "ipvsadm", "conntrack", "ethtool", "socat", "kmod",
			"mount", "util-linux", "e2fsprogs", "xfsprogs", "open-iscsi", "procps", "iputils-ping", "less", "curl",
			// What only machines of their own need: a kernel, name servers, the time.
			p.Kernel, "initramfs-tools", "zstd", "systemd-resolved", "systemd-timesyncd",
		}},
		"node": withArchive(nodeSystem),
		"seed": withArchive(seedSystem),
		nodeSystem: machine{
			Base: baseMachine, Boot: machineBoot, Processor: p, Folders: []string{"common", "node"}, Version: component.KubernetesVersion,
			Programs: map[string]string{
				"usr/local/bin/containerd": "containerd", "usr/local/bin/containerd-shim-runc-v2": "containerd-shim-runc-v2",
				"usr/local/bin/ctr": "ctr", "usr/local/bin/runc": "runc", "usr/local/bin/crictl": "crictl",
				"usr/local/bin/kubelet": "kubelet", "usr/local/bin/kubeadm": "kubeadm", "usr/local/bin/kubectl": "kubectl",
				"usr/libexec/slipway/import-images": imageImport,
			},
			Archives: map[string]string{"opt/cni/bin": "cni-plugins"},
			Images:   map[string][]string{"cluster": clusterImages(), "management": managementImages()},
			Layouts:  true,
			Enable: append(slices.Clone(units), "containerd.service", "slipway-images@cluster.service",
				"slipway-images@management.service", "slipway-images@"+ownArchive+".service", "kubelet.service"),
			Room: ownRoom,
		},
		component.KindNode: kindNode{Module: "kind", machine: machine{
			Base: baseMachine, Folders: []string{"common", "kind"}, Version: component.KubernetesVersion,
			Programs: map[string]string{
				"usr/local/bin/containerd": "containerd", "usr/local/bin/containerd-shim-runc-v2": "containerd-shim-runc-v2",
				"usr/local/bin/ctr": "ctr", "usr/local/sbin/runc": "runc", "usr/local/bin/crictl": "crictl",
				// kind's unit starts the kubelet from here.
				"usr/bin/kubelet": "kubelet", "usr/bin/kubeadm": "kubeadm", "usr/bin/kubectl": "kubectl",
			},
			Archives: map[string]string{"opt/cni/bin": "cni-plugins"},
			Images:   map[string][]string{"cluster": kindImages()},
			Enable:   []string{"slipway-container.service", "containerd.service", "kubelet.service", "undo-mount-hacks.service", "slipway-images.service"},
		}},
		seedSystem: machine{
			Base: baseMachine, Boot: machineBoot, Processor: p, Folders: []string{"common", seedFolder}, Version: component.K3sVersion,
			Programs: seedPrograms(),
			Images:   map[string][]string{"management": seedImages()},
			Enable:   units,
			Room:     ownRoom,
		},
	}
}

// clusterImages are what every cluster made by kubeadm runs.
func clusterImages() []string {
	return []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd", "coredns", "pause",
		"flannel", "flannel-cni-plugin", "network-policies", "openstack-cloud-controller-manager", "cinder-csi-plugin", "csi-provisioner",
		"csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller", "csi-node-driver-registrar", "livenessprobe",
		"metrics-server", "k8s-keystone-auth",
	}
}

// managementImages are what a management cluster runs on top, but for Slipway's
// own image: that changes with each build of the binary, and has an archive of
// its own.
func managementImages() []string {
	return []string{
		"cluster-api-controller", "kubeadm-bootstrap-controller", "kubeadm-control-plane-controller", "capi-openstack-controller",
		"openstack-resource-controller", "cert-manager-controller", "cert-manager-webhook", "cert-manager-cainjector", "cert-manager-acmesolver",
	}
}
