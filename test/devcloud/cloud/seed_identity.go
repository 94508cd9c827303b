package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

// region is the only one.
const region = "RegionOne"

// seed makes what a new cloud begins with, as its administrator. The database
// is empty when it begins, so that it looks for nothing before.
type seed struct {
	address, password string
	// external is the prefix of the network public.
	external netip.Prefix
	// hosts is how many hypervisors there are.
	hosts int
	// emulates is Cloud.Machines.
	emulates bool
	// dashboard is Cloud.Horizon.
	dashboard bool
	// tacker says whether the cloud has one.
	tacker bool
}

// entry is a service of the catalog: what it is, and where at the cloud's address.
type entry struct{ kind, name, path string }

// catalog is what every cloud has.
var catalog = [...]entry{
	{"placement", "placement", ":8778"},
	{"image", "glance", ":9292"},
	{"compute", "nova", ":8774/v2.1"},
	{"network", "neutron", ":9696"},
	{"volumev3", "cinderv3", ":8776/v3/%(project_id)s"},
	{"block-storage", "cinder", ":8776/v3/%(project_id)s"},
	{"load-balancer", "octavia", ":9876"},
	{"key-manager", "barbican", ":9311"},
	{"object-store", "swift", ":8080/v1/AUTH_%(project_id)s"},
	{"container-infra", "magnum", ":9511/v1"},
}

// orchestration is in the catalog of a cloud with Horizon only.
var orchestration = entry{"orchestration", "heat", ":8004/v1/%(project_id)s"}

// nfv is in the catalog of a cloud with Tacker only.
var nfv = entry{"nfv-orchestration", "tacker", ":9890/"}

func (s seed) login(ctx context.Context) (*gophercloud.ProviderClient, error) {
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{IdentityEndpoint: "http://" + s.address + ":5000/v3",
		Username: "admin", Password: s.password, TenantName: "admin", DomainID: "default"})
	if err != nil {
		return nil, fmt.Errorf("logging in as admin: %w", err)
	}
	return provider, nil
}

// identity makes roles, users and the catalog.
func (s seed) identity(ctx context.Context) error {
	provider, err := s.login(ctx)
	if err != nil {
		return err
	}
	client, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: region})
	if err != nil {
		return err
	}
	k := &keystone{ServiceClient: client, password: s.password, roles: map[string]string{}}
	if err := k.makeRoles(ctx, "service", "creator", "load-balancer_member", "load-balancer_admin"); err != nil {
		return err
	}
	return errors.Join(k.makeUsers(ctx), k.makeTrustees(ctx), k.makeCatalog(ctx, "http://"+s.address, s.catalog()))
}

// keystone is a client that knows the roles by name.
type keystone struct {
	*gophercloud.ServiceClient
	password string
	roles    map[string]string
}

// makeRoles makes roles beside those that Keystone made itself.
func (k *keystone) makeRoles(ctx context.Context, names ...string) error {
	pages, err := roles.List(k.ServiceClient, nil).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("listing roles: %w", err)
	}
	known, err := roles.ExtractRoles(pages)
	if err != nil {
		return fmt.Errorf("listing roles: %w", err)
	}
	for _, r := range known {
		k.roles[r.Name] = r.ID
	}
	for _, name := range names {
		if k.roles[name] != "" {
			continue
		}
		made, err := roles.Create(ctx, k.ServiceClient, roles.CreateOpts{Name: name}).Extract()
		if err != nil {
			return fmt.Errorf("creating role %s: %w", name, err)
		}
		k.roles[name] = made.ID
	}
	return nil
}

