package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// FlavorName is the flavor of nodes if local.conf names none: devstack's own ds2G has too
// small a disk for a control plane (row D-12).
const FlavorName = "ds2G20"

// flavorShape is 2048 MiB, 20 GB, 2 vCPUs, the smallest that kubeadm accepts.
func flavorShape() flavors.CreateOpts {
	disk, public := 20, true
	return flavors.CreateOpts{Name: FlavorName, RAM: 2048, Disk: &disk, VCPUs: 2, IsPublic: &public}
}

// EnsureFlavor makes the flavor of nodes if it is ours and missing, and returns its ID.
func (s Settings) EnsureFlavor(ctx context.Context, compute *gophercloud.ServiceClient) (id string, err error) {
	found, err := s.findFlavor(ctx, compute)
	if err != nil || found != nil {
		return id0(found), err
	}
	if s.Flavor != FlavorName {
		return "", fault.Usage("SLIPWAY_FLAVOR", fmt.Errorf("the cloud has no flavor %q", s.Flavor), "name a flavor of `openstack flavor list`, or leave it out to have "+FlavorName+" made")
	}
	made, err := flavors.Create(ctx, compute, flavorShape()).Extract()
	if err != nil {
		return "", fmt.Errorf("creating flavor %s: %w", FlavorName, err)
	}
	return made.ID, nil
}

func id0(f *flavors.Flavor) string {
	if f == nil {
		return ""
	}
	return f.ID
}

func (s Settings) findFlavor(ctx context.Context, compute *gophercloud.ServiceClient) (*flavors.Flavor, error) {
	pages, err := flavors.ListDetail(compute, flavors.ListOpts{AccessType: flavors.AllAccess}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing flavors: %w", err)
	}
	list, err := flavors.ExtractFlavors(pages)
	if err != nil {
		return nil, fmt.Errorf("listing flavors: %w", err)
	}
	for _, f := range list {
		if f.Name != s.Flavor {
			continue
		}
		if f.VCPUs < 2 || f.RAM < 2048 {
			return nil, fault.Usage("flavor "+f.Name, fmt.Errorf("it has %d vCPUs and %d MiB; a control plane needs 2 and 2048", f.VCPUs, f.RAM), "name a larger one by SLIPWAY_FLAVOR")
		}
		return &f, nil
	}
	return nil, nil
}

// CredentialName begins the name of the application credential for clusters that are created
// with kubectl.
const CredentialName = "slipway-devstack"

// credentialName is that of the region: regions can share a Keystone, where the names of a
// user's credentials are unique, and each has a plugin of its own.
func (s Settings) credentialName() string { return CredentialName + "-" + s.Region }

// CredentialFile is the clouds.yaml of the application credential; its entry is
// "openstack", as Cluster API's documents have it.
func (s Settings) CredentialFile() string { return s.path("credential/clouds.yaml") }

// EnsureCredential keeps the application credential whose secret is in CredentialFile, and
// makes one, in place of one whose secret is lost, if there is none (row D-13). made says
// that it is new.
func (s Settings) EnsureCredential(ctx context.Context, identity *gophercloud.ServiceClient, userID string) (made bool, err error) {
	kept := s.credentialID()
	old, err := s.credentials(ctx, identity, userID)
	if err != nil {
		return false, err
	}
	for _, c := range old {
		if c.ID == kept {
			return false, nil
		}
	}
	if err := revoke(ctx, identity, userID, old); err != nil {
		return false, err
	}
	c, err := applicationcredentials.Create(ctx, identity, userID, applicationcredentials.CreateOpts{Name: s.credentialName(), Description: "Slipway's devstack plugin: clusters created with kubectl"}).Extract()
	if err != nil {
		return false, fmt.Errorf("creating application credential %s: %w", s.credentialName(), err)
	}
	entry := map[string]any{"region_name": s.Region, "auth_type": "v3applicationcredential",
		"auth": map[string]any{"auth_url": s.AuthURL, "application_credential_id": c.ID, "application_credential_secret": c.Secret}}
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"openstack": entry}})
	if err != nil {
		return false, fmt.Errorf("clouds.yaml of the application credential: %w", err)
	}
	if err := s.Write("credential/clouds.yaml", string(text)); err != nil {
		return false, errors.Join(err, revoke(ctx, identity, userID, []applicationcredentials.ApplicationCredential{*c}))
	}
	return true, nil
}

// credentialID is the ID in CredentialFile, empty if there is none.
func (s Settings) credentialID() string {
	text, err := os.ReadFile(s.CredentialFile())
	if err != nil {
		return ""
	}
	var file struct {
		Clouds map[string]struct {
			Auth struct {
				ID     string `json:"application_credential_id"`
				Secret string `json:"application_credential_secret"`
			} `json:"auth"`
		} `json:"clouds"`
	}
	if yaml.Unmarshal(text, &file) != nil || file.Clouds["openstack"].Auth.Secret == "" {
		return "" // as good as lost
	}
	return file.Clouds["openstack"].Auth.ID
}

// RevokeCredential revokes the application credential and removes its file.
func (s Settings) RevokeCredential(ctx context.Context, identity *gophercloud.ServiceClient, userID string) error {
	old, err := s.credentials(ctx, identity, userID)
	if err != nil {
		return err
	}
	if err := revoke(ctx, identity, userID, old); err != nil {
		return err
	}
	if err := os.Remove(s.CredentialFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the application credential: %w", err)
	}
	return nil
}

// credentials are those of the plugin in its region, with that of the file, to which an earlier
// plugin gave the name without the region.
func (s Settings) credentials(ctx context.Context, identity *gophercloud.ServiceClient, userID string) ([]applicationcredentials.ApplicationCredential, error) {
	kept := s.credentialID()
	pages, err := applicationcredentials.List(identity, userID, nil).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing application credentials: %w", err)
	}
	all, err := applicationcredentials.ExtractApplicationCredentials(pages)
	if err != nil {
		return nil, fmt.Errorf("listing application credentials: %w", err)
	}
	var own []applicationcredentials.ApplicationCredential
	for _, c := range all {
		if c.ID == kept || strings.EqualFold(c.Name, s.credentialName()) {
			own = append(own, c)
		}
	}
	return own, nil
}

func revoke(ctx context.Context, identity *gophercloud.ServiceClient, userID string, list []applicationcredentials.ApplicationCredential) error {
	for _, c := range list {
		if err := applicationcredentials.Delete(ctx, identity, userID, c.ID).ExtractErr(); err != nil && !gophercloud.ResponseCodeIs(err, 404) {
			return fmt.Errorf("revoking application credential %s: %w", c.ID, err)
		}
	}
	return nil
}
