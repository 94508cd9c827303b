package source

import "github.com/slipway-sh/slipway/internal/component"

// fluxRecipes make two controllers of Flux, an option: sources, and what applies their
// manifests. No module proxy serves the other two, for Helm releases and for notifications.
// Their group selects Kubernetes' libraries as this repository does.
func fluxRecipes() map[string]recipe {
	const sources, kustomizations = "github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller"
	const definitions = "config/crd/bases/*.yaml"
	return map[string]recipe{
		"flux-source-program":              program{Module: "flux", Package: sources},
		"flux-kustomize-program":           program{Module: "flux", Package: kustomizations},
		component.FluxSourceImage:          staticImage("flux-source-program", "/source-controller", nonRoot+":"+nonRoot),
		component.FluxKustomizeImage:       staticImage("flux-kustomize-program", "/kustomize-controller", nonRoot+":"+nonRoot),
		component.FluxSourceDefinitions:    moduleFile{Module: "flux", From: sources, Path: definitions, Terse: true},
		component.FluxKustomizeDefinitions: moduleFile{Module: "flux", From: kustomizations, Path: definitions, Terse: true},
	}
}