// makeUsers makes the user of the services, and demo, who uses the cloud.
func (k *keystone) makeUsers(ctx context.Context) error {
	if err := k.makeUser(ctx, "svc", "service", "admin", "service", "member"); err != nil {
		return err
	}
	if err := k.makeUser(ctx, "demo", "demo", "member", "load-balancer_member", "creator"); err != nil {
		return err
	}
	pages, err := users.List(k.ServiceClient, users.ListOpts{Name: "admin", DomainID: "default"}).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("finding user admin: %w", err)
	}
	found, err := users.ExtractUsers(pages)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("finding user admin: %d found: %w", len(found), err)
	}
	demo, err := k.project(ctx, "demo")
	if err != nil {
		return err
	}
	admin, err := k.project(ctx, "admin")
	if err != nil {
		return err
	}
	return errors.Join(k.grant(ctx, "admin", roles.AssignOpts{UserID: found[0].ID, ProjectID: demo}),
		k.grant(ctx, "admin", roles.AssignOpts{UserID: found[0].ID, DomainID: "default"}),
		k.grant(ctx, "load-balancer_admin", roles.AssignOpts{UserID: found[0].ID, ProjectID: admin}))
}

func (k *keystone) project(ctx context.Context, name string) (id string, err error) {
	pages, err := projects.List(k.ServiceClient, projects.ListOpts{Name: name, DomainID: "default"}).AllPages(ctx)
	if err != nil {
		return "", fmt.Errorf("finding project %s: %w", name, err)
	}
	found, err := projects.ExtractProjects(pages)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("finding project %s: %d found: %w", name, len(found), err)
	}
	return found[0].ID, nil
}

// makeUser makes a user with roles on a new project.
func (k *keystone) makeUser(ctx context.Context, name, project string, granted ...string) error {
	p, err := projects.Create(ctx, k.ServiceClient, projects.CreateOpts{Name: project, DomainID: "default"}).Extract()
	if err != nil {
		return fmt.Errorf("creating project %s: %w", project, err)
	}
	u, err := users.Create(ctx, k.ServiceClient, users.CreateOpts{Name: name, DomainID: "default", Password: k.password, DefaultProjectID: p.ID}).Extract()
	if err != nil {
		return fmt.Errorf("creating user %s: %w", name, err)
	}
	for _, role := range granted {
		if err := k.grant(ctx, role, roles.AssignOpts{UserID: u.ID, ProjectID: p.ID}); err != nil {
			return err
		}
	}
	return nil
}

func (k *keystone) grant(ctx context.Context, role string, o roles.AssignOpts) error {
	if err := roles.Assign(ctx, k.ServiceClient, k.roles[role], o).ExtractErr(); err != nil {
		return fmt.Errorf("granting role %s: %w", role, err)
	}
	return nil
}

// makeTrustees makes the domain in which Magnum has a user for each cluster.
func (k *keystone) makeTrustees(ctx context.Context) error {
	domain, err := domains.Create(ctx, k.ServiceClient, domains.CreateOpts{Name: "magnum"}).Extract()
	if err != nil {
		return fmt.Errorf("creating domain magnum: %w", err)
	}
	u, err := users.Create(ctx, k.ServiceClient, users.CreateOpts{Name: "magnum_domain_admin", DomainID: domain.ID, Password: k.password}).Extract()
	if err != nil {
		return fmt.Errorf("creating Magnum's user: %w", err)
	}
	return k.grant(ctx, "admin", roles.AssignOpts{UserID: u.ID, DomainID: domain.ID})
}

// catalog is that of this cloud.
func (s seed) catalog() []entry {
	all := slices.Clone(catalog[:])
	if s.dashboard {
		all = append(all, orchestration)
	}
	if s.tacker {
		all = append(all, nfv)
	}
	return all
}

func (k *keystone) makeCatalog(ctx context.Context, base string, wanted []entry) error {
	for _, entry := range wanted {
		made, err := services.Create(ctx, k.ServiceClient, services.CreateOpts{Type: entry.kind, Extra: map[string]any{"name": entry.name}}).Extract()
		if err != nil {
			return fmt.Errorf("creating service %s: %w", entry.name, err)
		}
		for _, face := range []gophercloud.Availability{gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin} {
			o := endpoints.CreateOpts{Availability: face, Name: entry.name, Region: region, ServiceID: made.ID, URL: base + entry.path}
			if _, err := endpoints.Create(ctx, k.ServiceClient, o).Extract(); err != nil {
				return fmt.Errorf("creating endpoint %s: %w", entry.name, err)
			}
		}
	}
	return nil
}
