package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// credentialOf makes an application credential of the member, restricted as
// those of clusters are.
func credentialOf(t *testing.T, c *sandboxtest.Cloud) (user string, made *applicationcredentials.ApplicationCredential) {
	t.Helper()
	owner, err := c.Member.Provider.GetAuthResult().(tokens.CreateResult).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	made, err = applicationcredentials.Create(t.Context(), c.Member.Identity(t), owner.ID, applicationcredentials.CreateOpts{Name: "magnum"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return owner.ID, made
}

func secretOf(t *testing.T, c *sandboxtest.Cloud, made *applicationcredentials.ApplicationCredential) *corev1.Secret {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"openstack": map[string]any{"auth_type": "v3applicationcredential", "region_name": "RegionOne",
		"auth": map[string]any{"auth_url": c.URL() + "/identity", "application_credential_id": made.ID, "application_credential_secret": made.Secret}}}})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{Data: map[string][]byte{"clouds.yaml": text}}
}

func TestCloudResolver(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	_, made := credentialOf(t, c)
	secret := secretOf(t, c, made)
	public := images.ImageVisibilityPublic
	for name, properties := range map[string]map[string]string{"ubuntu": {"os_distro": "ubuntu", "kube_version": "v1.34.2+x"}, "gpu": {"os_distro": "ubuntu"}} {
		if _, err := images.Create(t.Context(), c.Admin.Image(t), images.CreateOpts{Name: name, Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare", Properties: properties}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	for name, shown := range map[string]bool{"ssd": true, "secret": false} {
		if _, err := volumetypes.Create(t.Context(), c.Admin.BlockStorage(t), volumetypes.CreateOpts{Name: name, IsPublic: &shown}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	found, all, err := CloudResolver{}.Resolve(t.Context(), secret, Names{Image: "ubuntu", ExternalNetwork: "public", Images: []string{"gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	if found.Image.ID == "" || found.Image.OSDistro != "ubuntu" || found.Image.KubernetesVersion != "1.34.2" || found.ExternalNetworkID == "" || !slices.Equal(found.VolumeTypes, []string{"ssd"}) {
		t.Errorf("%+v", found)
	}
	if all["gpu"].ID == "" || all["gpu"].ID == found.Image.ID {
		t.Errorf("%+v", all)
	}
	for want, names := range map[string]Names{"none": {Image: "none"}, "nowhere": {ExternalNetwork: "nowhere"}, "missing": {Images: []string{"missing"}}} {
		if _, _, err := (CloudResolver{}).Resolve(t.Context(), secret, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", names, err)
		}
	}
	secret.Data["clouds.yaml"] = []byte(strings.ReplaceAll(string(secret.Data["clouds.yaml"]), made.Secret, "wrong"))
	if _, _, err := (CloudResolver{}).Resolve(t.Context(), secret, Names{Image: "ubuntu"}); err == nil || strings.Contains(fmt.Sprint(err), made.Secret) {
		t.Errorf("a refused credential: %v", err)
	}
}

// TestMTUOfTheNetwork is read from Neutron, by the network's name or by the id
// that the endpoint found.
//
// proves: S-60
func TestMTUOfTheNetwork(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	_, made := credentialOf(t, c)
	secret := secretOf(t, c, made)
	for name, test := range map[string]struct{ given, want int }{"chosen": {1400, 1400}, "geneve": {0, 1442}} {
		network, err := networks.Create(t.Context(), c.Member.Network(t), mtu.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: name}, MTU: test.given}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range []Names{{FixedNetwork: name}, {MTUOf: network.ID}} {
			found, _, err := CloudResolver{}.Resolve(t.Context(), secret, names)
			if err != nil || found.FixedNetworkMTU != int32(test.want) {
				t.Errorf("%s: %+v: %+v, %v", name, names, found, err)
			}
		}
	}
}

func TestAdminRevoker(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	user, made := credentialOf(t, c)
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"admin": map[string]any{"region_name": "RegionOne",
		"auth": map[string]any{"auth_url": c.URL() + "/identity", "username": "admin", "password": c.Passwords().Admin, "project_name": "admin", "user_domain_id": "default", "project_domain_id": "default"}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := AdminRevoker{Cloud: cloud.Options{Cloud: "admin", CloudsYAML: text}}
	for range 2 { // gone is no error
		if err := r.Revoke(t.Context(), user, made.ID); err != nil {
			t.Fatal(err)
		}
	}
	err = applicationcredentials.Get(t.Context(), c.Member.Identity(t), user, made.ID).Err
	if !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("it is still there: %v", err)
	}
}
