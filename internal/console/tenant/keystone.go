package tenant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// unscoped asks for a token of no project, also for users that have a default project. It
// tells apart that a password is wrong from that a user has no role in a project, which
// Keystone answers alike.
type unscoped struct{ *gophercloud.AuthOptions }

// ToTokenV3CreateMap makes the request.
func (u unscoped) ToTokenV3CreateMap(map[string]any) (map[string]any, error) {
	body, err := u.AuthOptions.ToTokenV3CreateMap(nil)
	if err != nil {
		return nil, err
	}
	body["auth"].(map[string]any)["scope"] = "unscoped" //nolint:forcetypeassert // gophercloud makes it so
	return body, nil
}

// login asks Keystone for a token. Without one the mistakes are in the form, and status is
// that of the answer.
func (s *Server) login(ctx context.Context, in *signIn) (v *visitor, ends time.Time, status int) {
	provider, err := s.provider()
	if err == nil && in.How == "credential" {
		err = openstack.AuthenticateV3(ctx, provider, &gophercloud.AuthOptions{ApplicationCredentialID: in.CredentialID, ApplicationCredentialSecret: in.secret}, gophercloud.EndpointOpts{})
	} else if err == nil && in.How == "provider" {
		provider.SetToken(in.secret)
		err = s.intoProject(ctx, provider, in)
	} else if err == nil {
		err = s.byPassword(ctx, provider, in)
	}
	if in.ProjectError != nil {
		return nil, ends, http.StatusForbidden
	}
	if err == nil {
		v, ends, err = s.signedIn(provider)
	}
	if err != nil {
		return nil, ends, in.refused(err)
	}
	return v, ends, http.StatusOK
}

// refused puts what Keystone says where it belongs.
func (in *signIn) refused(err error) int {
	p := explain(err)
	switch {
	case errors.As(err, new(gophercloud.ErrUnexpectedResponseCode)) && p.Status < http.StatusInternalServerError && in.How == "credential":
		in.CredentialError = words.T("Keystone does not know this application credential with this secret, or it has expired.")
		return http.StatusUnauthorized
	case p.Status == http.StatusUnauthorized && in.How == "provider":
		in.Error = words.T("Keystone does not take its own token of this sign-in. Sign in again.")
		return http.StatusUnauthorized
	case p.Status == http.StatusUnauthorized:
		in.UserError = words.T("User name, domain or password is wrong, or the user is disabled.")
		return http.StatusUnauthorized
	}
	in.Error = words.T("Keystone did not sign you in: %s", p.Detail)
	return http.StatusBadGateway
}

func (s *Server) provider() (*gophercloud.ProviderClient, error) {
	provider, err := openstack.NewClient(strings.TrimSuffix(strings.TrimSuffix(s.o.Keystone, "/"), "/v3") + "/v3/")
	if err != nil {
		return nil, fmt.Errorf("address of Keystone: %w", err)
	}
	provider.HTTPClient = s.o.HTTP
	provider.UserAgent.Prepend("slipway-console")
	return provider, nil
}

// domained is a domain by its name; Keystone's first one is known by its ID as well.
func domained(name string) (id, byName string) {
	if name == "" || name == "default" || name == "Default" {
		return "default", ""
	}
	return "", name
}

// byPassword asks for a token of no project, and exchanges it for one of a project.
func (s *Server) byPassword(ctx context.Context, provider *gophercloud.ProviderClient, in *signIn) error {
	who := &gophercloud.AuthOptions{Username: in.User, Password: in.secret}
	who.DomainID, who.DomainName = domained(in.Domain)
	if err := openstack.AuthenticateV3(ctx, provider, unscoped{who}, gophercloud.EndpointOpts{}); err != nil {
		return err
	}
	return s.intoProject(ctx, provider, in)
}

// intoProject finds the project, and exchanges the token of no project for one of it.
func (s *Server) intoProject(ctx context.Context, provider *gophercloud.ProviderClient, in *signIn) error {
	keystone := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: provider.IdentityBase + "v3/"}
	pages, err := projects.ListAvailable(keystone).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("listing your projects: %w", err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil {
		return fmt.Errorf("listing your projects: %w", err)
	}
	id := in.choose(all)
	if id == "" {
		return nil
	}
	token := provider.Token()
	return openstack.AuthenticateV3(ctx, provider, &gophercloud.AuthOptions{TokenID: token, Scope: &gophercloud.AuthScope{ProjectID: id}}, gophercloud.EndpointOpts{})
}

