package images

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

// proves: F62
func TestTrustedImagesOfOthersAreUsed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(6)
	i := f.node(t, "node", data)
	community := images.ImageVisibilityCommunity
	described := map[string]string{"os_distro": "ubuntu", "kube_version": "1.34.2"}
	theirs := f.other(t, f.sandbox.Admin, data, images.CreateOpts{Name: "their name", DiskFormat: "qcow2", Visibility: &community, Properties: described})
	record, err := f.Glance.Get(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	m := list(i)
	m.Spec.TrustedOwners = []string{record.Owner}
	f.calls.take()
	results, err := f.Sync(t.Context(), m)
	for _, call := range f.calls.take() {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("sent %s", call)
		}
	}
	if err != nil || results[0].ID != theirs || results[0].Action != Borrow || results[0].Changed {
		t.Errorf("results %+v (%v)", results, err)
	}
	m.Spec.Images[0].KubernetesVersion = "v1.33.0"
	results, err = f.Sync(t.Context(), m)
	if err != nil || results[0].Action != Upload {
		t.Errorf("an image of another Kubernetes version: %+v (%v)", results, err)
	}
}

// TestImagesOfOthersThatAreNotTrustedAreNotUsed trusts a project, and has the
// bytes in a community image of another one; a public image of that only says in
// a property, which its owner writes, that it has them.
//
// proves: F62
func TestImagesOfOthersThatAreNotTrustedAreNotUsed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := qcow2(8)
	described := map[string]string{"os_distro": "ubuntu", "kube_version": "1.34.2"}
	claiming := maps.Clone(described)
	claiming[PropertyDigest] = "sha512:" + sha512of(data)
	community, public := images.ImageVisibilityCommunity, images.ImageVisibilityPublic
	f.other(t, f.sandbox.Admin, data, images.CreateOpts{Name: "x", DiskFormat: "qcow2", Visibility: &community, Properties: described})
	f.other(t, f.sandbox.Admin, qcow2(9), images.CreateOpts{Name: "y", DiskFormat: "qcow2", Visibility: &public, Properties: claiming})
	m := list(f.node(t, "node", data))
	m.Spec.TrustedOwners = []string{"0a8c2f0e4b7e4d659d0b6d6f3f2f8a11"}
	results, err := f.Sync(t.Context(), m)
	if err != nil || results[0].Action != Upload || !bytes.Equal(f.bytes(t, results[0].ID), data) {
		t.Errorf("results %+v (%v)", results, err)
	}
}
