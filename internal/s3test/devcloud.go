package s3test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
)

// Bucket is an empty container of Swift on the devcloud, with keys for its API of S3, whose region
// is us-east-1.
type Bucket struct {
	// Endpoint is the URL of the API of S3.
	Endpoint             string
	Name, Access, Secret string
	Swift                *gophercloud.ServiceClient
}

// OnDevcloud makes a bucket on the devcloud whose folder SLIPWAY_DEVCLOUD names. Without one the
// test is skipped.
func OnDevcloud(t *testing.T) Bucket {
	t.Helper()
	dir := os.Getenv("SLIPWAY_DEVCLOUD")
	if dir == "" {
		t.Skip("SLIPWAY_DEVCLOUD names no devcloud: run make devcloud-objects")
	}
	b := Bucket{Name: "bucket-" + strings.ToLower(rand.Text()[:10])}
	if err := b.make(t.Context(), filepath.Join(dir, "clouds.yaml")); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *Bucket) make(ctx context.Context, file string) error {
	auth, endpoint, tls, err := clouds.Parse(clouds.WithCloudName("devcloud"), clouds.WithLocations(file))
	if err != nil {
		return err
	}
	provider, err := config.NewProviderClient(ctx, auth, config.WithTLSConfig(tls))
	if err != nil {
		return err
	}
	identity, err := openstack.NewIdentityV3(provider, endpoint)
	if err != nil {
		return err
	}
	if b.Swift, err = openstack.NewObjectStorageV1(provider, endpoint); err != nil {
		return err
	}
	login := tokens.Get(ctx, identity, provider.Token())
	user, err := login.ExtractUser()
	if err != nil {
		return err
	}
	project, err := login.ExtractProject()
	if err != nil {
		return err
	}
	pair, err := ec2credentials.Create(ctx, identity, user.ID, ec2credentials.CreateOpts{TenantID: project.ID}).Extract()
	if err != nil {
		return err
	}
	address, err := url.Parse(b.Swift.Endpoint)
	if err != nil {
		return err
	}
	b.Endpoint, b.Access, b.Secret = address.Scheme+"://"+address.Host, pair.Access, pair.Secret
	return containers.Create(ctx, b.Swift, b.Name, nil).Err
}