// choose finds the project that is meant among those in which the user has a role.
func (in *signIn) choose(all []projects.Project) string {
	var found []string
	in.Projects = nil
	of := map[string]int{} // projects of a name: each domain may have one
	for _, p := range all {
		if p.Enabled {
			of[p.Name]++
		}
	}
	for _, p := range all {
		if !p.Enabled {
			continue
		}
		one := pair{p.Name, p.Name}
		if of[p.Name] > 1 {
			one = pair{p.Name + " · " + p.ID, p.ID}
		}
		in.Projects = append(in.Projects, one)
		if in.Project == "" || in.Project == p.Name || in.Project == p.ID {
			found = append(found, p.ID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(in.Projects) == 0:
		in.ProjectError = words.T("You have no role in any project. Ask your cloud's operator for one.")
	case in.Project == "":
		in.ProjectError = words.T("You have several projects. Choose one.")
	case len(found) > 1:
		in.ProjectError = words.T("You have several projects of this name. Type the ID of one.")
	default:
		in.ProjectError = words.T("You have no role in this project, or it does not exist.")
	}
	return ""
}

// signedIn is who has just signed in.
func (s *Server) signedIn(provider *gophercloud.ProviderClient) (*visitor, time.Time, error) {
	result, ok := provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return nil, time.Time{}, errors.New("Keystone gave no token")
	}
	return s.newVisitor(provider, result)
}

// tokenResult is an answer of Keystone about a token.
type tokenResult interface {
	ExtractToken() (*tokens.Token, error)
	ExtractUser() (*tokens.User, error)
	ExtractProject() (*tokens.Project, error)
}

// newVisitor reads whose a token is.
func (s *Server) newVisitor(provider *gophercloud.ProviderClient, result tokenResult) (*visitor, time.Time, error) {
	token, err := result.ExtractToken()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the token: %w", err)
	}
	user, err := result.ExtractUser()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the token: %w", err)
	}
	project, err := result.ExtractProject()
	if err != nil || project == nil {
		return nil, time.Time{}, errors.Join(errors.New("the token is of no project"), err)
	}
	v := &visitor{o: &s.o, provider: provider, user: user.Name, userID: user.ID, project: project.Name, projectID: project.ID}
	v.watch(s.ctx)
	return v, token.ExpiresAt, nil
}

// restore is whose token a session has that another replica, or this one before it was
// started again, has begun.
func (s *Server) restore(ctx context.Context, token string) (*visitor, error) {
	provider, err := s.provider()
	if err != nil {
		return nil, err
	}
	provider.SetToken(token)
	keystone := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: provider.IdentityBase + "v3/"}
	result := tokens.Get(ctx, keystone, token)
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		s.o.Log.InfoContext(ctx, "a session was not restored", "error", explain(err).Detail.String())
		return nil, err
	}
	lasting := context.WithoutCancel(ctx) // the session outlives the request
	provider.EndpointLocator = func(o gophercloud.EndpointOpts) (string, error) {
		return openstack.V3Endpoint(lasting, provider, catalog, o)
	}
	v, _, err := s.newVisitor(provider, result)
	return v, err
}

// revokeTime bounds the last call of a session.
const revokeTime = 5 * time.Second

// revoke ends the token, and reports whether Keystone did so.
func (v *visitor) revoke(ctx context.Context) bool {
	v.gone.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTime)
	defer cancel()
	keystone := &gophercloud.ServiceClient{ProviderClient: v.provider, Endpoint: v.provider.IdentityBase + "v3/"}
	err := tokens.Revoke(ctx, keystone, v.provider.Token()).Err
	if err != nil {
		v.o.Log.WarnContext(ctx, "a token was not revoked; it ends by itself", "user_id", v.userID, "error", explain(err).Detail.String())
	}
	return err == nil
}
