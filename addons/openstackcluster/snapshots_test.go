package openstackcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

const snapshots = `addons: {openstack: {csiCinder: {snapshots: {enabled: true}}}}`

// TestSnapshots adds the definitions, the catalogue's controller and a class, and changes
// nothing else.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	before, all := addonNames(render(t)), render(t, snapshots)
	added := slices.DeleteFunc(addonNames(all), func(name string) bool { return slices.Contains(before, name) })
	if !slices.Equal(added, []string{"Manifests csi-snapshots", "Manifests csi-snapshots-class"}) || len(addonNames(all)) != len(before)+2 {
		t.Errorf("added are %q", added)
	}
	got := applied(t, all, "csi-snapshots", known(someClouds, nil))
	image, _ := component.Find("snapshot-controller")
	want(t, got.get(t, "Deployment snapshot-controller"), image.Ref, "spec", "template", "spec", "containers", 0, "image")
	for _, kind := range []string{"volumesnapshots", "volumesnapshotcontents", "volumesnapshotclasses"} {
		definition := got.get(t, "CustomResourceDefinition "+kind+".snapshot.storage.k8s.io")
		want(t, definition, `keep`, "metadata", "annotations", "helm.sh/resource-policy")
	}
	class := applied(t, all, "csi-snapshots-class", known(someClouds, nil)).get(t, "VolumeSnapshotClass csi-cinder")
	want(t, class, `{force-create: "true"}`, "parameters")
	want(t, class, `cinder.csi.openstack.org`, "driver")
	want(t, class, `"true"`, "metadata", "annotations", "snapshot.storage.kubernetes.io/is-default-class")
	own := render(t, snapshots, `addons: {openstack: {csiCinder: {snapshots: {class: {name: slow, deletionPolicy: Retain, isClusterDefault: false, parameters: {type: backup}}}}}}`)
	class = applied(t, own, "csi-snapshots-class", known(someClouds, nil)).get(t, "VolumeSnapshotClass slow")
	want(t, class, `{force-create: "true", type: backup}`, "parameters")
	want(t, class, `Retain`, "deletionPolicy")
	for _, without := range []string{`addons: {openstack: {csiCinder: {enabled: false}}}`, `addons: {openstack: {enabled: false}}`} {
		if strings.Contains(strings.Join(addonNames(render(t, snapshots, without)), " "), "snapshots") {
			t.Errorf("%s leaves snapshots", without)
		}
	}
	if none := render(t, snapshots, `addons: {openstack: {csiCinder: {snapshots: {class: null}}}}`); none["Manifests csi-snapshots-class"] != nil || none["Manifests csi-snapshots"] == nil {
		t.Error("there is a class where none is wanted")
	}
}

// TestSnapshotDefinitions are those of the release that the bundle's controller is of, to the byte.
func TestSnapshotDefinitions(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	crds, _ := component.Find("snapshot-crds")
	theirs, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(crds.Path)))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join("chart", "files", "snapshot-crds.yaml"))
	if err != nil || !bytes.Equal(ours, theirs) {
		t.Errorf("chart/files/snapshot-crds.yaml is not %s of the bundle: copy it (%v)", crds.Path, err)
	}
}

// TestSnapshotsOnAServer has a real API server take the objects, the class last.
func TestSnapshotsOnAServer(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: openstack-system}}")); err != nil {
		t.Fatal(err)
	}
	all := render(t, snapshots)
	var definitions, others []*unstructured.Unstructured
	for _, object := range applied(t, all, "csi-snapshots", known(someClouds, nil)) {
		if object.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, object)
			continue
		}
		if !strings.HasPrefix(object.GetKind(), "ClusterRole") {
			object.SetNamespace("openstack-system")
		}
		others = append(others, object)
	}
	if err := cluster.ApplyObjects(t.Context(), definitions); err != nil {
		t.Fatal(err)
	}
	if err := cluster.ApplyObjects(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	class := applied(t, all, "csi-snapshots-class", known(someClouds, nil))["VolumeSnapshotClass csi-cinder"]
	if err := cluster.ApplyObjects(t.Context(), []*unstructured.Unstructured{class}); err != nil {
		t.Errorf("the class: %v", err)
	}
}
