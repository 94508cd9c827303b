package controller

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// without is the address of the cloud with a catalog that lacks services.
func without(t *testing.T, c *sandboxtest.Cloud, services ...string) string {
	t.Helper()
	to, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method != http.MethodPost {
			return nil
		}
		var body struct {
			Token map[string]any `json:"token"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return err
		}
		catalog, _ := body.Token["catalog"].([]any)
		body.Token["catalog"] = slices.DeleteFunc(catalog, func(entry any) bool {
			kind := entry.(map[string]any)["type"].(string)
			return slices.ContainsFunc(services, func(service string) bool { return strings.HasPrefix(kind, service) })
		})
		text, err := json.Marshal(body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Del("Content-Length")
		return err
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// at is a Secret whose Keystone is at another address.
func at(secret *corev1.Secret, c *sandboxtest.Cloud, address string) *corev1.Secret {
	text := strings.ReplaceAll(string(secret.Data["clouds.yaml"]), c.URL(), address)
	return &corev1.Secret{Data: map[string][]byte{"clouds.yaml": []byte(text)}}
}

func withImage(t *testing.T, c *sandboxtest.Cloud) {
	t.Helper()
	public := images.ImageVisibilityPublic
	if _, err := images.Create(t.Context(), c.Admin.Image(t), images.CreateOpts{Name: "ubuntu", Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare"}).Extract(); err != nil {
		t.Fatal(err)
	}
}

// TestAServiceThatACloudLacksIsNamed, where a cluster needs it: storage classes are not worth one.
func TestAServiceThatACloudLacksIsNamed(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	_, made := credentialOf(t, c)
	withImage(t, c)
	for name, test := range map[string]struct {
		lacks []string
		names Names
		want  string
	}{
		"image":                      {[]string{"image"}, Names{}, "finding the service image"},
		"network":                    {[]string{"network"}, Names{}, "finding the service network"},
		"volumes alone":              {[]string{"block-storage", "volume"}, Names{}, "finding the service volume"},
		"volumes, with what matters": {[]string{"block-storage", "volume"}, Names{Image: "ubuntu"}, ""},
	} {
		found, _, err := CloudResolver{}.Resolve(t.Context(), at(secretOf(t, c, made), c, without(t, c, test.lacks...)), test.names)
		if test.want == "" && (err != nil || found.Image.ID == "" || len(found.VolumeTypes) > 0) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestVolumeTypesThatCannotBeRead are told where nothing else is asked for, and cost nothing else.
func TestVolumeTypesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	_, made := credentialOf(t, c)
	withImage(t, c)
	var tenant struct {
		networks.Network
		mtu.NetworkMTUExt
	}
	if err := networks.Create(t.Context(), c.Member.Network(t), networks.CreateOpts{Name: "small"}).ExtractInto(&tenant); err != nil {
		t.Fatal(err)
	}
	for name, rule := range map[string]faultinject.Rule{"refused": {Status: http.StatusForbidden}, "no list": {Status: http.StatusOK, Body: `{"volume_types": "none"}`}} {
		rule.Kind, rule.Service, rule.Method = faultinject.API, "volumev3", http.MethodGet
		planted := value(c.Faults.Add(rule))(t)
		if _, _, err := (CloudResolver{}).Resolve(t.Context(), secretOf(t, c, made), Names{}); err == nil || !strings.Contains(err.Error(), "volume types") {
			t.Errorf("%s: %v", name, err)
		}
		found, _, err := CloudResolver{}.Resolve(t.Context(), secretOf(t, c, made), Names{Image: "ubuntu"})
		if err != nil || found.Image.ID == "" || len(found.VolumeTypes) > 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		found, _, err = CloudResolver{}.Resolve(t.Context(), secretOf(t, c, made), Names{MTUOf: tenant.ID})
		if err != nil || int(found.FixedNetworkMTU) != tenant.MTU || tenant.MTU == 0 {
			t.Errorf("%s: the MTU is %+v, and not %d (%v)", name, found, tenant.MTU, err)
		}
		c.Faults.Remove(planted.ID)
	}
}

// TestTheDefaultVolumeTypeIsFirst, if projects may see it: its storage class is the default one.
func TestTheDefaultVolumeTypeIsFirst(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	_, made := credentialOf(t, c)
	shown := true
	for _, name := range []string{"fast", "slow", "usual"} {
		value(volumetypes.Create(t.Context(), c.Admin.BlockStorage(t), volumetypes.CreateOpts{Name: name, IsPublic: &shown}).Extract())(t)
	}
	for standard, want := range map[string][]string{"slow": {"slow", "fast", "usual"}, "hidden": {"fast", "slow", "usual"}} {
		planted := value(c.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "volumev3", Method: http.MethodGet, Path: "**/types/default", Status: http.StatusOK,
			Body: `{"volume_type": {"id": "1", "name": "` + standard + `"}}`}))(t)
		found, _, err := CloudResolver{}.Resolve(t.Context(), secretOf(t, c, made), Names{})
		if err != nil || !slices.Equal(found.VolumeTypes, want) {
			t.Errorf("%s is the default: %+v, %v", standard, found, err)
		}
		c.Faults.Remove(planted.ID)
	}
}

// TestEveryNameThatIsNotThereIsTold, all at once: who mends one is not told of the next then.
func TestEveryNameThatIsNotThereIsTold(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	_, made := credentialOf(t, c)
	n := value(networks.Create(t.Context(), c.Member.Network(t), networks.CreateOpts{Name: "tenant"}).Extract())(t)
	s := value(subnets.Create(t.Context(), c.Member.Network(t), subnets.CreateOpts{Name: "nodes", NetworkID: n.ID, IPVersion: 4, CIDR: "10.7.0.0/24"}).Extract())(t)
	found, _, err := CloudResolver{}.Resolve(t.Context(), secretOf(t, c, made), Names{FixedNetwork: "tenant", FixedSubnet: "nodes"})
	if err != nil || found.FixedNetworkID != n.ID || found.FixedSubnetID != s.ID || found.Image.ID+found.ExternalNetworkID != "" {
		t.Errorf("%+v, %v", found, err)
	}
	_, _, err = CloudResolver{}.Resolve(t.Context(), secretOf(t, c, made), Names{Image: "image-9", ExternalNetwork: "net-9", FixedNetwork: "tenant-9", FixedSubnet: "nodes-9", MTUOf: "gone-9"})
	for _, want := range []string{"image-9", "net-9", "tenant-9", "nodes-9", "gone-9"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
	}
}

// TestACredentialThatCannotBeRevoked: what keeps the administrator from it is told.
func TestACredentialThatCannotBeRevoked(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Start(t)
	user, made := credentialOf(t, c)
	login := func(address, password string) AdminRevoker {
		text := value(yaml.Marshal(map[string]any{"clouds": map[string]any{"admin": map[string]any{"region_name": "RegionOne", "auth": map[string]any{"auth_url": address + "/identity",
			"username": "admin", "password": password, "project_name": "admin", "user_domain_id": "default", "project_domain_id": "default"}}}}))(t)
		return AdminRevoker{Cloud: cloud.Options{Cloud: "admin", CloudsYAML: text}}
	}
	value(c.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "identity", Method: http.MethodDelete, Status: http.StatusForbidden}))(t)
	for want, r := range map[string]AdminRevoker{"logging in as administrator": login(c.URL(), "wrong"),
		"finding Keystone":                  login(without(t, c, "identity"), c.Passwords().Admin),
		"application credential " + made.ID: login(c.URL(), c.Passwords().Admin)} {
		if err := r.Revoke(t.Context(), user, made.ID); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
