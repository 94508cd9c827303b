package devstack

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flavorsOf are all flavors of a name.
func flavorsOf(t *testing.T, compute *gophercloud.ServiceClient, name string) []flavors.Flavor {
	t.Helper()
	pages, err := flavors.ListDetail(compute, flavors.ListOpts{AccessType: flavors.AllAccess}).AllPages(t.Context())
	must(t, err)
	list, err := flavors.ExtractFlavors(pages)
	must(t, err)
	return slices.DeleteFunc(list, func(f flavors.Flavor) bool { return f.Name != name })
}

// proves: D-12
func TestTheFlavorIsThereOnce(t *testing.T) {
	t.Parallel()
	compute := sandboxtest.Start(t).Admin.Compute(t)
	s := read(t, nil)
	first, err := s.EnsureFlavor(t.Context(), compute)
	must(t, err)
	second, err := s.EnsureFlavor(t.Context(), compute)
	must(t, err)
	list := flavorsOf(t, compute, "ds2G20")
	if len(list) != 1 || first != second || first != list[0].ID || list[0].RAM != 2048 || list[0].Disk != 20 || list[0].VCPUs != 2 || !list[0].IsPublic {
		t.Errorf("%s, %s: %+v", first, second, list)
	}
	if id, err := read(t, map[string]string{"SLIPWAY_FLAVOR": "m1.medium"}).EnsureFlavor(t.Context(), compute); err != nil || id == "" {
		t.Errorf("a flavor of the cloud: %q, %v", id, err)
	}
	for _, name := range []string{"m1.tiny", "no-such"} {
		if _, err := read(t, map[string]string{"SLIPWAY_FLAVOR": name}).EnsureFlavor(t.Context(), compute); fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(flavorsOf(t, compute, "no-such")) > 0 {
		t.Error("a flavor that local.conf only names was made")
	}
}

// memberOf is a client of Keystone of the sandbox's user, and the user.
func memberOf(t *testing.T, cloud *sandboxtest.Cloud) (*gophercloud.ServiceClient, *tokens.User) {
	t.Helper()
	result, ok := cloud.Member.Provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		t.Fatal("no token")
	}
	user, err := result.ExtractUser()
	must(t, err)
	return cloud.Member.Identity(t), user
}

// TestTheCredentialLogsIn keeps it over runs, makes another when the secret is lost, and
// revokes it. What the file says is tried at Keystone.
func TestTheCredentialLogsIn(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	identity, user := memberOf(t, cloud)
	s := read(t, map[string]string{"KEYSTONE_SERVICE_URI": cloud.URL() + "/identity"})
	count := func() int {
		list, err := s.credentials(t.Context(), identity, user.ID)
		must(t, err)
		return len(list)
	}
	var secrets []string
	ensure := func(want bool) {
		t.Helper()
		made, err := s.EnsureCredential(t.Context(), identity, user.ID)
		if err != nil || made != want || count() != 1 {
			t.Fatalf("made: %v, %d credentials (%v)", made, count(), err)
		}
		info, err := os.Stat(s.CredentialFile())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v (%v)", info, err)
		}
		text, err := os.ReadFile(s.CredentialFile())
		must(t, err)
		var file struct {
			Clouds map[string]struct{ Auth map[string]string }
		}
		must(t, yaml.Unmarshal(text, &file))
		auth := file.Clouds["openstack"].Auth
		secrets = append(secrets, auth["application_credential_secret"])
		login := cloud.Login(t, gophercloud.AuthOptions{ApplicationCredentialID: auth["application_credential_id"], ApplicationCredentialSecret: auth["application_credential_secret"]})
		if _, err := flavors.ListDetail(login.Compute(t), nil).AllPages(t.Context()); err != nil {
			t.Errorf("with the credential: %v", err)
		}
	}
	ensure(true)
	ensure(false)
	must(t, os.Remove(s.CredentialFile())) // the secret is lost
	ensure(true)
	must(t, os.WriteFile(s.CredentialFile(), []byte("clouds: {openstack: {auth: {application_credential_id: "+s.credentialID()+"}}}"), 0o600))
	ensure(true)
	revokeAll(t, identity, user.ID) // Keystone lost it, as stack.sh does
	ensure(true)
	if secrets[0] != secrets[1] || len(slices.Compact(slices.Sorted(slices.Values(secrets)))) != 4 {
		t.Errorf("%d secrets differ", len(secrets))
	}
	for range 2 {
		if err := s.RevokeCredential(t.Context(), identity, user.ID); err != nil || count() != 0 {
			t.Errorf("revoked: %d left (%v)", count(), err)
		}
		if _, err := os.Stat(s.CredentialFile()); !errors.Is(err, os.ErrNotExist) {
			t.Error("the secret stays")
		}
	}
}

