package component

import "strings"

// OptionVelero names the option of a bundle that adds Velero.
const OptionVelero = "velero"

// OptionMonitoring names the option that adds Prometheus and what goes with it.
const OptionMonitoring = "monitoring"

// OptionConformance names the option that adds Kubernetes' own tests.
const OptionConformance = "conformance"

// The items of the option OptionConformance: the tests, and the image that most of their pods run.
const (
	ConformanceImage = "conformance"
	TestPodImage     = "agnhost"
)

// OptionIngress names the option that adds Traefik and the Gateway API.
const OptionIngress = "ingress"

// The items of the option OptionIngress.
const (
	TraefikImage       = "traefik"
	GatewayDefinitions = "gateway-api-crds"
)

// OptionFlux names the option that adds Flux.
const OptionFlux = "flux"

// The items of the option OptionFlux: its controllers, and the definitions of each.
const (
	FluxSourceImage          = "flux-source-controller"
	FluxKustomizeImage       = "flux-kustomize-controller"
	FluxSourceDefinitions    = "flux-source-crds"
	FluxKustomizeDefinitions = "flux-kustomize-crds"
)

// OptionCilium names the option that adds Cilium, a pod network.
const OptionCilium = "cilium"

// The items of the option OptionCilium.
const (
	CiliumImage         = "cilium"
	CiliumOperatorImage = "cilium-operator"
)

// ConformanceRepository is where Kubernetes publishes its tests.
const ConformanceRepository = "registry.k8s.io/conformance"

// The items of the option OptionMonitoring.
const (
	PrometheusImage       = "prometheus"
	AlertmanagerImage     = "alertmanager"
	NodeExporterImage     = "node-exporter"
	KubeStateMetricsImage = "kube-state-metrics"
	LokiImage             = "loki"
	LogCollectorImage     = "opentelemetry-collector"
)

// The items of the option OptionVelero.
const (
	VeleroImage       = "velero"
	VeleroPluginImage = "velero-plugin-for-aws"
	VeleroDefinitions = "velero-crds"
)

// Option is what a bundle has only if it is asked for, by name.
type Option struct {
	Name  string
	Items []Component
}

// Options are all of them, in the versions that were tested together.
func Options() []Option { return OptionsOf(DefaultVersions()) }

// OptionsOf are the options in other versions.
func OptionsOf(v Versions) []Option {
	const registry = "docker.io/velero/"
	return []Option{{OptionVelero, []Component{
		image(VeleroImage, v.Velero, registry+"velero", apache),
		image(VeleroPluginImage, v.VeleroPlugin, registry+"velero-plugin-for-aws", apache),
		manifest(VeleroDefinitions, v.Velero, "manifests/velero-crds.yaml"),
	}}, {OptionMonitoring, []Component{
		image(PrometheusImage, v.Prometheus, "quay.io/prometheus/prometheus", apache),
		image(AlertmanagerImage, v.Alertmanager, "quay.io/prometheus/alertmanager", debian),
		image(NodeExporterImage, v.NodeExporter, "quay.io/prometheus/node-exporter", debian),
		image(KubeStateMetricsImage, v.KubeStateMetrics, "registry.k8s.io/kube-state-metrics/kube-state-metrics", apache),
		imageAs(LokiImage, v.Loki, "docker.io/grafana/loki:"+strings.TrimPrefix(v.Loki, "v"), agpl),
		imageAs(LogCollectorImage, v.LogCollector, "ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector-k8s:"+strings.TrimPrefix(v.LogCollector, "v"), apache),
	}}, {OptionConformance, []Component{
		image(ConformanceImage, v.Kubernetes, ConformanceRepository, apache),
		imageAs(TestPodImage, v.Agnhost, "registry.k8s.io/e2e-test-images/agnhost:"+v.Agnhost, apache),
	}}, {OptionIngress, []Component{
		image(TraefikImage, v.Traefik, "docker.io/library/traefik", mit),
		manifest(GatewayDefinitions, v.GatewayAPI, "manifests/gateway-api-crds.yaml"),
	}}, {OptionFlux, []Component{
		image(FluxSourceImage, v.FluxSource, "ghcr.io/fluxcd/source-controller", apache),
		image(FluxKustomizeImage, v.FluxKustomize, "ghcr.io/fluxcd/kustomize-controller", apache),
		manifest(FluxSourceDefinitions, v.FluxSource, "manifests/flux-source-crds.yaml"),
		manifest(FluxKustomizeDefinitions, v.FluxKustomize, "manifests/flux-kustomize-crds.yaml"),
	}}, {OptionCilium, []Component{
		image(CiliumImage, v.Cilium, "quay.io/cilium/cilium", ebpf),
		image(CiliumOperatorImage, v.Cilium, "quay.io/cilium/operator-generic", apache),
	}}}
}

// OptionNames are the names of all options.
func OptionNames() (names []string) {
	for _, option := range Options() {
		names = append(names, option.Name)
	}
	return names
}

// Known is the catalogue with the items of all options.
func Known(v Versions) []Component {
	all := AllOf(v)
	for _, option := range OptionsOf(v) {
		all = append(all, option.Items...)
	}
	return all
}
