package stacks_test

import (
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/rbacpolicies"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// neighbour is a user of another project of the cloud.
func neighbour(t *testing.T, cloud *sandboxtest.Cloud) sandboxtest.Clients {
	t.Helper()
	identity := cloud.Admin.Identity(t)
	project := must[*projects.Project](t)(projects.Create(t.Context(), identity, projects.CreateOpts{Name: "evil", DomainID: "default"}).Extract())
	user := must[*users.User](t)(users.Create(t.Context(), identity, users.CreateOpts{Name: "mallory", Password: "secret", DomainID: "default"}).Extract())
	pages, err := roles.List(identity, roles.ListOpts{Name: "member"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := must[[]roles.Role](t)(roles.ExtractRoles(pages))
	if err := roles.Assign(t.Context(), identity, all[0].ID, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	return cloud.Login(t, sandboxtest.User("mallory", "secret", "evil"))
}

// lent are a neighbour's network, subnet and security group with the names, tags
// and descriptions of an environment's steps, shared with its project: Neutron
// asks nobody there.
type lent struct{ network, subnet, group string }

func lend(t *testing.T, from sandboxtest.Clients, to string) lent {
	t.Helper()
	client := from.Network(t)
	share := func(kind, id string) {
		if _, err := rbacpolicies.Create(t.Context(), client, rbacpolicies.CreateOpts{Action: rbacpolicies.ActionAccessShared, ObjectType: kind, ObjectID: id, TargetTenant: to}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(plural, id string, m ownership.Owner) {
		if _, err := attributestags.ReplaceAll(t.Context(), client, plural, id, attributestags.ReplaceAllOpts{Tags: m.Tags()}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	m := ownership.New("prod", stacks.StepNetwork)
	network := must[*networks.Network](t)(networks.Create(t.Context(), client, networks.CreateOpts{Name: m.Name(), Description: m.Description()}).Extract())
	mark("networks", network.ID, m)
	m = ownership.New("prod", stacks.StepSubnet)
	subnet := must[*subnets.Subnet](t)(subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: network.ID, Name: m.Name(), Description: m.Description(),
		IPVersion: 4, CIDR: "10.66.0.0/24"}).Extract())
	mark("subnets", subnet.ID, m)
	m = ownership.New("prod", stacks.StepAccess)
	group := must[*groups.SecGroup](t)(groups.Create(t.Context(), client, groups.CreateOpts{Name: m.Name(), Description: m.Description()}).Extract())
	mark("security-groups", group.ID, m)
	share("network", network.ID)
	share("security_group", group.ID)
	return lent{network.ID, subnet.ID, group.ID}
}

// Another project lends the operator's its network, subnet and security group,
// under our names and with our tags. Up must not build on them, for their owner
// would see the seed's traffic and choose who reaches it; down must not touch them.
func TestAnotherProjectCannotLendItsNetworkToAnEnvironment(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	mallory := neighbour(t, cloud)
	client, _ := w.clients.Network()
	mine := must[*groups.SecGroup](t)(groups.Create(t.Context(), client, groups.CreateOpts{Name: "of the operator's project"}).Extract())
	theirs := lend(t, mallory, mine.ProjectID)
	if n := must[*networks.Network](t)(networks.Get(t.Context(), client, theirs.network).Extract()); n.Name != "prod-network" || !slices.Contains(n.Tags, ownership.Tag) {
		t.Fatalf("the attempt is none: %+v", n)
	}
	w.up(t)
	for _, thing := range w.things(t) {
		if slices.Contains([]string{theirs.network, theirs.subnet, theirs.group}, thing.ID) {
			t.Errorf("%s %s of another project is taken for the environment's", thing.Type, thing.Name)
		}
	}
	port := must[*ports.Port](t)(ports.Get(t.Context(), client, w.only(t, stacks.StepPort).ID).Extract())
	if port.NetworkID == theirs.network || slices.Contains(port.SecurityGroups, theirs.group) {
		t.Errorf("the seed is on network %s with groups %v: those are another project's", port.NetworkID, port.SecurityGroups)
	}
	if err := w.inventory.Sweep(t.Context(), w.things(t), w.events); err != nil {
		t.Errorf("sweep: %v", err)
	}
	other := mallory.Network(t)
	if _, err := networks.Get(t.Context(), other, theirs.network).Extract(); err != nil {
		t.Errorf("their network: %v", err)
	}
	if _, err := subnets.Get(t.Context(), other, theirs.subnet).Extract(); err != nil {
		t.Errorf("their subnet: %v", err)
	}
	if _, err := groups.Get(t.Context(), other, theirs.group).Extract(); err != nil {
		t.Errorf("their security group: %v", err)
	}
}

// An operator who is an administrator is shown the resources of all projects. An
// environment of the same name in another project is not theirs to sweep.
func TestAnAdministratorsSweepStaysInItsProject(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	mallory := neighbour(t, cloud)
	pages, err := projects.List(cloud.Admin.Identity(t), projects.ListOpts{Name: "demo"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := lend(t, mallory, must[[]projects.Project](t)(projects.ExtractProjects(pages))[0].ID)
	w.clients.provider = cloud.Admin.Provider
	w.inventory.Clients = w.clients
	admin, _ := w.clients.Network()
	if seen := must[*networks.Network](t)(networks.Get(t.Context(), admin, theirs.network).Extract()); seen.Name != "prod-network" {
		t.Fatalf("the attempt is none: %+v", seen)
	}
	if found := w.things(t); len(found) > 0 {
		t.Errorf("found in another project: %+v", found)
	}
}
