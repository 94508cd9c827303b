package openstack

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// ServiceProjectInputs are the inputs of the project of service users.
type ServiceProjectInputs struct {
	Ownership
	// Name is usually "service". An existing project is borrowed: it stays when the
	// environment is deleted. So does one that we made if others have roles in it by then.
	Name string `pulumi:"name" diff:"replace"`
}

// ServiceProjectState is the state of a project.
type ServiceProjectState struct {
	ServiceProjectInputs
	Borrowed bool `pulumi:"borrowed"`
}

func (s ServiceProjectState) inputs() ServiceProjectInputs { return s.ServiceProjectInputs }

// ServiceProject is the project of service users in a program.
type ServiceProject struct{ pulumi.CustomResourceState }

// NewServiceProject adds the project to the program.
func NewServiceProject(ctx *pulumi.Context, in ServiceProjectInputs, options ...pulumi.ResourceOption) (*ServiceProject, error) {
	r := &ServiceProject{}
	return r, register(ctx, "ServiceProject", in, nil, r, options)
}

type serviceProject struct {
	controller[ServiceProjectInputs, ServiceProjectState]
}

// Annotate names the resource's type.
func (*serviceProject) Annotate(a infer.Annotator) { a.SetToken("openstack", "ServiceProject") }

type serviceProjectKind struct {
	administrator Administrator
	clients       Clients
}

func (serviceProjectKind) word() string { return "project" }

func (k serviceProjectKind) find(ctx context.Context, in ServiceProjectInputs) (string, error) {
	client, domain, err := k.administrator(ctx)
	if err != nil {
		return "", err
	}
	pages, err := projects.List(client, projects.ListOpts{Name: in.Name, DomainID: domain}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := projects.ExtractProjects(pages)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0].ID, nil
}

func (k serviceProjectKind) make(ctx context.Context, in ServiceProjectInputs) (string, error) {
	client, domain, err := k.administrator(ctx)
	if err != nil {
		return "", err
	}
	made, err := projects.Create(ctx, client, projects.CreateOpts{Name: in.Name, DomainID: domain, Description: in.mark().DescriptionIn(k.clients.Region())}).Extract()
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

func (k serviceProjectKind) settle(ctx context.Context, id string, in ServiceProjectInputs) (ServiceProjectState, error) {
	return k.read(ctx, id, in)
}

func (k serviceProjectKind) read(ctx context.Context, id string, in ServiceProjectInputs) (ServiceProjectState, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return ServiceProjectState{}, err
	}
	found, err := projects.Get(ctx, client, id).Extract()
	if err != nil {
		return ServiceProjectState{}, gone(err)
	}
	mark, ours := ownership.FromDescription(found.Description)
	in.Name = found.Name
	return ServiceProjectState{in, !ours || mark != in.mark() || Belongs(k.clients, found.Description) != Here}, nil
}

func (k serviceProjectKind) remove(ctx context.Context, id string, state ServiceProjectState) error {
	if state.Borrowed {
		return nil
	}
	client, _, err := k.administrator(ctx)
	if err != nil {
		return err
	}
	if used, err := inUse(ctx, client, id); err != nil || used {
		return err
	}
	return gone(projects.Delete(ctx, client, id).ExtractErr())
}

// inUse reports whether anybody has a role in the project. Our own users are gone by then: who is
// left is of others, such as the environment of this name in another region, which borrows it.
func inUse(ctx context.Context, client *gophercloud.ServiceClient, id string) (bool, error) {
	pages, err := roles.ListAssignments(client, roles.ListAssignmentsOpts{ScopeProjectID: id}).AllPages(ctx)
	if err != nil {
		return false, fmt.Errorf("listing who has a role in it: %w", err)
	}
	list, err := roles.ExtractRoleAssignments(pages)
	return len(list) > 0, err
}
