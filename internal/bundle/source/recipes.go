package source

import (
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

// recipes lists how everything is made, by name. Names that the catalogue does
// not know are intermediate results.
func recipes() map[string]recipe {
	all := map[string]recipe{}
	for _, part := range []map[string]recipe{
		debianRecipes(), kubernetesRecipes(), k3sRecipes(), runtimeRecipes(), clusterAPIRecipes(),
		certManagerRecipes(), cloudRecipes(), addonRecipes(), veleroRecipes(), monitoringRecipes(), conformanceRecipes(), ingressRecipes(), fluxRecipes(), ciliumRecipes(), toolRecipes(), ownRecipes(), bootRecipes(), machineRecipes(),
	} {
		for name, r := range part {
			all[name] = r
		}
	}
	return all
}

// iptablesLinks are what Debian's install scripts would link.
func iptablesLinks() map[string]string {
	links := map[string]string{}
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		links["usr/sbin/"+name] = "xtables-nft-multi"
	}
	return links
}

func debianRecipes() map[string]recipe {
	return map[string]recipe{
		"debian-certificates": debianTree{Variant: "extract", Packages: []string{"ca-certificates", "tzdata"}},
		baseStatic:            staticBase{Tree: "debian-certificates"},
		// What kube-proxy, flannel and network-policies run: packet filters, their userland, and cp.
		baseNetwork: debianTree{Variant: "extract", Links: iptablesLinks(),
			Packages: []string{"iptables", "ipset", "conntrack", "kmod", "iproute2", "coreutils", "ca-certificates"}},
		// What the Cinder driver runs to make, check, grow and mount file systems.
		baseStorage: debianTree{Variant: "extract",
			Packages: []string{"mount", "util-linux", "e2fsprogs", "xfsprogs", "btrfs-progs", "udev", "coreutils", "ca-certificates"}},
	}
}

// versionVariables are the linker variables of Kubernetes' version packages.
func versionVariables(version string) []string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	var variables []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		variables = append(variables, pkg+".gitVersion="+version, pkg+".gitMajor="+parts[0], pkg+".gitMinor="+parts[1],
			pkg+".gitTreeState=clean", pkg+".gitCommit="+version)
	}
	return variables
}

func kubernetesRecipes() map[string]recipe {
	all := map[string]recipe{
		"pause-program": cProgram{
			moduleFile: moduleFile{Module: "kubernetes", From: "k8s.io/kubernetes", Path: "build/pause/linux/pause.c"},
			Flags:      []string{"-DVERSION=v" + component.PauseVersion}},
		"pause":               container{Files: map[string]string{"/pause": "pause-program"}, Entrypoint: []string{"/pause"}, User: "65535:65535"},
		"kube-proxy-launcher": program{Module: "kubernetes", Package: "./kube-proxy-launcher"},
		"kube-proxy": container{Base: baseNetwork, Files: map[string]string{
			"/usr/local/bin/kube-proxy": "kube-proxy-launcher", "/usr/local/bin/kube-proxy.real": "kube-proxy-program"}},
		"etcd-program":    program{Module: "etcd", Package: "go.etcd.io/etcd/server/v3"},
		"etcdctl-program": program{Module: "etcd", Package: "go.etcd.io/etcd/etcdctl/v3"},
		"etcdutl-program": program{Module: "etcd", Package: "go.etcd.io/etcd/etcdutl/v3"},
		"etcd": container{Base: baseStatic, Files: map[string]string{
			"/usr/local/bin/etcd": "etcd-program", "/usr/local/bin/etcdctl": "etcdctl-program", "/usr/local/bin/etcdutl": "etcdutl-program"}},
		"coredns-program": program{Module: "coredns", Package: "github.com/coredns/coredns"},
		"coredns":         staticImage("coredns-program", "/coredns", nonRoot+":"+nonRoot),
	}
	for _, name := range []string{"kubelet", "kubeadm", "kubectl"} {
		all[name] = kubernetesProgram(name)
	}
	all["kube-proxy-program"] = kubernetesProgram("kube-proxy")
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		all[name+"-program"] = kubernetesProgram(name)
		// kubeadm's static pods name the command themselves.
		all[name] = container{Base: baseStatic, Files: map[string]string{"/usr/local/bin/" + name: name + "-program"}}
	}
	return all
}

func kubernetesProgram(name string) program {
	return program{Module: "kubernetes", Package: "k8s.io/kubernetes/cmd/" + name, Variables: versionVariables(component.KubernetesVersion)}
}

// staticImage is one static program on the static base, run as the entrypoint.
func staticImage(need, path, user string) container {
	return container{Base: baseStatic, Files: map[string]string{path: need}, Entrypoint: []string{path}, User: user}
}

