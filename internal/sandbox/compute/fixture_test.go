package compute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// driver is machine.None with a journal, that fails where a test says so.
type driver struct {
	*machine.None
	mu      sync.Mutex
	calls   []string
	specs   []machine.Spec
	ports   []machine.Port
	failing map[string]bool
	// refusal is why no machine is made, nil if they are.
	refusal *machine.Refusal
}

func newDriver() *driver { return &driver{None: machine.NewNone(), failing: map[string]bool{}} }

func (d *driver) Machines() machine.Machines { return d }

var errDriver = errors.New("the host is on fire")

func (d *driver) note(call string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	if d.failing[call] {
		return errDriver
	}
	return nil
}

func (d *driver) fail(call string, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing[call] = on
}

func (d *driver) did(call string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.calls, call)
}

func (d *driver) Create(ctx context.Context, spec machine.Spec) error {
	d.mu.Lock()
	d.specs = append(d.specs, spec)
	d.mu.Unlock()
	if d.refusal != nil {
		return fmt.Errorf("creating server %s: %w", spec.ID, d.refusal)
	}
	if err := d.note("create"); err != nil {
		return err
	}
	return d.None.Create(ctx, spec)
}

func (d *driver) last() machine.Spec {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.specs[len(d.specs)-1]
}

func (d *driver) Stop(ctx context.Context, id string) error {
	if err := d.note("stop"); err != nil {
		return err
	}
	return d.None.Stop(ctx, id)
}

func (d *driver) Delete(ctx context.Context, id string) error {
	if err := d.note("delete"); err != nil {
		return err
	}
	return d.None.Delete(ctx, id)
}

func (d *driver) SetAside(ctx context.Context, id string) error {
	if err := d.note("aside"); err != nil {
		return err
	}
	return d.None.Delete(ctx, id)
}

func (d *driver) BringBack(ctx context.Context, spec machine.Spec) error {
	if err := d.note("back"); err != nil {
		return err
	}
	return d.None.Delete(ctx, spec.ID)
}

func (d *driver) AttachVolume(ctx context.Context, id, volumeID string) (string, error) {
	if err := d.note("attach"); err != nil {
		return "", err
	}
	return d.None.AttachVolume(ctx, id, volumeID)
}

func (d *driver) AttachPort(ctx context.Context, id string, port machine.Port) error {
	d.mu.Lock()
	d.ports = append(d.ports, port)
	d.mu.Unlock()
	return d.None.AttachPort(ctx, id, port)
}

// attached are the addresses of the cards that were attached.
func (d *driver) attached() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.ports {
		for _, a := range p.Addresses {
			all = append(all, a.Prefix.String())
		}
	}
	return all
}

func (d *driver) Pause(context.Context, string) error   { return d.note("pause") }
func (d *driver) Unpause(context.Context, string) error { return d.note("unpause") }

func (d *driver) Snapshot(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("a disk")), d.note("snapshot")
}

// start is a cloud with the driver, if one is given.
func start(t *testing.T, d *driver, options ...func(*sandbox.Options)) *sandboxtest.Cloud {
	t.Helper()
	if d != nil {
		options = append(options, func(o *sandbox.Options) { o.Host = d })
	}
	return sandboxtest.Start(t, options...)
}

// makeImage uploads a small image and returns its id.
func makeImage(t *testing.T, cloud *sandboxtest.Cloud) string {
	t.Helper()
	client := cloud.Member.Image(t)
	img, err := images.Create(t.Context(), client, images.CreateOpts{Name: "tiny", ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
	if err == nil {
		err = imagedata.Upload(t.Context(), client, img.ID, strings.NewReader("boot me")).ExtractErr()
	}
	if err != nil {
		t.Fatal(err)
	}
	return img.ID
}

func compute(t *testing.T, c sandboxtest.Clients) *gophercloud.ServiceClient {
	client := c.Compute(t)
	client.Microversion = "2.96"
	return client
}

// boot creates a server without networks.
func boot(t *testing.T, client *gophercloud.ServiceClient, name, image string) *servers.Server {
	t.Helper()
	s, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: name, FlavorRef: "1", ImageRef: image, Networks: "none"}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func await(t *testing.T, client *gophercloud.ServiceClient, id, status string) *servers.Server {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s, err := servers.Get(t.Context(), client, id).Extract()
		if err != nil {
			t.Fatal(err)
		}
		if s.Status == status && s.TaskState == "" {
			return s
		}
	}
	t.Fatalf("server %s did not become %s", id, status)
	return nil
}
