package component

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// The versions that were tested together and are built from source.
const (
	KubernetesVersion    = "v1.34.4"
	K3sVersion           = "v1.34.1+k3s1"
	ContainerdVersion    = "v2.1.5"
	RuncVersion          = "v1.3.3"
	CNIPluginsVersion    = "v1.8.0"
	CRIToolsVersion      = "v1.34.0"
	EtcdVersion          = "v3.6.5"
	CoreDNSVersion       = "v1.12.1"
	PauseVersion         = "3.10.1"
	ClusterAPIVersion    = "v1.12.3"
	CAPOVersion          = "v0.14.2"
	ORCVersion           = "v2.4.0"
	CertManagerVersion   = "v1.21.2"
	CloudProviderVersion = "v1.34.1"
	MetricsServerVersion = "v0.8.0"
	FlannelVersion       = "v0.28.4"
	FlannelPluginVersion = "v0.9.1"
	// KubeRouterVersion is the one whose network policies k3s has.
	KubeRouterVersion     = "v2.6.1"
	CSIProvisionerVersion = "v5.3.0"
	CSIAttacherVersion    = "v4.12.0"
	CSIResizerVersion     = "v1.14.0"
	CSISnapshotterVersion = "v8.3.0"
	CSIRegistrarVersion   = "v2.15.0"
	CSILivenessVersion    = "v2.17.0"
	HelmVersion           = "v3.19.5"
	KustomizeVersion      = "v5.7.1"
	K9sVersion            = "v0.50.18"
	VeleroVersion         = "v1.18.3"
	VeleroPluginVersion   = "v1.14.3"
	// PrometheusVersion is v0.307.0 of its module.
	PrometheusVersion = "v3.7.0"
	// The versions of Debian bookworm.
	AlertmanagerVersion = "v0.25.0"
	NodeExporterVersion = "v1.5.0"
	// KubeStateMetricsVersion is the release whose client is of our minor version of Kubernetes.
	KubeStateMetricsVersion = "v2.18.0"
	LokiVersion             = "v3.7.8"
	// LogCollectorVersion is that of upstream's collector; its parts have patches of their own.
	LogCollectorVersion = "v0.165.0"
	// AgnhostVersion is what the tests of our version of Kubernetes ask for, in
	// test/utils/image/manifest.go.
	AgnhostVersion = "2.56"
	// TraefikVersion is the one that the newest chart of the module proxy installs.
	TraefikVersion = "v3.7.13"
	// GatewayAPIVersion is the one that this Traefik is compiled with.
	GatewayAPIVersion = "v1.6.1"
	// Those of Flux 2.7, which is for Kubernetes 1.32 to 1.34, that the module proxy serves.
	FluxSourceVersion    = "v1.7.2"
	FluxKustomizeVersion = "v1.7.3"
	// CiliumVersion is that of Cilium's chart, which every bundle has, and of its images.
	CiliumVersion = "v1.20.2"
)

// Versions are the versions of a bundle's parts.
type Versions struct {
	Kubernetes  string
	K3s         string
	Containerd  string
	Runc        string
	CNIPlugins  string
	CRITools    string
	Etcd        string
	CoreDNS     string
	Pause       string
	ClusterAPI  string
	CAPO        string
	ORC         string
	CertManager string
	// CloudProvider is of the cloud controller manager and of Cinder CSI.
	CloudProvider  string
	MetricsServer  string
	Flannel        string
	FlannelPlugin  string
	KubeRouter     string
	CSIProvisioner string
	CSIAttacher    string
	CSIResizer     string
	CSISnapshotter string
	CSIRegistrar   string
	CSILiveness    string
	Helm           string
	Kustomize      string
	K9s            string
	// Velero and its plugin are optional items.
	Velero       string
	VeleroPlugin string
	// Monitoring is optional too.
	Prometheus       string
	Alertmanager     string
	NodeExporter     string
	KubeStateMetrics string
	Loki             string
	LogCollector     string
	// Agnhost is the image of the pods of Kubernetes' own tests, optional as they are.
	Agnhost string
	// Traefik has its chart in every bundle; its image is optional, as the definitions of the
	// Gateway API are.
	Traefik    string
	GatewayAPI string
	// Flux' controllers are optional.
	FluxSource    string
	FluxKustomize string
	// Cilium has its chart in every bundle; its images are optional.
	Cilium string
}