func k3sRecipes() map[string]recipe {
	variables := append(versionVariables(component.K3sVersion), "github.com/k3s-io/k3s/pkg/version.Version="+component.K3sVersion,
		// k3s refuses to start when it was not compiled by the Go that it names.
		"github.com/k3s-io/k3s/pkg/version.UpstreamGolang="+toolchainWord)
	return map[string]recipe{
		// The tags and the SQLite options are those of k3s' own build, but for the
		// resolver: netgo makes one static program run on every distribution.
		"k3s-server": program{Module: "k3s", Package: "github.com/k3s-io/k3s/cmd/server", Cgo: true,
			Tags:      "ctrd providerless urfave_cli_no_docs sqlite_omit_load_extension static_build apparmor seccomp",
			CFlags:    "-DSQLITE_ENABLE_DBSTAT_VTAB=1 -DSQLITE_USE_ALLOCA=1",
			Variables: append(variables, "github.com/containerd/containerd/v2/version.Version="+moduleVersion("k3s", "github.com/k3s-io/containerd/v2"))},
		"k3s-shim": program{Module: "k3s", Package: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"},
		"k3s-cni":  program{Module: "k3s", Package: "./cni"},
		"k3s": k3sBinary{
			program:  program{Module: "k3s", Package: "github.com/k3s-io/k3s/cmd/k3s", Tags: "urfave_cli_no_docs", Variables: variables},
			Programs: map[string]string{"k3s": "k3s-server", "containerd-shim-runc-v2": "k3s-shim", "runc": "runc", "cni": "k3s-cni"},
			Plugins:  "cni-plugins"},
	}
}

// imageImport is the program by which nodes import the images on their disk.
const imageImport = "import-images"

func runtimeRecipes() map[string]recipe {
	const containerd, plugins = "github.com/containerd/containerd/v2", "github.com/containernetworking/plugins"
	all := map[string]recipe{
		"runc": program{Module: "runc", Package: "github.com/opencontainers/runc", Tags: "seccomp", Cgo: true,
			Variables: []string{"main.gitCommit=" + component.RuncVersion}},
		"crictl": program{Module: "cri-tools", Package: "sigs.k8s.io/cri-tools/cmd/crictl",
			Variables: []string{"sigs.k8s.io/cri-tools/pkg/version.Version=" + component.CRIToolsVersion}},
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		all[name] = program{Module: "containerd", Package: containerd + "/cmd/" + name,
			Variables: []string{containerd + "/version.Version=" + component.ContainerdVersion}}
	}
	all[imageImport] = program{Module: "containerd", Package: "./import-images"}
	// Upstream's plugins, and flannel's from the last release that had it.
	archive := map[string]string{"flannel": "cni-flannel"}
	all["cni-flannel"] = program{Module: "cni-flannel", Package: plugins + "/plugins/meta/flannel"}
	for folder, names := range map[string]string{
		"main": "bridge loopback ptp host-device macvlan ipvlan vlan",
		"ipam": "host-local dhcp static",
		"meta": "portmap bandwidth firewall tuning sbr vrf",
	} {
		for _, name := range strings.Fields(names) {
			archive[name] = "cni-" + name
			all["cni-"+name] = program{Module: "cni", Package: plugins + "/plugins/" + folder + "/" + name}
		}
	}
	all["cni-plugins"] = pluginArchive{Plugins: archive}
	return all
}

func clusterAPIRecipes() map[string]recipe {
	const capi, capo, orc = "sigs.k8s.io/cluster-api", "sigs.k8s.io/cluster-api-provider-openstack", "github.com/k-orc/openstack-resource-controller/v2"
	capiVersion := []string{capi + "/version.gitVersion=" + component.ClusterAPIVersion, capi + "/version.gitMajor=1", capi + "/version.gitMinor=12"}
	all := map[string]recipe{
		"cluster-api-controller-program":           program{Module: "cluster", Package: capi, Variables: capiVersion},
		"kubeadm-bootstrap-controller-program":     program{Module: "cluster", Package: capi + "/bootstrap/kubeadm", Variables: capiVersion},
		"kubeadm-control-plane-controller-program": program{Module: "cluster", Package: capi + "/controlplane/kubeadm", Variables: capiVersion},
		"capi-openstack-controller-program": program{Module: "cluster", Package: capo,
			Variables: []string{capo + "/version.gitVersion=" + component.CAPOVersion}},
		"openstack-resource-controller-program": program{Module: "cluster", Package: orc + "/cmd/manager"},
		"openstack-resource-controller-manifest": moduleFile{Module: "cluster", From: orc, Path: "dist/install.yaml",
			Images: map[string]string{"quay.io/orc/openstack-resource-controller": "openstack-resource-controller"}},
	}
	for _, name := range []string{"cluster-api-controller", "kubeadm-bootstrap-controller", "kubeadm-control-plane-controller",
		"capi-openstack-controller", "openstack-resource-controller"} {
		all[name] = staticImage(name+"-program", "/manager", nonRoot+":"+nonRoot)
	}
	provider := func(label, module, path, image, component string) {
		all[label+"-components"] = kustomization{moduleFile{Module: "cluster", From: module, Path: path, Images: map[string]string{image: component}}}
		all[label+"-metadata"] = moduleFile{Module: "cluster", From: module, Path: "metadata.yaml"}
	}
	const staging = "gcr.io/k8s-staging-cluster-api/"
	provider("cluster-api", capi, "config/default", staging+"cluster-api-controller", "cluster-api-controller")
	provider("bootstrap-kubeadm", capi, "bootstrap/kubeadm/config/default", staging+"kubeadm-bootstrap-controller", "kubeadm-bootstrap-controller")
	provider("control-plane-kubeadm", capi, "controlplane/kubeadm/config/default", staging+"kubeadm-control-plane-controller", "kubeadm-control-plane-controller")
	provider("infrastructure-openstack", capo, "config/default", "gcr.io/k8s-staging-capi-openstack/capi-openstack-controller", "capi-openstack-controller")
	return all
}
