package cloud

import (
	"context"
	"errors"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Role is a role in a project.
type Role struct{ ID, Name string }

// Grant is what Keystone granted with a token.
type Grant struct {
	UserID string
	// Project is the scope, DomainID the project's domain.
	ProjectID, ProjectName, DomainID string
	// Roles are those in the project, implied ones too.
	Roles []Role
}

// Missing are the names of roles that the grant does not have.
func (g Grant) Missing(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(g.Roles, func(r Role) bool { return r.Name == name })
	})
}

// Grant returns what Keystone granted with the login. It sends no request.
func (c *Cloud) Grant() (Grant, error) {
	answer, ok := c.Provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return Grant{}, fault.New("cloud "+c.Name, errors.New("Keystone does not say what the login may do"), "log in with the Identity API v3")
	}
	user, err := answer.ExtractUser()
	if err != nil {
		return Grant{}, c.Fault("token", err)
	}
	project, err := answer.ExtractProject()
	if err != nil {
		return Grant{}, c.Fault("token", err)
	}
	roles, err := answer.ExtractRoles()
	if err != nil {
		return Grant{}, c.Fault("token", err)
	}
	g := Grant{UserID: user.ID}
	if project != nil {
		g.ProjectID, g.ProjectName, g.DomainID = project.ID, project.Name, project.Domain.ID
	}
	for _, role := range roles {
		g.Roles = append(g.Roles, Role{role.ID, role.Name})
	}
	return g, nil
}

// CheckScope refuses a login that cannot be used for another project than its own.
func (c *Cloud) CheckScope() error {
	auth := c.login.auth
	object, remedy := "cloud "+c.Name, "log in with a user and a password in clouds.yaml"
	switch {
	case auth.ApplicationCredentialID+auth.ApplicationCredentialName+auth.ApplicationCredentialSecret != "":
		return fault.Usage(object, errors.New("it logs in with an application credential, which belongs to one project"), remedy)
	case auth.Scope != nil && auth.Scope.TrustID != "":
		return fault.Usage(object, errors.New("it logs in with a trust, which belongs to one project"), remedy)
	}
	return nil
}

// In logs in to another project as the same user.
func (c *Cloud) In(ctx context.Context, projectID string) (*Cloud, error) {
	if err := c.CheckScope(); err != nil {
		return nil, err
	}
	login := *c.login
	login.auth.Scope = &gophercloud.AuthScope{ProjectID: projectID}
	return login.Open(ctx, c.userAgent)
}

// ProjectOf is the project of a client's login; "" for one that has none.
func ProjectOf(client *gophercloud.ServiceClient) string {
	answer, ok := client.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return ""
	}
	project, err := answer.ExtractProject()
	if err != nil || project == nil {
		return ""
	}
	return project.ID
}
