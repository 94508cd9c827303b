package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// Credential is an application credential with its secret. It formats without
// the secret.
type Credential struct {
	// ID in Keystone.
	ID string
	// UserID is whose it is.
	UserID string

	secret string
}

// String leaves the secret out.
func (c Credential) String() string { return "application credential " + c.ID }

// GoString leaves the secret out.
func (c Credential) GoString() string { return c.String() }

// CredentialOptions are how application credentials are made.
type CredentialOptions struct {
	// Roles are those a cluster needs; a credential has the ones of them that
	// its maker has. Empty is all the maker has.
	Roles []string
	// Region and Interface go into clouds.yaml.
	Region, Interface string
	// CACert is the authority of the cloud's certificates in PEM, or empty.
	CACert []byte
	// Insecure leaves certificates unverified.
	Insecure bool
}

// ErrRestricted says that an application credential cannot make another.
var ErrRestricted = errors.New("the token comes from a restricted application credential, which cannot make the credential a cluster needs")

// ErrNoRoles says that a caller has no role that a cluster could use.
var ErrNoRoles = errors.New("the token has none of the roles a cluster needs")

// MayMakeCredential says before anything is done whether a caller can.
func (o CredentialOptions) MayMakeCredential(t *keystone.Token) error {
	if t.Restricted {
		return fmt.Errorf("%w: log in with a password, or with one created --unrestricted", ErrRestricted)
	}
	if len(o.roles(t)) == 0 && len(o.Roles) > 0 {
		return fmt.Errorf("%w: %s", ErrNoRoles, strings.Join(o.Roles, ", "))
	}
	return nil
}

func (o CredentialOptions) roles(t *keystone.Token) []applicationcredentials.Role {
	var roles []applicationcredentials.Role
	for _, name := range t.Roles {
		if slices.ContainsFunc(o.Roles, func(r string) bool { return strings.EqualFold(r, name) }) {
			roles = append(roles, applicationcredentials.Role{Name: name})
		}
	}
	return roles
}

// Lacks reports whether a credential of the caller would lack one of roles that a cluster needs.
func (o CredentialOptions) Lacks(t *keystone.Token, roles []string) bool {
	return slices.ContainsFunc(roles, func(name string) bool {
		needed := len(o.Roles) == 0 || slices.ContainsFunc(o.Roles, func(r string) bool { return strings.EqualFold(r, name) })
		return needed && !t.HasRole(name)
	})
}

// MakeCredential makes an application credential of the caller on the caller's
// project: restricted, without an end.
func (c *Cloud) MakeCredential(ctx context.Context, t *keystone.Token, o CredentialOptions, name, description string) (Credential, error) {
	object := fmt.Sprintf("application credential %q", name)
	client, err := c.identity(t, object)
	if err != nil {
		return Credential{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	made, err := applicationcredentials.Create(ctx, client, t.UserID, applicationcredentials.CreateOpts{
		Name: name, Description: description, Roles: o.roles(t)}).Extract()
	if err != nil {
		return Credential{}, failed(object, err)
	}
	return Credential{ID: made.ID, UserID: t.UserID, secret: made.Secret}, nil
}

// DropCredential deletes a credential that was made in vain; one that is gone
// is no error.
func (c *Cloud) DropCredential(ctx context.Context, t *keystone.Token, credential Credential) error {
	object := credential.String()
	client, err := c.identity(t, object)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err = failed(object, applicationcredentials.Delete(ctx, client, credential.UserID, credential.ID).ExtractErr())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// SecretData is what goes into the cluster's Secret: clouds.yaml with the cloud
// "openstack", and cacert, as magnum-capi-helm writes them.
func (o CredentialOptions) SecretData(t *keystone.Token, credential Credential) (map[string][]byte, error) {
	face := o.Interface
	if face == "" {
		face = "public"
	}
	clouds, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"openstack": map[string]any{
		"auth": map[string]string{
			"auth_url":                      strings.TrimSuffix(t.Endpoint("identity"), "/v3") + "/v3",
			"application_credential_id":     credential.ID,
			"application_credential_secret": credential.secret,
		},
		"auth_type": "v3applicationcredential", "identity_api_version": 3,
		"region_name": o.Region, "interface": face, "verify": !o.Insecure,
	}}})
	if err != nil {
		return nil, fmt.Errorf("writing clouds.yaml: %w", err)
	}
	data := map[string][]byte{"clouds.yaml": clouds}
	if len(o.CACert) > 0 {
		data["cacert"] = o.CACert
	}
	return data, nil
}

// CredentialRoles logs in with the credential in a cluster's Secret and returns the names of its
// roles. It asks the Keystone of the caller.
func (c *Cloud) CredentialRoles(ctx context.Context, t *keystone.Token, data map[string][]byte) ([]string, error) {
	const object = "the cluster's application credential"
	client, err := c.identity(t, object)
	if err != nil {
		return nil, err
	}
	var document struct {
		Clouds map[string]struct {
			Auth struct {
				ID     string `yaml:"application_credential_id"`
				Secret string `yaml:"application_credential_secret"`
			} `yaml:"auth"`
		} `yaml:"clouds"`
	}
	err = yaml.Unmarshal(data["clouds.yaml"], &document)
	login := document.Clouds["openstack"].Auth
	if err != nil || login.ID == "" || login.Secret == "" { // the parser's words would quote secrets
		return nil, &Error{Object: object, Reason: ErrRefused, Detail: "its clouds.yaml cannot be read"}
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	roles, err := tokens.Create(ctx, client, &tokens.AuthOptions{ApplicationCredentialID: login.ID, ApplicationCredentialSecret: login.Secret}).ExtractRoles()
	if err != nil {
		return nil, failed(object, err)
	}
	var names []string
	for _, role := range roles {
		names = append(names, role.Name)
	}
	return names, nil
}
