// Package tenanttest starts a cloud with a Magnum API and the tenant's console on it, all of
// it real but the machines.
package tenanttest

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/magnumtest"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/internal/console/tenant"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// The users: a member of the projects shop and bank, a reader of shop, and one without a role.
// The password of all is Password.
const (
	Member, Reader, Nobody = "member", "reader", "nobody"
	Password               = "secret"
)

// World is the cloud with what is on it.
type World struct {
	T     testing.TB
	Cloud *sandboxtest.Cloud
	Kube  client.WithWatch
	Stock *inventory.Inventory
	// Magnum and Console are addresses.
	Magnum, Console string
	// Away has the Magnum API break connections.
	Away atomic.Bool
	// Slow is how many nanoseconds the Magnum API takes before it answers.
	Slow atomic.Int64
	// Later is added to the console's clock.
	Later atomic.Int64
	// Front is the server of the console.
	Front *httptest.Server
}

// Start starts all of it.
func Start(t testing.TB, options ...func(*tenant.Options)) *World {
	t.Helper()
	w := &World{T: t, Cloud: sandboxtest.Start(t), Kube: magnumtest.NewKube(t)}
	w.people()
	w.things()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var err error
	w.Stock, err = inventory.New(ctx, &magnumtest.Followed{WithWatch: w.Kube, T: t})
	w.must(err)
	rules, err := policy.New(nil)
	w.must(err)
	identity := w.Cloud.Admin.Identity(t)
	magnum, err := api.New(api.Options{Client: w.Kube, Inventory: w.Stock, Cloud: &openstack.Cloud{}, Policy: rules, AuthURL: w.Cloud.URL() + "/identity",
		Tokens:      keystone.NewValidator(keystone.Options{Identity: func(context.Context) (*gophercloud.ServiceClient, error) { return identity, nil }, Remember: time.Nanosecond}),
		Credentials: openstack.CredentialOptions{Roles: []string{"member"}, Region: "RegionOne"}, Quota: 2000})
	w.must(err)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.Away.Load() {
			panic(http.ErrAbortHandler)
		}
		select {
		case <-time.After(time.Duration(w.Slow.Load())):
		case <-r.Context().Done():
		}
		magnum.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.Magnum = server.URL
	w.Await("the inventory", w.Stock.Synced)
	w.Front = w.Serve(false, options...)
	w.Console = w.Front.URL
	return w
}

// Serve starts a console of the cloud; with TLS, it knows its own address.
func (w *World) Serve(secure bool, options ...func(*tenant.Options)) *httptest.Server {
	w.T.Helper()
	server := httptest.NewUnstartedServer(nil)
	o := tenant.Options{Keystone: w.Cloud.URL() + "/identity", Magnum: w.Magnum, Region: "RegionOne", Interface: "public", Domain: "Default", TLS: secure, Log: slog.New(slog.DiscardHandler),
		HTTP: http.Client{Timeout: time.Minute}, Now: func() time.Time { return time.Now().Add(time.Duration(w.Later.Load())) }}
	if secure {
		o.Public = &url.URL{Scheme: "https", Host: server.Listener.Addr().String()}
	}
	for _, option := range options {
		option(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.T.Cleanup(cancel)
	console, err := tenant.New(ctx, o)
	w.must(err)
	server.Config.Handler = console
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of browsers that do not trust its certificate
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	w.T.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

func (w *World) must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Await waits until something is so.
func (w *World) Await(what string, so func() bool) {
	w.T.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.T.Fatalf("waited in vain for %s", what)
		}
	}
}

func (w *World) people() {
	w.T.Helper()
	identity := w.Cloud.Admin.Identity(w.T)
	made := map[string]string{}
	for _, name := range []string{"shop", "bank"} {
		p, err := projects.Create(w.T.Context(), identity, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
		w.must(err)
		made[name] = p.ID
	}
	pages, err := roles.List(identity, nil).AllPages(w.T.Context())
	w.must(err)
	all, err := roles.ExtractRoles(pages)
	w.must(err)
	ids := map[string]string{}
	for _, r := range all {
		ids[r.Name] = r.ID
	}
	for name, places := range map[string]map[string]string{Member: {"shop": "member", "bank": "member"}, Reader: {"shop": "reader"}, Nobody: {}} {
		u, err := users.Create(w.T.Context(), identity, users.CreateOpts{Name: name, Password: Password, DomainID: "default"}).Extract()
		w.must(err)
		for project, role := range places {
			w.must(roles.Assign(w.T.Context(), identity, ids[role], roles.AssignOpts{UserID: u.ID, ProjectID: made[project]}).ExtractErr())
		}
	}
}

// As are clients of a user in a project.
func (w *World) As(user, project string) sandboxtest.Clients {
	w.T.Helper()
	return w.Cloud.Login(w.T, sandboxtest.User(user, Password, project))
}

func (w *World) things() {
	w.T.Helper()
	public := images.ImageVisibilityPublic
	for name, version := range map[string]string{"ubuntu-1.34": "v1.34.2", "ubuntu-1.35": "v1.35.1", "ubuntu-1.36": "v1.36.0"} {
		_, err := images.Create(w.T.Context(), w.Cloud.Admin.Image(w.T), images.CreateOpts{Name: name, Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare",
			Properties: map[string]string{"os_distro": "ubuntu", "kube_version": version}}).Extract()
		w.must(err)
	}
	_, err := keypairs.Create(w.T.Context(), w.As(Member, "shop").Compute(w.T), keypairs.CreateOpts{Name: "ops"}).Extract()
	w.must(err)
}

// API is a client of the Magnum API as a user in a project.
func (w *World) API(user, project string) *gophercloud.ServiceClient {
	w.T.Helper()
	return &gophercloud.ServiceClient{ProviderClient: w.As(user, project).Provider, Endpoint: w.Magnum + "/v1/", Type: "container-infra", Microversion: "1.10"}
}

// Template makes a cluster template in shop.
func (w *World) Template(name, image string) string {
	w.T.Helper()
	yes := true
	t, err := clustertemplates.Create(w.T.Context(), w.API(Member, "shop"), clustertemplates.CreateOpts{Name: name, COE: "kubernetes", ImageID: image, ExternalNetworkID: "public",
		FlavorID: "m1.large", MasterFlavorID: "m1.medium", MasterLBEnabled: &yes}).Extract()
	w.must(err)
	return t.UUID
}

// Revoke ends all tokens of a user, by a change of the password and back.
func (w *World) Revoke(user string) {
	w.T.Helper()
	identity := w.Cloud.Admin.Identity(w.T)
	pages, err := users.List(identity, users.ListOpts{Name: user}).AllPages(w.T.Context())
	w.must(err)
	found, err := users.ExtractUsers(pages)
	w.must(err)
	for _, passwords := range [][2]string{{Password, "another"}, {"another", Password}} {
		w.must(users.ChangePassword(w.T.Context(), identity, found[0].ID, users.ChangePasswordOpts{OriginalPassword: passwords[0], Password: passwords[1]}).ExtractErr())
	}
}
