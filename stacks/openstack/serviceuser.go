package openstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// ServiceUserInputs are the inputs of a user with which one of our services logs in.
type ServiceUserInputs struct {
	Ownership
	// ProjectID is the project in which the user has the role.
	ProjectID string `pulumi:"projectID" diff:"replace"`
	Role      string `pulumi:"role" diff:"replace"`
}

// ServiceUserState is the state of a service user.
type ServiceUserState struct {
	ServiceUserInputs
	Password string `pulumi:"password" provider:"secret"`
}

func (s ServiceUserState) inputs() ServiceUserInputs { return s.ServiceUserInputs }

// ServiceUser is a service user in a program; its ID and password log in.
type ServiceUser struct {
	pulumi.CustomResourceState
	Password pulumi.StringOutput `pulumi:"password"`
}

// NewServiceUser adds a service user to the program.
func NewServiceUser(ctx *pulumi.Context, in ServiceUserInputs, project pulumi.StringInput, options ...pulumi.ResourceOption) (*ServiceUser, error) {
	r := &ServiceUser{}
	return r, register(ctx, "ServiceUser", in, pulumi.Map{"projectID": project}, r, append(options, pulumi.AdditionalSecretOutputs([]string{"password"})))
}

type serviceUser struct {
	controller[ServiceUserInputs, ServiceUserState]
}

// Annotate names the resource's type.
func (*serviceUser) Annotate(a infer.Annotator) { a.SetToken("openstack", "ServiceUser") }

// WireDependencies marks the password as secret.
func (*serviceUser) WireDependencies(f infer.FieldSelector, _ *ServiceUserInputs, s *ServiceUserState) {
	f.OutputField(&s.Password).AlwaysSecret()
}

// Read keeps the password, which Keystone does not return.
func (u *serviceUser) Read(ctx context.Context, r infer.ReadRequest[ServiceUserInputs, ServiceUserState]) (infer.ReadResponse[ServiceUserInputs, ServiceUserState], error) {
	response, err := u.controller.Read(ctx, r)
	response.State.Password = r.State.Password
	return response, err
}

type serviceUserKind struct {
	administrator Administrator
	clients       Clients
}

func (serviceUserKind) word() string { return "user" }

// names are those that the user can have. All regions and projects of a cloud have the same users:
// the second environment of a name appends its region, or its project.
func (k serviceUserKind) names(in ServiceUserInputs) []string {
	name := in.mark().Name()
	names := []string{name}
	for _, more := range []string{k.clients.Region(), k.project()} {
		if more != "" {
			names = append(names, name+"-"+more)
		}
	}
	return names
}

// project is that of the environment; "" if the login does not say.
func (k serviceUserKind) project() string { return homeOf(k.clients) }

// here reports whether a user with our mark is of the environment in this region and project. One
// of a time before descriptions had projects is.
func (k serviceUserKind) here(description string) bool {
	project, ours := ownership.ProjectIn(description), k.project()
	return Belongs(k.clients, description) == Here && (project == "" || ours == "" || project == ours)
}

func (k serviceUserKind) find(ctx context.Context, in ServiceUserInputs) (string, error) {
	return k.findWhere(ctx, in, k.here) // settle would end the password of another's
}

// findWhere looks for a user with our mark whose description fits.
func (k serviceUserKind) findWhere(ctx context.Context, in ServiceUserInputs, fits func(description string) bool) (string, error) {
	client, domain, err := k.administrator(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range k.names(in) {
		pages, err := users.List(client, users.ListOpts{Name: name, DomainID: domain}).AllPages(ctx)
		if err != nil {
			return "", err
		}
		list, err := users.ExtractUsers(pages)
		if err != nil {
			return "", err
		}
		if len(list) == 0 {
			continue
		}
		if mark, ok := ownership.FromDescription(list[0].Description); !ok || mark != in.mark() {
			return "", foreign(k.word(), list[0].Name, list[0].ID)
		}
		if fits(list[0].Description) {
			return list[0].ID, nil
		}
	}
	return "", nil
}

// make creates the user without a password; settle sets it.
func (k serviceUserKind) make(ctx context.Context, in ServiceUserInputs) (string, error) {
	client, domain, err := k.administrator(ctx)
	if err != nil {
		return "", err
	}
	var made *users.User
	for _, name := range k.names(in) {
		made, err = users.Create(ctx, client, users.CreateOpts{Name: name, DomainID: domain, Description: in.mark().DescriptionOf(k.clients.Region(), k.project()), Password: rand.Text()}).Extract()
		if !gophercloud.ResponseCodeIs(err, http.StatusConflict) { // find has seen that it is of another region or project
			break
		}
	}
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// settle assigns the role to the user, and sets a new password: an earlier one is only in a
// state, which may be lost.
func (k serviceUserKind) settle(ctx context.Context, id string, in ServiceUserInputs) (ServiceUserState, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return ServiceUserState{}, err
	}
	if err := assign(ctx, client, id, in); err != nil {
		return ServiceUserState{}, err
	}
	password := rand.Text() + rand.Text()
	if _, err := users.Update(ctx, client, id, users.UpdateOpts{Password: password}).Extract(); err != nil {
		return ServiceUserState{}, fmt.Errorf("setting the password: %w", err)
	}
	return ServiceUserState{in, password}, nil
}

// assign assigns the role in the project to the user.
func assign(ctx context.Context, client *gophercloud.ServiceClient, id string, in ServiceUserInputs) error {
	pages, err := roles.List(client, roles.ListOpts{Name: in.Role}).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := roles.ExtractRoles(pages)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fault.New("role "+in.Role, errors.New("Keystone has no role with this name"), "run openstack role create "+in.Role)
	}
	if err := roles.Assign(ctx, client, list[0].ID, roles.AssignOpts{UserID: id, ProjectID: in.ProjectID}).ExtractErr(); err != nil {
		return fmt.Errorf("assigning role %s: %w", in.Role, err)
	}
	return nil
}

func (k serviceUserKind) read(ctx context.Context, id string, in ServiceUserInputs) (ServiceUserState, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return ServiceUserState{}, err
	}
	if _, err := users.Get(ctx, client, id).Extract(); err != nil {
		return ServiceUserState{}, gone(err)
	}
	return ServiceUserState{ServiceUserInputs: in}, nil
}

func (k serviceUserKind) remove(ctx context.Context, id string, _ ServiceUserState) error {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return err
	}
	return gone(users.Delete(ctx, client, id).ExtractErr())
}
