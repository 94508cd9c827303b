package openstackcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
)

const flux = `addons: {flux: {enabled: true}}`

// TestFlux adds one addon: the catalogue's controllers, each with an account of its own, and
// definitions that stay.
func TestFlux(t *testing.T) {
	t.Parallel()
	before, all := addonNames(render(t)), render(t, flux)
	added := slices.DeleteFunc(addonNames(all), func(name string) bool { return slices.Contains(before, name) })
	if !slices.Equal(added, []string{"Manifests flux"}) || len(addonNames(all)) != len(before)+1 {
		t.Errorf("added are %q", added)
	}
	got := applied(t, all, "flux", known(someClouds, nil))
	for _, name := range []string{"source", "kustomize"} {
		image, _ := component.Find("flux-" + name + "-controller")
		pod := at(got.get(t, "Deployment "+name+"-controller"), "spec", "template", "spec")
		want(t, pod, image.Ref, "containers", 0, "image")
		want(t, pod, name+"-controller", "serviceAccountName")
		want(t, pod, `{drop: [ALL]}`, "containers", 0, "securityContext", "capabilities")
	}
	for _, name := range []string{"gitrepositories.source", "ocirepositories.source", "buckets.source", "kustomizations.kustomize"} {
		want(t, got.get(t, "CustomResourceDefinition "+name+".toolkit.fluxcd.io"), `keep`, "metadata", "annotations", "helm.sh/resource-policy")
	}
	want(t, got.get(t, "ClusterRoleBinding slipway:flux-kustomizations"), `[{kind: ServiceAccount, name: kustomize-controller, namespace: flux-system}]`, "subjects")
	refuse(t, `addons: {flux: {enable: true}}`, "enable")
	refuse(t, `addons: {flux: {kustomizeController: {arguments: [a]}}}`, "arguments")
}

// TestFluxAsAsked has options of the programs, images of elsewhere and another namespace.
func TestFluxAsAsked(t *testing.T) {
	t.Parallel()
	got := applied(t, render(t, flux, `
addons:
  flux:
    release: {namespace: gitops}
    sourceController: {image: {repository: corp:5000/source, tag: v1}}
    kustomizeController: {args: ["--default-service-account={{ nobody }}"]}
`), "flux", known(someClouds, nil))
	want(t, got.get(t, "Deployment source-controller"), `corp:5000/source:v1`, "spec", "template", "spec", "containers", 0, "image")
	args, _ := at(got.get(t, "Deployment kustomize-controller"), "spec", "template", "spec", "containers", 0, "args").([]any)
	if !slices.Contains(args, any("--default-service-account={{ nobody }}")) {
		t.Errorf("arguments are %v", args)
	}
	want(t, got.get(t, "RoleBinding source-controller"), `[{kind: ServiceAccount, name: source-controller, namespace: gitops}]`, "subjects")
}

// TestFluxDefinitions are those of the releases that the bundle's controllers are of, to the byte.
func TestFluxDefinitions(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLIPWAY_FLUX")
	if dir == "" {
		t.Skip("SLIPWAY_FLUX names no bundle: run make addons-test")
	}
	var theirs []string
	for _, c := range component.Known(component.DefaultVersions()) {
		if c.Name != component.FluxSourceDefinitions && c.Name != component.FluxKustomizeDefinitions {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.Path)))
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, string(bytes.TrimSpace(text)))
	}
	ours, err := os.ReadFile(filepath.Join("chart", "files", "flux-crds.yaml"))
	if want := strings.Join(theirs, "\n---\n") + "\n"; err != nil || string(ours) != want {
		t.Errorf("chart/files/flux-crds.yaml is not the bundle's: join manifests/flux-*-crds.yaml, sources first (%v)", err)
	}
}
