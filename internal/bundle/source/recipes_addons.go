package source

import (
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
)

// certManagerRecipes make cert-manager from its root module: the commands are
// modules of their own upstream, which are not served, so ours start the same
// controllers and webhook. Ours lie below cert-manager's module path, because
// what they start is internal to it.
func certManagerRecipes() map[string]recipe {
	const module = "github.com/cert-manager/cert-manager"
	version := []string{module + "/pkg/util.AppVersion=" + component.CertManagerVersion}
	all := map[string]recipe{
		"cert-manager-chart": chartArchive{
			moduleFile: moduleFile{Module: "cert-manager", From: module, Path: "deploy/charts/cert-manager"},
			Patch: patch{Replace: []replacement{
				{"Chart.yaml", "version: v0.0.0\nappVersion: v0.0.0", "version: " + component.CertManagerVersion + "\nappVersion: " + component.CertManagerVersion}}},
		},
		"cert-manager": renderedChart{Chart: "cert-manager-chart", Namespace: "cert-manager",
			Values: map[string]any{
				"crds":    map[string]any{"enabled": true},
				"creator": "static", // as upstream's own manifest: no labels of Helm
				// Its image is upstream's command only, which waits for the webhook;
				// clusterctl waits by itself.
				"startupapicheck": map[string]any{"enabled": false},
				// All else waits for it; upstream looks after 5 s, then every 5 s.
				"webhook": map[string]any{"readinessProbe": map[string]any{"initialDelaySeconds": 1, "periodSeconds": 1}},
			},
			Images: []string{"cert-manager-controller", "cert-manager-webhook", "cert-manager-cainjector"}},
	}
	for _, name := range []string{"controller", "webhook", "cainjector", "acmesolver"} {
		all["cert-manager-"+name+"-program"] = program{Module: "cert-manager", Package: "./" + name, Variables: version}
		all["cert-manager-"+name] = staticImage("cert-manager-"+name+"-program", "/app/cmd/"+name+"/"+name, nonRoot+":"+nonRoot)
	}
	return all
}

func cloudRecipes() map[string]recipe {
	const provider, csi = "k8s.io/cloud-provider-openstack", "github.com/kubernetes-csi/"
	version := []string{"k8s.io/component-base/version.gitVersion=" + component.CloudProviderVersion, provider + "/pkg/version.Version=" + component.CloudProviderVersion}
	all := map[string]recipe{
		"openstack-cloud-controller-manager-program": program{Module: "cluster", Package: provider + "/cmd/openstack-cloud-controller-manager", Variables: version},
		"cinder-csi-plugin-program":                  program{Module: "cluster", Package: provider + "/cmd/cinder-csi-plugin", Variables: version},
		// Upstream's images have no entry point: charts and manifests name the
		// program as the first argument.
		"openstack-cloud-controller-manager": container{Base: baseStatic, Cmd: []string{"/bin/openstack-cloud-controller-manager"},
			Files: map[string]string{"/bin/openstack-cloud-controller-manager": "openstack-cloud-controller-manager-program"}},
		"cinder-csi-plugin": container{Base: baseStorage, Cmd: []string{"/bin/cinder-csi-plugin"},
			Files: map[string]string{"/bin/cinder-csi-plugin": "cinder-csi-plugin-program"}},
		"k8s-keystone-auth-program": program{Module: "cluster", Package: "./k8s-keystone-auth", Variables: version},
		// As root: the key that it serves with is the API server's.
		"k8s-keystone-auth": staticImage("k8s-keystone-auth-program", "/k8s-keystone-auth", ""),
		"openstack-cloud-controller-manager-chart": chartArchive{
			moduleFile: moduleFile{Module: "cluster", From: provider, Path: "charts/openstack-cloud-controller-manager"},
			Patch:      controllerManagerPatch()},
		"openstack-cinder-csi-chart": chartArchive{
			moduleFile: moduleFile{Module: "cluster", From: provider, Path: "charts/cinder-csi-plugin"},
			Patch: patch{Replace: []replacement{
				{"Chart.yaml", "appVersion: v1.34.0", "appVersion: " + component.CloudProviderVersion},
				{"values.yaml", "tag: v4.10.0", "tag: " + component.CSIAttacherVersion},
			}}},
	}
	for name, pkg := range map[string]string{
		"csi-provisioner":           csi + "external-provisioner/v5/cmd/csi-provisioner",
		"csi-attacher":              csi + "external-attacher/v4/cmd/csi-attacher",
		"csi-resizer":               csi + "external-resizer/cmd/csi-resizer",
		"csi-snapshotter":           csi + "external-snapshotter/v8/cmd/csi-snapshotter",
		"snapshot-controller":       csi + "external-snapshotter/v8/cmd/snapshot-controller",
		"csi-node-driver-registrar": "./csi-node-driver-registrar",
		"livenessprobe":             "./livenessprobe",
	} {
		component, _ := component.Find(name)
		all[name+"-program"] = program{Module: "cluster", Package: pkg, Variables: []string{"main.version=" + component.Version}}
		// As upstream: these run as root, because they open sockets of the kubelet.
		all[name] = staticImage(name+"-program", "/"+name, "")
	}
	return all
}

