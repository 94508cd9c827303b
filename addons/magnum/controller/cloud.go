package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// CloudResolver looks names up with the credential in the cluster's Secret, so
// that a cluster gets nothing that its project may not see.
type CloudResolver struct{}

// Resolve implements [Resolver].
func (CloudResolver) Resolve(ctx context.Context, secret *corev1.Secret, want Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error) {
	c, err := cloud.Open(ctx, cloud.Options{Cloud: "openstack", CloudsYAML: secret.Data["clouds.yaml"], CABundle: secret.Data["cacert"]})
	if err != nil {
		return nil, nil, fmt.Errorf("logging in with the credential in Secret %s: %w", secret.Name, err)
	}
	defer c.Close()
	l, err := newLookup(c)
	if err != nil {
		return nil, nil, err
	}
	found, err := l.names(ctx, want)
	if err != nil {
		return nil, nil, err
	}
	images := map[string]v1alpha1.ResolvedImage{}
	for _, name := range want.Images {
		if images[name], err = l.image(ctx, name); err != nil {
			return nil, nil, err
		}
	}
	found.VolumeTypes, err = volumeTypes(ctx, c)
	if err != nil && want.any() {
		err = nil // storage classes are not worth a cluster
	}
	return found, images, err
}

func (n Names) any() bool {
	return n.Image != "" || n.ExternalNetwork != "" || n.FixedNetwork != "" || n.FixedSubnet != "" || n.MTUOf != "" || len(n.Images) > 0
}

// lookup finds things as the endpoint does, with another token.
type lookup struct {
	cloud *openstack.Cloud
	token *keystone.Token
}

func newLookup(c *cloud.Cloud) (*lookup, error) {
	token := &keystone.Token{ID: c.Provider.Token(), Endpoints: map[string]string{}}
	for name, client := range map[string]func() (*gophercloud.ServiceClient, error){"image": c.Image, "network": c.Network} {
		service, err := client()
		if err != nil {
			return nil, fmt.Errorf("finding the service %s: %w", name, err)
		}
		token.Endpoints[name] = gophercloud.NormalizeURL(service.Endpoint)
		token.Endpoints[name] = token.Endpoints[name][:len(token.Endpoints[name])-1]
	}
	return &lookup{&openstack.Cloud{HTTP: c.Provider.HTTPClient}, token}, nil
}

func (l *lookup) names(ctx context.Context, want Names) (*v1alpha1.ResolvedNames, error) {
	found := &v1alpha1.ResolvedNames{}
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	var err error
	if want.Image != "" {
		found.Image, err = l.image(ctx, want.Image)
		note(err)
	}
	if want.ExternalNetwork != "" {
		found.ExternalNetworkID, err = l.cloud.Network(ctx, l.token, want.ExternalNetwork, true)
		note(err)
	}
	if want.FixedNetwork != "" {
		found.FixedNetworkID, err = l.cloud.Network(ctx, l.token, want.FixedNetwork, false)
		note(err)
	}
	if network := cmp.Or(found.FixedNetworkID, want.MTUOf); network != "" {
		mtu, err := l.cloud.NetworkMTU(ctx, l.token, network)
		note(err)
		found.FixedNetworkMTU = int32(mtu)
	}
	if want.FixedSubnet != "" {
		found.FixedSubnetID, err = l.cloud.Subnet(ctx, l.token, want.FixedSubnet, found.FixedNetworkID)
		note(err)
	}
	return found, errors.Join(errs...)
}

func (l *lookup) image(ctx context.Context, name string) (v1alpha1.ResolvedImage, error) {
	image, err := l.cloud.Image(ctx, l.token, name)
	return v1alpha1.ResolvedImage{ID: image.ID, OSDistro: image.OSDistro, KubernetesVersion: driver.Version(image.KubeVersion)}, err
}

// volumeTypes are Cinder's public types, its default one first.
func volumeTypes(ctx context.Context, c *cloud.Cloud) ([]string, error) {
	client, err := c.Volume()
	if err != nil {
		return nil, fmt.Errorf("finding the service volume: %w", err)
	}
	pages, err := volumetypes.List(client, volumetypes.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, c.Fault("volume types", err)
	}
	all, err := volumetypes.ExtractVolumeTypes(pages)
	if err != nil {
		return nil, fmt.Errorf("reading volume types: %w", err)
	}
	var names []string
	for _, one := range all {
		if one.IsPublic && one.Name != "__DEFAULT__" {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	if standard, err := volumetypes.Get(ctx, client, "default").Extract(); err == nil && slices.Contains(names, standard.Name) {
		names = append([]string{standard.Name}, slices.DeleteFunc(names, func(name string) bool { return name == standard.Name })...)
	}
	return names, nil
}

// AdminRevoker deletes application credentials as an administrator: a
// restricted credential cannot delete itself.
type AdminRevoker struct {
	// Cloud is the administrator's login.
	Cloud cloud.Options
}

// Revoke implements [Revoker].
func (r AdminRevoker) Revoke(ctx context.Context, userID, credentialID string) error {
	c, err := cloud.Open(ctx, r.Cloud)
	if err != nil {
		return fmt.Errorf("logging in as administrator: %w", err)
	}
	defer c.Close()
	client, err := c.Identity()
	if err != nil {
		return fmt.Errorf("finding Keystone: %w", err)
	}
	err = applicationcredentials.Delete(ctx, client, userID, credentialID).ExtractErr()
	if gophercloud.ResponseCodeIs(err, 404) {
		return nil
	}
	return c.Fault("application credential "+credentialID, err)
}
