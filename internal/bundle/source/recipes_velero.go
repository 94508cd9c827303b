package source

import "github.com/slipway-sh/slipway/internal/component"

// veleroRecipes make Velero, an option. Its group selects Kubernetes' libraries as
// "cluster" does instead of upstream's v0.33.12: no module proxy serves all of those, and
// most packages are compiled already.
func veleroRecipes() map[string]recipe {
	const module, plugin = "github.com/vmware-tanzu/velero", "github.com/vmware-tanzu/velero-plugin-for-aws"
	return map[string]recipe{
		"velero-program": program{Module: "velero", Package: module + "/cmd/velero", Variables: []string{
			module + "/pkg/buildinfo.Version=" + component.VeleroVersion, module + "/pkg/buildinfo.GitSHA=" + component.VeleroVersion,
			module + "/pkg/buildinfo.GitTreeState=clean", module + "/pkg/buildinfo.ImageRegistry=velero"}},
		"velero-aws-program":        program{Module: "velero", Package: plugin + "/velero-plugin-for-aws"},
		"velero-copy-program":       program{Module: "velero", Package: plugin + "/hack/cp-plugin"},
		component.VeleroImage:       staticImage("velero-program", "/velero", nonRoot+":"+nonRoot),
		component.VeleroDefinitions: moduleFile{Module: "velero", From: module, Path: "config/crd/*/bases/*.yaml"},
		// As upstream: a container of the pod copies the plugin to where Velero looks for it.
		component.VeleroPluginImage: container{Base: baseStatic, User: nonRoot + ":" + nonRoot,
			Files:      map[string]string{"/bin/cp-plugin": "velero-copy-program", "/plugins/velero-plugin-for-aws": "velero-aws-program"},
			Entrypoint: []string{"/bin/cp-plugin", "/plugins/velero-plugin-for-aws", "/target/velero-plugin-for-aws"}},
	}
}
