package openstackcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/slipway-sh/slipway/internal/component"
)

// TestEtcdDefrag is Slipway's command on a control plane, with kubeadm's
// certificates; from a mirror with another tag if told so.
//
// proves: F105
func TestEtcdDefrag(t *testing.T) {
	t.Parallel()
	job := func(text string) any {
		all := applied(t, render(t, text), "etcd-defrag", known(someClouds, nil))
		return at(all.get(t, "CronJob etcd-defrag"), "spec", "jobTemplate", "spec", "template", "spec")
	}
	pod := job(`{}`)
	want(t, pod, `[etcd, defrag]`, "containers", 0, "args")
	want(t, pod, "ghcr.io/slipway-sh/slipway:"+component.SlipwayVersion(), "containers", 0, "image")
	want(t, pod, `[{name: pki, mountPath: /etc/kubernetes/pki/etcd, readOnly: true}]`, "containers", 0, "volumeMounts")
	want(t, pod, `[{name: pki, hostPath: {path: /etc/kubernetes/pki/etcd, type: Directory}}]`, "volumes")
	want(t, pod, `{node-role.kubernetes.io/control-plane: ""}`, "nodeSelector")
	want(t, pod, `true`, "hostNetwork")
	want(t, job(`addons: {etcdDefrag: {image: {repository: "corp:5000/slipway", tag: v1}}}`), `corp:5000/slipway:v1`, "containers", 0, "image")
}

// TestImages are those of the catalogue, so that a bundle has them.
func TestImages(t *testing.T) {
	t.Parallel()
	all := render(t, `addons: {cni: {type: flannel}}`)
	want(t, chartOf(t, all, "ccm-openstack"), `openstack-cloud-controller-manager`, "name")
}

func chartOf(t *testing.T, all objects, name string) any {
	t.Helper()
	return at(all.get(t, "HelmRelease "+name), "spec", "chart")
}

// TestRepositories are where the catalogue's charts come from.
func TestRepositories(t *testing.T) {
	t.Parallel()
	for name, address := range bundled(t, render(t, `addons: {certManager: {enabled: true}}`)) {
		component, ok := component.Find(name + "-chart")
		if !ok {
			t.Fatalf("no chart %s in the catalogue", name)
		}
		upstream, ok := component.Upstream()
		if !ok || upstream.Repository != address.repo || upstream.Chart != name {
			t.Errorf("%s is in %s, the chart takes it from %s", name, upstream.Repository, address.repo)
		}
	}
}

// TestBundledCharts are found without a network: name and version of the
// archives in a bundle are those that the chart asks for.
func TestBundledCharts(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	for name, address := range bundled(t, render(t, `addons: {certManager: {enabled: true}}`)) {
		component, _ := component.Find(name + "-chart")
		archive, err := loader.LoadFile(filepath.Join(dir, filepath.FromSlash(component.Path)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(archive.Metadata.Version, "v"); archive.Name() != name || got != strings.TrimPrefix(address.version, "v") {
			t.Errorf("the bundle has %s %s, the chart asks for %s %s", archive.Name(), got, name, address.version)
		}
	}
}

type address struct{ repo, version string }

// bundled are the charts that a bundle has, by name.
func bundled(t *testing.T, all objects) map[string]address {
	t.Helper()
	found := map[string]address{}
	for _, release := range []string{"ccm-openstack", "csi-cinder", "metrics-server", "cert-manager"} {
		spec := chartOf(t, all, release)
		found[at(spec, "name").(string)] = address{at(spec, "repo").(string), at(spec, "version").(string)}
	}
	return found
}
