// Package addons is what Slipway puts on machines and clusters. The catalogue
// in this file names every part with its version; the folders below hold what
// runs on clusters, each with its own manifests or chart.
package addons

import (
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// The versions that were tested together. Compatible tells which others go
// together too.
const (
	KubernetesVersion  = "v1.34.4"
	K3sVersion         = "v1.34.1+k3s1"
	ContainerdVersion  = "v2.1.5"
	RuncVersion        = "v1.3.3"
	CNIPluginsVersion  = "v1.8.0"
	CRIToolsVersion    = "v1.34.0"
	EtcdVersion        = "v3.6.5"
	CoreDNSVersion     = "v1.12.1"
	PauseVersion       = "3.10.1"
	ClusterAPIVersion  = "v1.12.3"
	CAPOVersion        = "v0.14.2"
	ORCVersion         = "v2.4.0"
	CertManagerVersion = "v1.21.2"
	// CloudProviderVersion is of the cloud controller manager and of Cinder CSI.
	CloudProviderVersion  = "v1.34.1"
	MetricsServerVersion  = "v0.8.0"
	FlannelVersion        = "v0.28.4"
	FlannelPluginVersion  = "v0.9.1"
	CSIProvisionerVersion = "v5.3.0"
	CSIAttacherVersion    = "v4.12.0"
	CSIResizerVersion     = "v1.14.0"
	CSISnapshotterVersion = "v8.3.0"
	CSIRegistrarVersion   = "v2.15.0"
	CSILivenessVersion    = "v2.17.0"
)

// The SPDX identifiers of the catalogue's licences.
const (
	apache  = "Apache-2.0"
	bsd     = "BSD-3-Clause"
	gplTool = "Apache-2.0 AND GPL-2.0-or-later" // with iptables and friends of Debian
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

// Components is the catalogue, grouped as people think of it.
func Components() []Component {
	var all []Component
	for _, group := range [][]Component{
		machines(), binaries(), kubernetesImages(), clusterAPIImages(), cloudImages(), addonImages(),
		providerManifests(), addonManifests(), charts(),
	} {
		all = append(all, group...)
	}
	return all
}

// Find returns the component of that name.
func Find(name string) (Component, bool) {
	for _, c := range Components() {
		if c.Name == name {
			return c, true
		}
	}
	return Component{}, false
}

func machines() []Component {
	return []Component{
		machine("seed", K3sVersion),
		machine("node", KubernetesVersion),
	}
}

func machine(name, version string) Component {
	return Component{Name: name, Kind: bundle.Machine, Version: version, License: "Apache-2.0 AND LicenseRef-Debian",
		Path: "machines/" + name + ".raw"}
}

func binaries() []Component {
	return []Component{
		binary("k3s", K3sVersion, apache),
		binary("kubelet", KubernetesVersion, apache),
		binary("kubeadm", KubernetesVersion, apache),
		binary("kubectl", KubernetesVersion, apache),
		binary("containerd", ContainerdVersion, apache),
		binary("containerd-shim-runc-v2", ContainerdVersion, apache),
		binary("ctr", ContainerdVersion, apache),
		binary("runc", RuncVersion, "Apache-2.0 AND LGPL-2.1-only"), // libseccomp is linked in
		binary("crictl", CRIToolsVersion, apache),
		{Name: "cni-plugins", Kind: bundle.Binary, Version: CNIPluginsVersion, License: apache, Path: "bin/cni-plugins.tgz"},
	}
}

func binary(name, version, license string) Component {
	return Component{Name: name, Kind: bundle.Binary, Version: version, License: license, Path: "bin/" + name}
}

// kubernetesImages are the ones that `kubeadm config images list` names.
func kubernetesImages() []Component {
	const registry = "registry.k8s.io/"
	return []Component{
		image("kube-apiserver", KubernetesVersion, registry+"kube-apiserver", apache),
		image("kube-controller-manager", KubernetesVersion, registry+"kube-controller-manager", apache),
		image("kube-scheduler", KubernetesVersion, registry+"kube-scheduler", apache),
		image("kube-proxy", KubernetesVersion, registry+"kube-proxy", gplTool),
		imageAs("etcd", EtcdVersion, registry+"etcd:3.6.5-0", apache),
		image("coredns", CoreDNSVersion, registry+"coredns/coredns", apache),
		image("pause", PauseVersion, registry+"pause", apache),
	}
}

func clusterAPIImages() []Component {
	const capi = "registry.k8s.io/cluster-api/"
	return []Component{
		image("cluster-api-controller", ClusterAPIVersion, capi+"cluster-api-controller", apache),
		image("kubeadm-bootstrap-controller", ClusterAPIVersion, capi+"kubeadm-bootstrap-controller", apache),
		image("kubeadm-control-plane-controller", ClusterAPIVersion, capi+"kubeadm-control-plane-controller", apache),
		image("capi-openstack-controller", CAPOVersion, "registry.k8s.io/capi-openstack/capi-openstack-controller", apache),
		image("openstack-resource-controller", ORCVersion, "quay.io/orc/openstack-resource-controller", apache),
		image("cert-manager-controller", CertManagerVersion, "quay.io/jetstack/cert-manager-controller", apache),
		image("cert-manager-webhook", CertManagerVersion, "quay.io/jetstack/cert-manager-webhook", apache),
		image("cert-manager-cainjector", CertManagerVersion, "quay.io/jetstack/cert-manager-cainjector", apache),
		image("cert-manager-acmesolver", CertManagerVersion, "quay.io/jetstack/cert-manager-acmesolver", apache),
	}
}

func cloudImages() []Component {
	const provider, storage = "registry.k8s.io/provider-os/", "registry.k8s.io/sig-storage/"
	return []Component{
		image("openstack-cloud-controller-manager", CloudProviderVersion, provider+"openstack-cloud-controller-manager", apache),
		image("cinder-csi-plugin", CloudProviderVersion, provider+"cinder-csi-plugin", gplTool),
		image("csi-provisioner", CSIProvisionerVersion, storage+"csi-provisioner", apache),
		image("csi-attacher", CSIAttacherVersion, storage+"csi-attacher", apache),
		image("csi-resizer", CSIResizerVersion, storage+"csi-resizer", apache),
		image("csi-snapshotter", CSISnapshotterVersion, storage+"csi-snapshotter", apache),
		image("snapshot-controller", CSISnapshotterVersion, storage+"snapshot-controller", apache),
		image("csi-node-driver-registrar", CSIRegistrarVersion, storage+"csi-node-driver-registrar", apache),
		image("livenessprobe", CSILivenessVersion, storage+"livenessprobe", apache),
	}
}

func addonImages() []Component {
	return []Component{
		image("metrics-server", MetricsServerVersion, "registry.k8s.io/metrics-server/metrics-server", apache),
		image("flannel", FlannelVersion, "ghcr.io/flannel-io/flannel", gplTool),
		image("flannel-cni-plugin", FlannelPluginVersion, "ghcr.io/flannel-io/flannel-cni-plugin", gplTool),
	}
}

func image(name, version, repository, license string) Component {
	return imageAs(name, version, repository+":"+version, license)
}

func imageAs(name, version, ref, license string) Component {
	return Component{Name: name, Kind: bundle.Image, Version: version, License: license, Ref: ref}
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

// Providers lists what `clusterctl init` needs for a management cluster on OpenStack.
func Providers() []Provider {
	return []Provider{
		{"cluster-api", "CoreProvider", "cluster-api", ClusterAPIVersion, "core-components.yaml"},
		{"kubeadm", "BootstrapProvider", "bootstrap-kubeadm", ClusterAPIVersion, "bootstrap-components.yaml"},
		{"kubeadm", "ControlPlaneProvider", "control-plane-kubeadm", ClusterAPIVersion, "control-plane-components.yaml"},
		{"openstack", "InfrastructureProvider", "infrastructure-openstack", CAPOVersion, "infrastructure-components.yaml"},
	}
}

// ProviderDir is the folder of the local clusterctl repository in a bundle.
const ProviderDir = "providers"

func providerManifests() []Component {
	var all []Component
	for _, p := range Providers() {
		dir := fmt.Sprintf("%s/%s/%s/", ProviderDir, p.Label, p.Version)
		all = append(all,
			manifest(p.Label+"-components", p.Version, dir+p.File),
			manifest(p.Label+"-metadata", p.Version, dir+"metadata.yaml"))
	}
	return append(all,
		// clusterctl finds cert-manager in the same repository, and takes its
		// version from the folder (cert_manager.go of clusterctl).
		manifest("cert-manager", CertManagerVersion, ProviderDir+"/cert-manager/"+CertManagerVersion+"/cert-manager.yaml"),
		manifest("openstack-resource-controller-manifest", ORCVersion, "manifests/openstack-resource-controller.yaml"))
}

func addonManifests() []Component {
	return []Component{
		manifest("flannel-manifest", FlannelVersion, "manifests/kube-flannel.yaml"),
		manifest("snapshot-crds", CSISnapshotterVersion, "manifests/snapshot-crds.yaml"),
	}
}

func manifest(name, version, path string) Component {
	return Component{Name: name, Kind: bundle.Manifest, Version: version, License: apache, Path: path}
}

func charts() []Component {
	return []Component{
		chart("cert-manager-chart", CertManagerVersion, "cert-manager"),
		chart("openstack-cloud-controller-manager-chart", CloudProviderVersion, "openstack-cloud-controller-manager"),
		chart("openstack-cinder-csi-chart", CloudProviderVersion, "openstack-cinder-csi"),
		chart("metrics-server-chart", MetricsServerVersion, "metrics-server"),
	}
}

func chart(name, version, file string) Component {
	return Component{Name: name, Kind: bundle.Chart, Version: version, License: apache,
		Path: fmt.Sprintf("charts/%s-%s.tgz", file, strings.TrimPrefix(version, "v"))}
}
