package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// bench has what the calls need: a project without limits, a network that is
// large enough, and an image.
type bench struct {
	options
	box               *box
	http              *http.Client
	token, project    string
	compute, network  string // where the APIs are, with a slash at the end
	imageID, flavorID string
	networkID         string
	// For machines that the host reaches.
	subnetID, externalID, groupID string
}

// newBench prepares with an image of a file, and a flavor of at least so many
// MiB of memory; without a path nothing is in the image.
func newBench(ctx context.Context, o options, b *box, file string, memory int) (*bench, error) {
	auth, endpoint, _, err := clouds.Parse(clouds.WithLocations(filepath.Join(b.dir, "clouds.yaml")), clouds.WithCloudName("sandbox-admin"))
	if err != nil {
		return nil, err
	}
	provider, err := config.NewProviderClient(ctx, auth)
	if err != nil {
		return nil, err
	}
	compute, err := openstack.NewComputeV2(provider, endpoint)
	if err != nil {
		return nil, err
	}
	network, err := openstack.NewNetworkV2(provider, endpoint)
	if err != nil {
		return nil, err
	}
	image, err := openstack.NewImageV2(provider, endpoint)
	if err != nil {
		return nil, err
	}
	made := &bench{options: o, box: b, token: provider.Token(), compute: compute.Endpoint, network: network.ResourceBase,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return made.makeNetwork(ctx, network) },
		func(ctx context.Context) error { return made.makeImage(ctx, image, file) },
		made.lift,
		func(ctx context.Context) error { return made.findFlavor(ctx, memory) },
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (b *bench) makeNetwork(ctx context.Context, client *gophercloud.ServiceClient) error {
	made, err := networks.Create(ctx, client, networks.CreateOpts{Name: "bench"}).Extract()
	if err != nil {
		return fmt.Errorf("creating a network: %w", err)
	}
	b.networkID, b.project = made.ID, made.ProjectID
	opts := subnets.CreateOpts{Name: "bench", NetworkID: made.ID, IPVersion: gophercloud.IPv4, CIDR: "10.32.0.0/16"}
	subnet, err := subnets.Create(ctx, client, opts).Extract()
	if err != nil {
		return fmt.Errorf("creating a subnet: %w", err)
	}
	b.subnetID = subnet.ID
	return nil
}

func (b *bench) makeImage(ctx context.Context, client *gophercloud.ServiceClient, file string) error {
	made, err := images.Create(ctx, client, images.CreateOpts{Name: "bench", DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
	if err != nil {
		return fmt.Errorf("creating an image: %w", err)
	}
	b.imageID = made.ID
	var content io.Reader = bytes.NewReader(make([]byte, 64<<10))
	if file != "" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		content = opened
	}
	if err := imagedata.Upload(ctx, client, made.ID, content).ExtractErr(); err != nil {
		return fmt.Errorf("uploading an image: %w", err)
	}
	return nil
}

// lift takes the limits of the project away.
func (b *bench) lift(ctx context.Context) error {
	err := b.call(ctx, http.MethodPut, b.compute+"os-quota-sets/"+b.project, `{"quota_set":{"instances":-1,"cores":-1,"ram":-1}}`, nil)
	if err != nil {
		return err
	}
	return b.call(ctx, http.MethodPut, b.network+"quotas/"+b.project, `{"quota":{"port":-1,"floatingip":-1}}`, nil)
}

func (b *bench) findFlavor(ctx context.Context, memory int) error {
	var out struct{ Flavors []struct{ ID string } }
	if err := b.call(ctx, http.MethodGet, fmt.Sprintf("%sflavors?sort_key=memory_mb&minRam=%d", b.compute, memory), "", &out); err != nil {
		return err
	}
	if len(out.Flavors) == 0 {
		return fmt.Errorf("the cloud has no flavor")
	}
	b.flavorID = out.Flavors[0].ID
	return nil
}

// call reads the whole answer, and decodes it when out is not nil: a client
// of the benchmark must not cost more than the sandbox.
func (b *bench) call(ctx context.Context, method, url, body string, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Auth-Token", b.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := b.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, url, err)
	case response.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %s: %s", method, url, response.Status, text)
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}

func (b *bench) createServer(ctx context.Context, name string) (id string, err error) {
	body := fmt.Sprintf(`{"server":{"name":%q,"imageRef":%q,"flavorRef":%q,"networks":[{"uuid":%q}]}}`, name, b.imageID, b.flavorID, b.networkID)
	var out struct{ Server struct{ ID string } }
	err = b.call(ctx, http.MethodPost, b.compute+"servers", body, &out)
	return out.Server.ID, err
}

func (b *bench) createPort(ctx context.Context, name string) error {
	return b.call(ctx, http.MethodPost, b.network+"ports", fmt.Sprintf(`{"port":{"network_id":%q,"name":%q}}`, b.networkID, name), nil)
}
