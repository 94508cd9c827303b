package source

import (
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

// nobody is the user that upstream's images of Prometheus run as.
const nobody = "65534"

// lokiUser is the user that upstream's image of Loki runs as.
const lokiUser = "10001"

// monitoringRecipes make what watches a management cluster, an option. Alertmanager and
// node-exporter are Debian's, which gives security fixes to the versions of its release.
// Prometheus and kube-state-metrics are compiled: Debian's Prometheus cannot ask an API
// server for what it is to read. The programs have upstream's paths, so that upstream's
// images do in their place.
func monitoringRecipes() map[string]recipe {
	const variable = "github.com/prometheus/common/version.Version="
	all := map[string]recipe{
		"kube-state-metrics-program":    program{Module: "monitoring", Package: "k8s.io/kube-state-metrics/v2", Variables: []string{variable + component.KubeStateMetricsVersion}},
		"prometheus-program":            program{Module: "monitoring", Package: prometheusModule + "/cmd/prometheus", Variables: []string{variable + strings.TrimPrefix(component.PrometheusVersion, "v")}},
		component.PrometheusImage:       staticImage("prometheus-program", "/bin/prometheus", nobody+":"+nobody),
		component.KubeStateMetricsImage: staticImage("kube-state-metrics-program", "/kube-state-metrics", nobody+":"+nobody),
		"loki-program":                  program{Module: "loki", Package: "github.com/grafana/loki/v3/cmd/loki", Variables: []string{"github.com/grafana/loki/v3/pkg/util/build.Version=" + component.LokiVersion[1:]}},
		"log-collector-program":         program{Module: "collector", Package: "./log-collector", Variables: []string{"main.version=" + component.LogCollectorVersion[1:]}},
		component.LokiImage:             staticImage("loki-program", "/usr/bin/loki", lokiUser+":"+lokiUser),
		// It reads files of root's.
		component.LogCollectorImage: staticImage("log-collector-program", "/otelcol-k8s", "0:0"),
	}
	for name, of := range map[string]struct {
		pkg, path string
		more      []string
	}{
		component.AlertmanagerImage: {"prometheus-alertmanager", "bin/alertmanager", []string{"usr/bin/amtool", "usr/share/prometheus/"}},
		component.NodeExporterImage: {"prometheus-node-exporter", "bin/node_exporter", nil},
	} {
		all[of.pkg+"-tree"] = debianTree{Variant: "extract", Packages: []string{of.pkg}}
		all[of.pkg+"-base"] = staticBase{Tree: "debian-certificates", With: of.pkg + "-tree",
			Paths:   append([]string{"usr/bin/" + of.pkg, "lib/", "lib64/", "usr/share/doc/"}, of.more...),
			Without: []string{"lib/systemd/"},
			Links:   map[string]string{of.path: "/usr/bin/" + of.pkg}}
		all[name] = container{Base: of.pkg + "-base", Entrypoint: []string{"/" + of.path}, User: nobody + ":" + nobody}
	}
	return all
}

const prometheusModule = "github.com/prometheus/prometheus"

// prometheusPatch leaves Prometheus one way to find what it reads, that of Kubernetes,
// besides files and HTTP: each of the others brings the SDK of a cloud. Its pages are made
// by npm and are not in the module, so that it serves its API alone.
func prometheusPatch() patch {
	const plugins = "package plugins\n\nimport _ \"" + prometheusModule + "/discovery/kubernetes\"\n"
	return patch{Module: prometheusModule, Write: map[string]string{"plugins/plugins.go": plugins}}
}
