package component

import (
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// Upstream is where a component's project publishes it: a file at URL, a
// Member of the archive there, a chart of a Helm repository, or an Image.
type Upstream struct {
	URL    string
	Member string
	// Repository is a Helm repository; its index tells the URL of the Chart
	// whose application has the component's version.
	Repository string
	Chart      string
	Image      string
}

// Upstream returns where the component comes from. It is false for what no
// project publishes as one file, which can only be built.
func (c Component) Upstream() (Upstream, bool) {
	switch c.Kind {
	case bundle.Image:
		return Upstream{Image: c.Ref}, true
	case bundle.Binary:
		return c.upstreamBinary()
	case bundle.Manifest:
		return c.upstreamManifest()
	case bundle.Chart:
		return c.upstreamChart()
	}
	return Upstream{}, false
}

// release is the URL of a file of a GitHub release. The plus sign of a version
// is escaped, because GitHub's own links do so and mirrors copy these.
func release(repository, version, file string) string {
	return fmt.Sprintf("https://github.com/%s/releases/download/%s/%s", repository, strings.ReplaceAll(version, "+", "%2B"), file)
}

func (c Component) upstreamBinary() (Upstream, bool) {
	switch c.Name {
	case "k3s":
		return Upstream{URL: release("k3s-io/k3s", c.Version, "k3s")}, true
	case "kubelet", "kubeadm", "kubectl":
		return Upstream{URL: fmt.Sprintf("https://dl.k8s.io/release/%s/bin/linux/amd64/%s", c.Version, c.Name)}, true
	case "containerd", "containerd-shim-runc-v2", "ctr":
		file := fmt.Sprintf("containerd-%s-linux-amd64.tar.gz", strings.TrimPrefix(c.Version, "v"))
		return Upstream{URL: release("containerd/containerd", c.Version, file), Member: "bin/" + c.Name}, true
	case "runc":
		return Upstream{URL: release("opencontainers/runc", c.Version, "runc.amd64")}, true
	case "crictl":
		file := fmt.Sprintf("crictl-%s-linux-amd64.tar.gz", c.Version)
		return Upstream{URL: release("kubernetes-sigs/cri-tools", c.Version, file), Member: "crictl"}, true
	case "helm":
		return Upstream{URL: fmt.Sprintf("https://get.helm.sh/helm-%s-linux-amd64.tar.gz", c.Version), Member: "linux-amd64/helm"}, true
	case "kustomize":
		// Its repository has several programs, each with tags of its own.
		file := fmt.Sprintf("kustomize_%s_linux_amd64.tar.gz", c.Version)
		return Upstream{URL: release("kubernetes-sigs/kustomize", "kustomize%2F"+c.Version, file), Member: "kustomize"}, true
	case "k9s":
		return Upstream{URL: release("derailed/k9s", c.Version, "k9s_Linux_amd64.tar.gz"), Member: "k9s"}, true
	case "cni-plugins":
		file := fmt.Sprintf("cni-plugins-linux-amd64-%s.tgz", c.Version)
		return Upstream{URL: release("containernetworking/plugins", c.Version, file)}, true
	}
	return Upstream{}, false
}

func (c Component) upstreamManifest() (Upstream, bool) {
	for _, p := range Providers(DefaultVersions()) {
		repository := "kubernetes-sigs/cluster-api"
		if p.Type == "InfrastructureProvider" {
			repository = "kubernetes-sigs/cluster-api-provider-openstack"
		}
		switch c.Name {
		case p.Label + "-components":
			return Upstream{URL: release(repository, c.Version, p.File)}, true
		case p.Label + "-metadata":
			return Upstream{URL: release(repository, c.Version, "metadata.yaml")}, true
		}
	}
	switch c.Name {
	case "cert-manager":
		return Upstream{URL: release("cert-manager/cert-manager", c.Version, "cert-manager.yaml")}, true
	case "openstack-resource-controller-manifest":
		return Upstream{URL: release("k-orc/openstack-resource-controller", c.Version, "install.yaml")}, true
	case GatewayDefinitions:
		return Upstream{URL: release("kubernetes-sigs/gateway-api", c.Version, "standard-install.yaml")}, true
	case FluxSourceDefinitions:
		return Upstream{URL: release("fluxcd/source-controller", c.Version, "source-controller.crds.yaml")}, true
	case FluxKustomizeDefinitions:
		return Upstream{URL: release("fluxcd/kustomize-controller", c.Version, "kustomize-controller.crds.yaml")}, true
	case "flannel-manifest":
		return Upstream{URL: release("flannel-io/flannel", c.Version, "kube-flannel.yml")}, true
	}
	return Upstream{}, false // snapshot-crds are several files of a source tree
}

func (c Component) upstreamChart() (Upstream, bool) {
	chart := strings.TrimSuffix(c.Name, "-chart")
	switch chart {
	case "cert-manager":
		return Upstream{Repository: "https://charts.jetstack.io", Chart: chart}, true
	case "openstack-cloud-controller-manager", "openstack-cinder-csi":
		return Upstream{Repository: "https://kubernetes.github.io/cloud-provider-openstack", Chart: chart}, true
	case "metrics-server":
		return Upstream{Repository: "https://kubernetes-sigs.github.io/metrics-server", Chart: chart}, true
	case "traefik":
		return Upstream{Repository: "https://traefik.github.io/charts", Chart: chart}, true
	case "cilium":
		return Upstream{Repository: "https://helm.cilium.io", Chart: chart}, true
	}
	return Upstream{}, false
}

// String is the place in one line, without what only a request can tell.
func (u Upstream) String() string {
	switch {
	case u.Image != "":
		return u.Image
	case u.Repository != "":
		return u.Repository + " (chart " + u.Chart + ")"
	}
	return u.URL
}
