package source

import "github.com/slipway-sh/slipway/internal/component"

// nobody is the user that upstream's images of Prometheus run as.
const nobody = "65534"

// monitoringRecipes make what watches a management cluster, an option. Prometheus,
// Alertmanager and node-exporter are Debian's, which gives security fixes to the versions
// of its release; kube-state-metrics is compiled. The programs have upstream's paths, so
// that upstream's images do in their place.
func monitoringRecipes() map[string]recipe {
	const variable = "github.com/prometheus/common/version.Version="
	all := map[string]recipe{
		"kube-state-metrics-program":    program{Module: "monitoring", Package: "k8s.io/kube-state-metrics/v2", Variables: []string{variable + component.KubeStateMetricsVersion}},
		component.KubeStateMetricsImage: staticImage("kube-state-metrics-program", "/kube-state-metrics", nobody+":"+nobody),
	}
	for name, of := range map[string]struct {
		pkg, path string
		more      []string
	}{
		component.PrometheusImage: {"prometheus", "bin/prometheus", []string{"usr/bin/promtool",
			// Debian does not link its pages into the program.
			"usr/share/prometheus/", "usr/share/javascript/", "usr/share/nodejs/", "usr/share/fonts"}},
		component.AlertmanagerImage: {"prometheus-alertmanager", "bin/alertmanager", []string{"usr/bin/amtool"}},
		component.NodeExporterImage: {"prometheus-node-exporter", "bin/node_exporter", nil},
	} {
		all[of.pkg+"-tree"] = debianTree{Variant: "extract", Packages: []string{of.pkg}}
		all[of.pkg+"-base"] = staticBase{Tree: "debian-certificates", With: of.pkg + "-tree",
			Paths: append([]string{"usr/bin/" + of.pkg, "lib/", "lib64/", "usr/share/doc/"}, of.more...),
			// Time zones of every year, for programs in JavaScript that Prometheus is not.
			Without: []string{"lib/systemd/", "usr/share/javascript/moment-timezone/data/", "usr/share/nodejs/moment-timezone/data/"},
			Links:   map[string]string{of.path: "/usr/bin/" + of.pkg}}
		all[name] = container{Base: of.pkg + "-base", Entrypoint: []string{"/" + of.path}, User: nobody + ":" + nobody}
	}
	return all
}
