package capo

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	devcloud "github.com/slipway-sh/slipway/test/devcloud/cloud"
)

// project is where the test works: a project of a cloud, and its clients.
type project struct {
	*testing.T
	login *cloud.Login
	cloud *cloud.Cloud
	// counts are the project's things, by kind.
	counts func() map[string]string

	compute, network, volume, balancer, identity, image *gophercloud.ServiceClient
}

func newProject(t *testing.T) *project {
	t.Helper()
	if os.Getenv("SLIPWAY_BUNDLE") == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e, or make devcloud-test")
	}
	p := &project{T: t}
	p.counts = p.listed
	p.login = need(cloud.Find(p.options()))(t)
	p.cloud = need(p.login.Open(t.Context(), "slipway-test"))(t)
	t.Cleanup(p.cloud.Close)
	p.compute, p.network, p.volume = need(p.cloud.Compute())(t), need(p.cloud.Network())(t), need(p.cloud.Volume())(t)
	p.balancer, p.identity, p.image = need(p.cloud.LoadBalancer())(t), need(p.cloud.Identity())(t), need(p.cloud.Image())(t)
	return p
}

// options are the way to the cloud; on the devcloud, its databases count.
func (p *project) options() cloud.Options {
	p.Helper()
	if dir := os.Getenv("SLIPWAY_DEVCLOUD"); dir != "" {
		c := need(devcloud.New(dir))(p)
		rows := need(c.Project(p.Context(), "demo"))(p)
		p.counts = func() map[string]string { return need(rows.Counts(p.Context()))(p) }
		return cloud.Options{Cloud: "devcloud", CloudsYAML: need(os.ReadFile(c.CloudsYAML()))(p)}
	}
	if name := os.Getenv("OS_CLOUD"); name != "" {
		return cloud.Options{Env: cloud.Env{Cloud: name, Region: os.Getenv("OS_REGION_NAME"), ConfigFile: os.Getenv("OS_CLIENT_CONFIG_FILE"),
			SecureFile: os.Getenv("OS_CLIENT_SECURE_FILE"), WorkDir: ".", Home: os.Getenv("HOME")}}
	}
	return cloud.Options{Cloud: "sandbox", CloudsYAML: need(os.ReadFile(sandboxtest.Start(p.T).CloudsYAML()))(p)}
}

// listed are the counts where nothing but the APIs can be asked.
func (p *project) listed() map[string]string {
	p.Helper()
	s := need(p.cloud.Snapshot(p.Context()))(p)
	if len(s.Missing) > 0 {
		p.Fatalf("lists that failed: %+v", s.Missing)
	}
	pages := need(ports.List(p.network, ports.ListOpts{ProjectID: s.Token.ProjectID}).AllPages(p.Context()))(p)
	counts := map[string]string{}
	for kind, number := range map[string]int{
		"networks": len(s.Networks), "subnets": len(s.Subnets), "routers": len(s.Routers), "security groups": len(s.SecurityGroups),
		"floating IPs": len(s.FloatingIPs), "ports": len(need(ports.ExtractPorts(pages))(p)), "servers": len(s.Servers), "volumes": len(s.Volumes),
		"images": len(s.Images), "load balancers": len(s.Balancers), "application credentials": len(s.Credentials),
	} {
		counts[kind] = strconv.Itoa(number)
	}
	return counts
}

// unique is a name that no other run has.
func unique() string { return "capo-" + strings.ToLower(rand.Text()[:6]) }

// flavor is the smallest.
func (p *project) flavor() string {
	p.Helper()
	flavors := need(p.cloud.Snapshot(p.Context()))(p).Flavors
	return slices.MinFunc(flavors, func(a, b cloud.FlavorInfo) int { return a.RAM - b.RAM }).Name
}

// bootless makes an image of a few bytes, which becomes ACTIVE but boots nothing.
func (p *project) bootless(name string) string {
	p.Helper()
	made := need(images.Create(p.Context(), p.image, images.CreateOpts{Name: name, DiskFormat: "raw", ContainerFormat: "bare"}).Extract())(p)
	p.after("image", func(ctx context.Context) error { return images.Delete(ctx, p.image, made.ID).ExtractErr() })
	if err := imagedata.Upload(p.Context(), p.image, made.ID, bytes.NewReader(make([]byte, 1<<10))).ExtractErr(); err != nil {
		p.Fatal(err)
	}
	return made.ID
}

// credential makes an application credential that may delete itself, and
// returns a clouds.yaml with it.
func (p *project) credential(name string) []byte {
	p.Helper()
	user := need(p.cloud.Token())(p).UserID
	made := need(applicationcredentials.Create(p.Context(), p.identity, user, applicationcredentials.CreateOpts{Name: name, Unrestricted: true}).Extract())(p)
	p.after("application credential", func(ctx context.Context) error {
		return applicationcredentials.Delete(ctx, p.identity, user, made.ID).ExtractErr()
	})
	return fmt.Appendf(nil, `clouds:
  openstack:
    auth_type: v3applicationcredential
    region_name: %q
    auth: {auth_url: %q, application_credential_id: %s, application_credential_secret: %q}
`, p.login.Region(), p.login.AuthURL(), made.ID, made.Secret)
}

// after deletes something when the test ends, if it is still there then. What
// is in use for a moment is tried again.
func (p *project) after(what string, remove func(context.Context) error) {
	p.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Context()), time.Minute)
		defer cancel()
		for {
			err := remove(ctx)
			if err == nil || gophercloud.ResponseCodeIs(err, 404) {
				return
			}
			if ctx.Err() != nil || !gophercloud.ResponseCodeIs(err, 409) {
				p.Errorf("deleting %s: %v", what, err)
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
}