// controllerManagerPatch takes the place of the library chart that upstream's
// depends on for one template; it is not in the module.
func controllerManagerPatch() patch {
	const labels = `{{- define "common.labels.standard" -}}
app.kubernetes.io/name: {{ include "occm.name" . }}
helm.sh/chart: {{ include "occm.chart" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
`
	return patch{
		Write: map[string]string{"templates/_labels.tpl": labels},
		Replace: []replacement{
			{"Chart.yaml", "appVersion: v1.34.0", "appVersion: " + component.CloudProviderVersion},
			{"Chart.yaml", "dependencies:\n  - name: common\n    version: 2.14.1\n    repository: https://charts.bitnami.com/bitnami\n", ""},
		},
	}
}

func addonRecipes() map[string]recipe {
	const flannel, metrics, snapshot = "github.com/flannel-io/flannel", "sigs.k8s.io/metrics-server", "github.com/kubernetes-csi/external-snapshotter/client/v8"
	return map[string]recipe{
		"flannel-program": program{Module: "cluster", Package: flannel, Variables: []string{flannel + "/pkg/version.Version=" + component.FlannelVersion}},
		"flannel": container{Base: baseNetwork, Entrypoint: []string{"/opt/bin/flanneld"},
			Files: map[string]string{"/opt/bin/flanneld": "flannel-program"}},
		"flannel-cni-plugin": container{Base: baseNetwork, Files: map[string]string{"/flannel": "cni-flannel"}},
		// What flannel leaves to others, compiled with k3s' modules, of which it is a part.
		"network-policies-program": program{Module: "k3s", Package: "./network-policies"},
		"network-policies": container{Base: baseNetwork, Entrypoint: []string{"/network-policies"},
			Files: map[string]string{"/network-policies": "network-policies-program"}},
		"flannel-manifest": moduleFile{Module: "cluster", From: flannel, Path: "Documentation/kube-flannel.yml",
			Images: map[string]string{"ghcr.io/flannel-io/flannel": "flannel", "ghcr.io/flannel-io/flannel-cni-plugin": "flannel-cni-plugin"}},
		"snapshot-crds": moduleFile{Module: "cluster", From: snapshot, Path: "config/crd/snapshot.storage.k8s.io_volumesnapshot*.yaml"},
		"metrics-server-program": program{Module: "cluster", Package: metrics + "/cmd/metrics-server",
			Variables: []string{"k8s.io/component-base/version.gitVersion=" + component.MetricsServerVersion}},
		"metrics-server": staticImage("metrics-server-program", "/metrics-server", nonRoot),
		"metrics-server-chart": chartArchive{
			moduleFile: moduleFile{Module: "cluster", From: metrics, Path: "charts/metrics-server"},
			Patch: patch{Replace: []replacement{
				{"Chart.yaml", "appVersion: 0.7.2", "appVersion: " + strings.TrimPrefix(component.MetricsServerVersion, "v")}}}},
	}
}
