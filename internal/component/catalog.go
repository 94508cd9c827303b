// Package component lists every part that Slipway installs or puts into a
// bundle, with its version, its licence and where upstream publishes it: the
// bill of materials that bundles and addons share.
package component

import (
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// The SPDX identifiers of the catalogue's licences.
const (
	apache  = "Apache-2.0"
	bsd     = "BSD-3-Clause"
	gplTool = "Apache-2.0 AND GPL-2.0-or-later" // with iptables and friends of Debian
	debian  = "Apache-2.0 AND LicenseRef-Debian"
	mit     = "MIT"
	agpl    = "AGPL-3.0-only"
	ebpf    = "Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause) AND LicenseRef-Debian" // programs for the kernel
)

// Component is one part of the catalogue: what a bundle holds one item of.
type Component struct {
	Name    string
	Kind    bundle.Kind
	Version string
	License string
	// Ref is the reference of an image, as the manifests and charts name it.
	Ref string
	// Path is the item's name within a bundle's folder.
	Path string
	// Unbuildable says why there is no building it from source; empty when there is.
	Unbuildable string
}

// All is the catalogue in the versions that were tested together.
func All() []Component { return AllOf(DefaultVersions()) }

// AllOf is the catalogue in other versions, grouped as people think of it.
func AllOf(v Versions) []Component {
	var all []Component
	for _, group := range [][]Component{
		machines(v), binaries(v), kubernetesImages(v), clusterAPIImages(v), cloudImages(v), addonImages(v),
		providerManifests(v), addonManifests(v), charts(v),
	} {
		all = append(all, group...)
	}
	return all
}

// Find returns the component of that name, be it optional or not.
func Find(name string) (Component, bool) {
	for _, c := range Known(DefaultVersions()) {
		if c.Name == name {
			return c, true
		}
	}
	return Component{}, false
}

func machines(v Versions) []Component {
	return []Component{
		machine("seed", v.K3s),
		machine("node", v.Kubernetes),
	}
}

func machine(name, version string) Component {
	return Component{Name: name, Kind: bundle.Machine, Version: version, License: "Apache-2.0 AND LicenseRef-Debian",
		Path: "machines/" + name + ".raw"}
}

func binaries(v Versions) []Component {
	return []Component{
		binary("k3s", v.K3s, apache),
		binary("kubelet", v.Kubernetes, apache),
		binary("kubeadm", v.Kubernetes, apache),
		binary("kubectl", v.Kubernetes, apache),
		binary("containerd", v.Containerd, apache),
		binary("containerd-shim-runc-v2", v.Containerd, apache),
		binary("ctr", v.Containerd, apache),
		binary("runc", v.Runc, "Apache-2.0 AND LGPL-2.1-only"), // libseccomp is linked in
		binary("crictl", v.CRITools, apache),
		{Name: "cni-plugins", Kind: bundle.Binary, Version: v.CNIPlugins, License: apache, Path: "bin/cni-plugins.tgz"},
		binary("helm", v.Helm, apache),
		binary("kustomize", v.Kustomize, apache),
		binary("k9s", v.K9s, apache),
	}
}

func binary(name, version, license string) Component {
	return Component{Name: name, Kind: bundle.Binary, Version: version, License: license, Path: "bin/" + name}
}

// kubernetesImages are the ones that `kubeadm config images list` names.
func kubernetesImages(v Versions) []Component {
	const registry = "registry.k8s.io/"
	return []Component{
		image("kube-apiserver", v.Kubernetes, registry+"kube-apiserver", apache),
		image("kube-controller-manager", v.Kubernetes, registry+"kube-controller-manager", apache),
		image("kube-scheduler", v.Kubernetes, registry+"kube-scheduler", apache),
		image("kube-proxy", v.Kubernetes, registry+"kube-proxy", gplTool),
		imageAs("etcd", v.Etcd, registry+"etcd:"+strings.TrimPrefix(v.Etcd, "v")+"-0", apache),
		image("coredns", v.CoreDNS, registry+"coredns/coredns", apache),
		image("pause", v.Pause, registry+"pause", apache),
	}
}

func clusterAPIImages(v Versions) []Component {
	const capi = "registry.k8s.io/cluster-api/"
	return []Component{
		image("cluster-api-controller", v.ClusterAPI, capi+"cluster-api-controller", apache),
		image("kubeadm-bootstrap-controller", v.ClusterAPI, capi+"kubeadm-bootstrap-controller", apache),
		image("kubeadm-control-plane-controller", v.ClusterAPI, capi+"kubeadm-control-plane-controller", apache),
		image("capi-openstack-controller", v.CAPO, "registry.k8s.io/capi-openstack/capi-openstack-controller", apache),
		image("openstack-resource-controller", v.ORC, "quay.io/orc/openstack-resource-controller", apache),
		image("cert-manager-controller", v.CertManager, "quay.io/jetstack/cert-manager-controller", apache),
		image("cert-manager-webhook", v.CertManager, "quay.io/jetstack/cert-manager-webhook", apache),
		image("cert-manager-cainjector", v.CertManager, "quay.io/jetstack/cert-manager-cainjector", apache),
		image("cert-manager-acmesolver", v.CertManager, "quay.io/jetstack/cert-manager-acmesolver", apache),
	}
}

func cloudImages(v Versions) []Component {
	const provider, storage = "registry.k8s.io/provider-os/", "registry.k8s.io/sig-storage/"
	return []Component{
		image("openstack-cloud-controller-manager", v.CloudProvider, provider+"openstack-cloud-controller-manager", apache),
		image("cinder-csi-plugin", v.CloudProvider, provider+"cinder-csi-plugin", gplTool),
		image("csi-provisioner", v.CSIProvisioner, storage+"csi-provisioner", apache),
		image("csi-attacher", v.CSIAttacher, storage+"csi-attacher", apache),
		image("csi-resizer", v.CSIResizer, storage+"csi-resizer", apache),
		image("csi-snapshotter", v.CSISnapshotter, storage+"csi-snapshotter", apache),
		image("snapshot-controller", v.CSISnapshotter, storage+"snapshot-controller", apache),
		image("csi-node-driver-registrar", v.CSIRegistrar, storage+"csi-node-driver-registrar", apache),
		image("livenessprobe", v.CSILiveness, storage+"livenessprobe", apache),
		image("k8s-keystone-auth", v.CloudProvider, "ghcr.io/slipway-sh/k8s-keystone-auth", apache),
	}
}

func addonImages(v Versions) []Component {
	return []Component{
		imageAs(KindNode, v.Kubernetes, "slipway.sh/kind-node:"+v.Kubernetes, "Apache-2.0 AND LicenseRef-Debian"),
		imageAs(SlipwayImage, SlipwayVersion(), "ghcr.io/slipway-sh/slipway:"+SlipwayVersion(), apache),
		image("metrics-server", v.MetricsServer, "registry.k8s.io/metrics-server/metrics-server", apache),
		image("flannel", v.Flannel, "ghcr.io/flannel-io/flannel", gplTool),
		image("flannel-cni-plugin", v.FlannelPlugin, "ghcr.io/flannel-io/flannel-cni-plugin", gplTool),
		image("network-policies", v.KubeRouter, "ghcr.io/slipway-sh/network-policies", gplTool),
	}
}

func image(name, version, repository, license string) Component {
	return imageAs(name, version, repository+":"+version, license)
}

func imageAs(name, version, ref, license string) Component {
	return Component{Name: name, Kind: bundle.Image, Version: version, License: license, Ref: ref}
}

// SeedComponents are what a seed needs until Cluster API runs on it.
func SeedComponents() []Component {
	v := DefaultVersions()
	all := append(clusterAPIImages(v), providerManifests(v)...)
	return append(all, machine("seed", v.K3s), binary("k3s", v.K3s, apache))
}

// LocalSeedComponents are what a local seed needs instead.
func LocalSeedComponents() []Component {
	v := DefaultVersions()
	node, _ := Find(KindNode)
	return append(append(clusterAPIImages(v), providerManifests(v)...), node)
}

// NodeComponents are what nodes of clusters need that boot the bundle's image.
func NodeComponents() []Component {
	return []Component{machine("node", DefaultVersions().Kubernetes)}
}

// Provider is a clusterctl provider in the bundle's local repository.
type Provider struct {
	// Name and Type are clusterctl's: "kubeadm" and "BootstrapProvider".
	Name, Type string
	// Label is clusterctl's folder name, "bootstrap-kubeadm".
	Label string
	// Version is the release, and the name of the folder below the label.
	Version string
	// File is the components file that clusterctl asks for.
	File string
}

// Providers lists what `clusterctl init` needs for a management cluster on
// OpenStack, in the given versions.
func Providers(v Versions) []Provider {
	return []Provider{
		{"cluster-api", "CoreProvider", "cluster-api", v.ClusterAPI, "core-components.yaml"},
		{"kubeadm", "BootstrapProvider", "bootstrap-kubeadm", v.ClusterAPI, "bootstrap-components.yaml"},
		{"kubeadm", "ControlPlaneProvider", "control-plane-kubeadm", v.ClusterAPI, "control-plane-components.yaml"},
		{"openstack", "InfrastructureProvider", "infrastructure-openstack", v.CAPO, "infrastructure-components.yaml"},
	}
}

// ProviderDir is the folder of the local clusterctl repository in a bundle.
const ProviderDir = "providers"

func providerManifests(v Versions) []Component {
	var all []Component
	for _, p := range Providers(v) {
		dir := fmt.Sprintf("%s/%s/%s/", ProviderDir, p.Label, p.Version)
		all = append(all,
			manifest(p.Label+"-components", p.Version, dir+p.File),
			manifest(p.Label+"-metadata", p.Version, dir+"metadata.yaml"))
	}
	return append(all,
		// clusterctl finds cert-manager in the same repository, and takes its
		// version from the folder (cert_manager.go of clusterctl).
		manifest("cert-manager", v.CertManager, ProviderDir+"/cert-manager/"+v.CertManager+"/cert-manager.yaml"),
		manifest("openstack-resource-controller-manifest", v.ORC, "manifests/openstack-resource-controller.yaml"))
}

func addonManifests(v Versions) []Component {
	return []Component{
		manifest("flannel-manifest", v.Flannel, "manifests/kube-flannel.yaml"),
		manifest("snapshot-crds", v.CSISnapshotter, "manifests/snapshot-crds.yaml"),
	}
}

func manifest(name, version, path string) Component {
	return Component{Name: name, Kind: bundle.Manifest, Version: version, License: apache, Path: path}
}

func charts(v Versions) []Component {
	return []Component{
		chart("cert-manager-chart", v.CertManager, "cert-manager"),
		chart("openstack-cloud-controller-manager-chart", v.CloudProvider, "openstack-cloud-controller-manager"),
		chart("openstack-cinder-csi-chart", v.CloudProvider, "openstack-cinder-csi"),
		chart("metrics-server-chart", v.MetricsServer, "metrics-server"),
		chart("traefik-chart", v.Traefik, "traefik"),
		chart("cilium-chart", v.Cilium, "cilium"),
	}
}

func chart(name, version, file string) Component {
	return Component{Name: name, Kind: bundle.Chart, Version: version, License: apache,
		Path: fmt.Sprintf("charts/%s-%s.tgz", file, strings.TrimPrefix(version, "v"))}
}
