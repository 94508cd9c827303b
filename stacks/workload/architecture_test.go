package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestImagesForAnotherProcessor are refused, with the key that names each, before anything is
// created. What an image does not say is no reason, nor is a management cluster that does not
// say what it is.
func TestImagesForAnotherProcessor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	image := func(name, architecture string) string {
		o := glance.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw", Properties: map[string]string{"kube_version": "v1.34.4"}}
		if architecture != "" {
			o.Properties["architecture"] = architecture
		}
		made, err := glance.Create(t.Context(), s.box.Member.Image(t), o).Extract()
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	amd, arm, silent := image("amd", "x86_64"), image("arm", "aarch64"), image("silent", "")
	check := func(image, values string) error {
		w := s.order("shop", image, values)
		key := Key{Namespace: "shop", Name: "shop"}
		all, _, err := w.values(key)
		if err != nil {
			t.Fatal(err)
		}
		return s.checkArchitecture(t.Context(), s.cloud, all)
	}
	if err := check(arm, ""); err != nil {
		t.Errorf("without a node: %v", err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{Architecture: "amd64"}}}
	if _, err := s.typed.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]string{"by its ID": "", "by its name": "machineImage: amd\nmachineImageId: null", "not said": "controlPlane: {machineImageId: " + silent + "}",
		"of another project": "controlPlane: {machineImageId: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1}"} {
		if err := check(amd, values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const why = " is for aarch64, but the management cluster and the bundle are for x86_64"
	s.refused(s.order("shop", arm, ""), "machineImageId: image "+arm+why)
	s.refused(s.order("shop", amd, "controlPlane: {machineImage: arm}\nnodeGroups: [{name: md-0, machineCount: 1}, {name: md-1, machineCount: 1, machineImageId: "+arm+"}]"),
		"controlPlane.machineImage: image arm"+why, "nodeGroups[1].machineImageId: image "+arm+why)
	s.want("after it was refused", amd, "image shared")
	if list, err := s.typed.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("namespaces %v, %v", list.Items, err)
	}
}

// TestAVersionTakesAnImageForItsProcessor: the newest image of a version may be for another one.
func TestAVersionTakesAnImageForItsProcessor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := map[string]string{}
	for _, architecture := range []string{"x86_64", "", "aarch64"} {
		o := glance.CreateOpts{Name: "node", ContainerFormat: "bare", DiskFormat: "raw", Properties: map[string]string{"kube_version": "v1.33.7"}}
		if architecture != "" {
			o.Properties["architecture"] = architecture
		}
		made, err := glance.Create(t.Context(), s.box.Member.Image(t), o).Extract()
		if err == nil {
			err = imagedata.Upload(t.Context(), s.box.Member.Image(t), made.ID, strings.NewReader("x")).ExtractErr()
		}
		if err != nil {
			t.Fatal(err)
		}
		ids[architecture] = made.ID
	}
	has := func(architecture string) bool {
		all, err := s.fittingImages(t.Context(), s.cloud)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(image NodeImage) bool { return image.ID == ids[architecture] && image.Architecture == architecture })
	}
	if !has("aarch64") || !has("x86_64") || !has("") {
		t.Error("without a node an image is missing")
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{Architecture: "amd64"}}}
	if _, err := s.typed.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if has("aarch64") || !has("x86_64") || !has("") {
		t.Errorf("an image for another processor is taken: %t, or one is missing: %t, %t", has("aarch64"), has("x86_64"), has(""))
	}
}