// revokeAll revokes all credentials of a user.
func revokeAll(t *testing.T, identity *gophercloud.ServiceClient, user string) {
	t.Helper()
	for _, c := range allCredentials(t, identity, user) {
		must(t, applicationcredentials.Delete(t.Context(), identity, user, c.ID).ExtractErr())
	}
}

func allCredentials(t *testing.T, identity *gophercloud.ServiceClient, user string) []applicationcredentials.ApplicationCredential {
	t.Helper()
	pages, err := applicationcredentials.List(identity, user, nil).AllPages(t.Context())
	must(t, err)
	list, err := applicationcredentials.ExtractApplicationCredentials(pages)
	must(t, err)
	return list
}

// TestRegionsOfOneKeystone each have a credential of the user, and leave those of others alone.
func TestRegionsOfOneKeystone(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	identity, user := memberOf(t, cloud)
	names := func() (names []string) {
		for _, c := range allCredentials(t, identity, user.ID) {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		return names
	}
	one, two := read(t, nil), read(t, map[string]string{"REGION_NAME": "RegionTwo"})
	for _, want := range []bool{true, false} {
		for _, s := range []Settings{one, two} {
			if made, err := s.EnsureCredential(t.Context(), identity, user.ID); err != nil || made != want {
				t.Errorf("%s: made %v (%v)", s.Region, made, err)
			}
		}
	}
	if got, want := names(), []string{"slipway-devstack-RegionOne", "slipway-devstack-RegionTwo"}; !slices.Equal(got, want) {
		t.Errorf("credentials %q, want %q", got, want)
	}
	must(t, two.RevokeCredential(t.Context(), identity, user.ID))
	if got, want := names(), []string{"slipway-devstack-RegionOne"}; !slices.Equal(got, want) {
		t.Errorf("after unstack.sh of the second: %q, want %q", got, want)
	}
	// An earlier plugin gave the name without the region.
	former, err := applicationcredentials.Create(t.Context(), identity, user.ID, applicationcredentials.CreateOpts{Name: CredentialName}).Extract()
	must(t, err)
	must(t, two.Write("credential/clouds.yaml", "clouds: {openstack: {auth: {application_credential_id: '"+former.ID+"', application_credential_secret: '"+former.Secret+"'}}}"))
	if made, err := two.EnsureCredential(t.Context(), identity, user.ID); err != nil || made {
		t.Errorf("one that is there: made %v (%v)", made, err)
	}
	must(t, two.RevokeCredential(t.Context(), identity, user.ID))
	if got, want := names(), []string{"slipway-devstack-RegionOne"}; !slices.Equal(got, want) {
		t.Errorf("after unstack.sh of an earlier plugin: %q, want %q", got, want)
	}
}

// proves: D-21
func TestTempestGetsWhatIsThere(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	compute, image := cloud.Admin.Compute(t), cloud.Admin.Image(t)
	s := read(t, nil)
	node := s.NodeImage("v1.34.4")
	if _, err := s.Tempest(t.Context(), compute, image, node); err == nil || !strings.Contains(err.Error(), "flavor ds2G20") || fault.Remedy(err) == "" {
		t.Errorf("without a flavor: %v", err)
	}
	flavor, err := s.EnsureFlavor(t.Context(), compute)
	must(t, err)
	if _, err := s.Tempest(t.Context(), compute, image, node); err == nil || !strings.Contains(err.Error(), "image slipway-node-v1.34.4") {
		t.Errorf("without an image: %v", err)
	}
	made, err := images.Create(t.Context(), image, images.CreateOpts{Name: node.Name, DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
	must(t, err)
	must(t, imagedata.Upload(t.Context(), image, made.ID, io.NopCloser(strings.NewReader("disk"))).ExtractErr())
	options, err := s.Tempest(t.Context(), compute, image, node)
	must(t, err)
	got := map[string]string{}
	for _, o := range options {
		got[o.Key] = o.Value
	}
	for key, want := range map[string]string{"image_id": made.ID, "nic_id": "public", "flavor_id": flavor, "master_flavor_id": flavor, "labels": "octavia_provider:ovn", "network_driver": "calico"} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

func TestTheCatalogNamesImageAndTemplate(t *testing.T) {
	t.Parallel()
	s := read(t, map[string]string{"SLIPWAY_DNS_NAMESERVERS": "192.0.2.1", "SLIPWAY_NODE_IMAGE_URL": "https://example.org/node.qcow2", "SLIPWAY_NODE_IMAGE_SHA256": strings.Repeat("a", 64), "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION": "1.33.5"})
	node := s.NodeImage("v1.34.4")
	must(t, s.Catalog(node))
	for file, wanted := range map[string][]string{
		s.ImagesFile():    {"url: https://example.org/node.qcow2", "kubernetesVersion: v1.33.5", "visibility: public", "distro: ubuntu"},
		s.TemplatesFile(): {"name: k8s-v1-33-5", "image: slipway-node-v1.33.5", "public: true", "dnsNameserver: 192.0.2.1", "externalNetwork: public"},
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, want := range wanted {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	own := read(t, nil)
	must(t, own.Catalog(own.NodeImage("v1.34.4")))
	if text, err := os.ReadFile(own.ImagesFile()); err != nil || !strings.Contains(string(text), "bundle: node") || !strings.Contains(string(text), "name: slipway-node-v1.34.4") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestEquipComparesEveryByte has a bundle of small files under the names that are needed.
//
// proves: D-09
func TestEquipComparesEveryByte(t *testing.T) {
	t.Parallel()
	s := read(t, map[string]string{"SLIPWAY_MODE": "external", "SLIPWAY_KUBECONFIG": "x"})
	if err := s.Equip(t.Context(), event.Discard{}); err == nil || !strings.Contains(err.Error(), "it lacks") || !strings.Contains(fault.Remedy(err), "bundle ensure") {
		t.Errorf("without a bundle: %v", err)
	}
	folder, err := bundle.Create(s.Bundle, "linux/amd64")
	must(t, err)
	items := s.Items()
	for _, name := range items[1:] {
		digest, err := folder.Put(t.Context(), strings.NewReader(name))
		must(t, err)
		must(t, folder.Record(bundle.Item{Name: name, Kind: bundle.Manifest, Version: "v1.0.0", SHA256: digest.SHA256, Size: digest.Size, Path: "manifests/" + name, Source: "test", License: "Apache-2.0"}))
	}
	if missing, err := s.Missing(); err != nil || !slices.Equal(missing, items[:1]) {
		t.Errorf("%q lacks (%v)", missing, err)
	}
	digest, err := folder.Put(t.Context(), strings.NewReader("first"))
	must(t, err)
	must(t, folder.Record(bundle.Item{Name: items[0], Kind: bundle.Manifest, Version: "v1.0.0", SHA256: digest.SHA256, Size: digest.Size, Path: "manifests/first", Source: "test", License: "Apache-2.0"}))
	must(t, folder.Close())
	must(t, s.Equip(t.Context(), event.Discard{}))
	if _, err := os.Stat(filepath.Join(s.Dir, marker)); err != nil {
		t.Error(err)
	}
	blob := folder.Blob(digest.SHA256)
	must(t, os.Chmod(blob, 0o600))
	must(t, os.WriteFile(blob, []byte("other"), 0o600))
	if err := s.Equip(t.Context(), event.Discard{}); err == nil || !strings.Contains(err.Error(), items[0]) {
		t.Errorf("a changed byte: %v", err)
	}
	for _, name := range read(t, nil).Items() {
		if name == "seed" || name == "slipway" {
			t.Errorf("the host does not need %s", name)
		}
	}
}
