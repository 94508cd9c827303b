package moving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/test/devcloud/cloud"
)

// patience is how long something may take that others do, on a machine that is busy.
const patience = 12 * time.Minute

// world is a devcloud whose Magnum has magnum-capi-helm, and the management cluster to which
// that driver writes.
type world struct {
	*testing.T
	cloud *cloud.Cloud
	demo  *cloud.Project
	// bundle and program are Slipway's; work is a folder of the test.
	bundle, program, work string
	room                  *room
	kubeconfig            string
	kube                  client.Client
	// login are the variables of demo for OpenStack's client.
	login []string
}

// newWorld finds the devcloud. It skips without one.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, folder := os.Getenv("SLIPWAY_DEVCLOUD_MOVING"), os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" || folder == "" {
		t.Skip("SLIPWAY_DEVCLOUD_MOVING names no devcloud, or SLIPWAY_BUNDLE no bundle: run make devcloud-moving")
	}
	w := &world{T: t, bundle: folder, work: t.TempDir()}
	var err error
	w.cloud, err = cloud.New(dir)
	w.must(err)
	w.program, err = filepath.Abs("../../../bin/slipway")
	w.must(err)
	w.demo, err = w.cloud.Project(t.Context(), "demo")
	w.must(err)
	auth, _, _, err := clouds.Parse(clouds.WithCloudName("devcloud"), clouds.WithLocations(w.cloud.CloudsYAML()))
	w.must(err)
	w.login = []string{"OS_AUTH_URL=" + auth.IdentityEndpoint, "OS_USERNAME=demo", "OS_PASSWORD=" + auth.Password, "OS_PROJECT_NAME=demo", "OS_USER_DOMAIN_ID=default",
		"OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME=RegionOne", "SHELL=/bin/sh"}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.work, name) }

// clean does something when the test ends.
func (w *world) clean(do func(context.Context) error) {
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := do(ctx); err != nil {
			w.Errorf("cleaning up: %v", err)
		}
	})
}

// provider logs in by an entry of clouds.yaml.
func (w *world) provider(entry string) *gophercloud.ProviderClient {
	w.Helper()
	auth, _, tls, err := clouds.Parse(clouds.WithCloudName(entry), clouds.WithLocations(w.cloud.CloudsYAML()))
	w.must(err)
	provider, err := config.NewProviderClient(w.Context(), auth, config.WithTLSConfig(tls))
	w.must(err)
	return provider
}

// enlarge gives demo room for a machine more while one of each is there.
func (w *world) enlarge() {
	w.Helper()
	compute, err := openstack.NewComputeV2(w.provider("devcloud-admin"), gophercloud.EndpointOpts{})
	w.must(err)
	cores := 60
	w.must(quotasets.Update(w.Context(), compute, w.demo.ID(), quotasets.UpdateOpts{Cores: &cores}).Err)
}

// keypair makes a key pair of demo.
func (w *world) keypair(name string) {
	w.Helper()
	compute, err := openstack.NewComputeV2(w.provider("devcloud"), gophercloud.EndpointOpts{})
	w.must(err)
	w.must(keypairs.Create(w.Context(), compute, keypairs.CreateOpts{Name: name}).Err)
	w.clean(func(ctx context.Context) error { return keypairs.Delete(ctx, compute, name, nil).ExtractErr() })
}

// image makes an image of nodes of demo, with a version of Kubernetes. It has no bytes that
// would boot.
func (w *world) image(name, version string) {
	w.Helper()
	glance, err := openstack.NewImageV2(w.provider("devcloud"), gophercloud.EndpointOpts{})
	w.must(err)
	image, err := images.Create(w.Context(), glance, images.CreateOpts{Name: name, DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"os_distro": "ubuntu", "kube_version": version}}).Extract()
	w.must(err)
	w.clean(func(ctx context.Context) error { return images.Delete(ctx, glance, image.ID).ExtractErr() })
	w.must(imagedata.Upload(w.Context(), glance, image.ID, io.LimitReader(zeros{}, 1<<20)).ExtractErr())
}

// zeros are as many as one wants.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// inside runs a program of the cloud's and returns what it prints.
func (w *world) inside(input io.Reader, variables []string, name string, args ...string) (string, error) {
	w.Helper()
	cmd, err := w.cloud.Command(context.Background(), name, args...)
	w.must(err)
	var said bytes.Buffer
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stdin, cmd.Stderr = input, &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out, said.String())
	}
	return string(out), nil
}

// openstack is Debian's client, as the user demo.
func (w *world) openstack(args ...string) string {
	w.Helper()
	out, err := w.inside(nil, w.login, "openstack", args...)
	w.must(err)
	return out
}

// refused is what the client says when it is refused.
func (w *world) refused(args ...string) string {
	w.Helper()
	out, err := w.inside(nil, w.login, "openstack", args...)
	if err == nil {
		w.Fatalf("openstack %q is not refused: %s", args, out)
	}
	return err.Error()
}

// magnum starts or stops services of Magnum.
func (w *world) magnum(action string, services ...string) {
	w.Helper()
	_, err := w.inside(nil, nil, "supervisorctl", append([]string{"-c", "/etc/devcloud/supervisord.conf", action}, services...)...)
	w.must(err)
}

// register leads the catalog's Magnum to an address.
func (w *world) register(address string) {
	w.Helper()
	identity, err := openstack.NewIdentityV3(w.provider("devcloud-admin"), gophercloud.EndpointOpts{})
	w.must(err)
	pages, err := services.List(identity, services.ListOpts{ServiceType: "container-infra"}).AllPages(w.Context())
	w.must(err)
	found, err := services.ExtractServices(pages)
	w.must(err)
	if len(found) != 1 {
		w.Fatalf("the catalog has %d services container-infra", len(found))
	}
	pages, err = endpoints.List(identity, endpoints.ListOpts{ServiceID: found[0].ID}).AllPages(w.Context())
	w.must(err)
	all, err := endpoints.ExtractEndpoints(pages)
	w.must(err)
	for _, e := range all {
		w.must(endpoints.Update(w.Context(), identity, e.ID, endpoints.UpdateOpts{URL: address + "/v1"}).Err)
	}
}

// debians is where Debian's Magnum is.
func (w *world) debians() string { return "http://" + w.cloud.Address().String() + ":9511" }

// slipway runs a command of Slipway's on the management cluster, and returns what it prints
// and its exit code.
func (w *world) slipway(args ...string) (out string, code int) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), w.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "OS_CLIENT_CONFIG_FILE="+w.cloud.CloudsYAML())
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		w.Logf("slipway %s: %v\n%s%s", strings.Join(args, " "), err, text, said.String())
		return string(text), ended.ExitCode()
	}
	w.must(err)
	return string(text), 0
}