// DefaultVersions are the versions that were tested together.
func DefaultVersions() Versions {
	return Versions{
		Kubernetes:       KubernetesVersion,
		K3s:              K3sVersion,
		Containerd:       ContainerdVersion,
		Runc:             RuncVersion,
		CNIPlugins:       CNIPluginsVersion,
		CRITools:         CRIToolsVersion,
		Etcd:             EtcdVersion,
		CoreDNS:          CoreDNSVersion,
		Pause:            PauseVersion,
		ClusterAPI:       ClusterAPIVersion,
		CAPO:             CAPOVersion,
		ORC:              ORCVersion,
		CertManager:      CertManagerVersion,
		CloudProvider:    CloudProviderVersion,
		MetricsServer:    MetricsServerVersion,
		Flannel:          FlannelVersion,
		FlannelPlugin:    FlannelPluginVersion,
		KubeRouter:       KubeRouterVersion,
		CSIProvisioner:   CSIProvisionerVersion,
		CSIAttacher:      CSIAttacherVersion,
		CSIResizer:       CSIResizerVersion,
		CSISnapshotter:   CSISnapshotterVersion,
		CSIRegistrar:     CSIRegistrarVersion,
		CSILiveness:      CSILivenessVersion,
		Helm:             HelmVersion,
		Kustomize:        KustomizeVersion,
		K9s:              K9sVersion,
		Velero:           VeleroVersion,
		VeleroPlugin:     VeleroPluginVersion,
		Prometheus:       PrometheusVersion,
		Alertmanager:     AlertmanagerVersion,
		NodeExporter:     NodeExporterVersion,
		KubeStateMetrics: KubeStateMetricsVersion,
		Loki:             LokiVersion,
		LogCollector:     LogCollectorVersion,
		Agnhost:          AgnhostVersion,
		Traefik:          TraefikVersion,
		GatewayAPI:       GatewayAPIVersion,
		FluxSource:       FluxSourceVersion,
		FluxKustomize:    FluxKustomizeVersion,
		Cilium:           CiliumVersion,
	}
}

// parts maps the names that users give to the fields.
func (v *Versions) parts() map[string]*string {
	return map[string]*string{
		"kubernetes":                &v.Kubernetes,
		"k3s":                       &v.K3s,
		"containerd":                &v.Containerd,
		"runc":                      &v.Runc,
		"cni-plugins":               &v.CNIPlugins,
		"cri-tools":                 &v.CRITools,
		"etcd":                      &v.Etcd,
		"coredns":                   &v.CoreDNS,
		"pause":                     &v.Pause,
		"cluster-api":               &v.ClusterAPI,
		"capo":                      &v.CAPO,
		"orc":                       &v.ORC,
		"cert-manager":              &v.CertManager,
		"cloud-provider-openstack":  &v.CloudProvider,
		"metrics-server":            &v.MetricsServer,
		"flannel":                   &v.Flannel,
		"flannel-cni-plugin":        &v.FlannelPlugin,
		"kube-router":               &v.KubeRouter,
		"csi-provisioner":           &v.CSIProvisioner,
		"csi-attacher":              &v.CSIAttacher,
		"csi-resizer":               &v.CSIResizer,
		"csi-snapshotter":           &v.CSISnapshotter,
		"csi-node-driver-registrar": &v.CSIRegistrar,
		"livenessprobe":             &v.CSILiveness,
		"helm":                      &v.Helm,
		"kustomize":                 &v.Kustomize,
		"k9s":                       &v.K9s,
		"velero":                    &v.Velero,
		"velero-plugin-for-aws":     &v.VeleroPlugin,
		"prometheus":                &v.Prometheus,
		"alertmanager":              &v.Alertmanager,
		"node-exporter":             &v.NodeExporter,
		"kube-state-metrics":        &v.KubeStateMetrics,
		"loki":                      &v.Loki,
		"opentelemetry-collector":   &v.LogCollector,
		"agnhost":                   &v.Agnhost,
		"traefik":                   &v.Traefik,
		"cilium":                    &v.Cilium,
		"gateway-api":               &v.GatewayAPI,
		"flux-source-controller":    &v.FluxSource,
		"flux-kustomize-controller": &v.FluxKustomize,
	}
}

// With returns the versions with some of them set to others, by part ("capo").
// Unknown parts, malformed versions and versions that do not go together are
// errors, all at once (row S-23).
func (v Versions) With(set map[string]string) (Versions, error) {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(set)) {
		field, ok := v.parts()[name]
		if !ok {
			wrong = append(wrong, fault.Usage("part "+name, errors.New("unknown"), "the parts are "+strings.Join(slices.Sorted(maps.Keys(v.parts())), ", ")))
			continue
		}
		if !semver.IsValid("v" + strings.TrimPrefix(set[name], "v")) {
			wrong = append(wrong, fault.Usage("part "+name, fmt.Errorf("%q is no version", set[name]), "give a full version, such as "+*field))
			continue
		}
		*field = set[name]
	}
	return v, errors.Join(append(wrong, v.Compatible())...)
}

// VersionsIn are the versions of the parts that a bundle holds; parts without
// an item have the default.
func VersionsIn(bill *bundle.Bill) Versions {
	v := DefaultVersions()
	for name, item := range map[string]string{
		"cluster-api": "cluster-api-components", "capo": "infrastructure-openstack-components", "orc": "openstack-resource-controller-manifest",
		"cert-manager": "cert-manager", "kubernetes": "kubelet", "k3s": "k3s",
	} {
		if held := bill.Item(item); held != nil {
			*v.parts()[name] = held.Version
		}
	}
	return v
}
