package openstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// ApplicationCredentialInputs are the inputs of an application credential.
// Keystone changes none of them in place.
type ApplicationCredentialInputs struct {
	Ownership
	// Roles are names of roles; none means all that the user has in the project.
	Roles        []string `pulumi:"roles,optional" diff:"replace"`
	Unrestricted bool     `pulumi:"unrestricted,optional" diff:"replace"`
	// Lifetime in seconds; 0 means that it does not expire. A credential is replaced
	// when less than a third of its lifetime is left.
	Lifetime    int          `pulumi:"lifetime,optional" diff:"replace"`
	AccessRules []AccessRule `pulumi:"accessRules,optional" diff:"replace"`
	// Trigger replaces the credential whenever it changes.
	Trigger string `pulumi:"trigger,optional" diff:"replace"`
}

// AccessRule allows one kind of call; without access rules every call is allowed.
type AccessRule struct {
	Service string `pulumi:"service" json:"service"`
	Method  string `pulumi:"method" json:"method"`
	Path    string `pulumi:"path" json:"path"`
}

// ApplicationCredentialState is the state of an application credential.
type ApplicationCredentialState struct {
	ApplicationCredentialInputs
	Name string `pulumi:"name"`
	// ExpiresAt is an RFC 3339 time; empty means never.
	ExpiresAt string `pulumi:"expiresAt"`
	Secret    string `pulumi:"secret" provider:"secret"`
}

func (s ApplicationCredentialState) inputs() ApplicationCredentialInputs {
	return s.ApplicationCredentialInputs
}

// ApplicationCredential is an application credential in a program. Its ID and its secret
// log in.
type ApplicationCredential struct {
	pulumi.CustomResourceState
	Secret pulumi.StringOutput `pulumi:"secret"`
}

// NewApplicationCredential adds an application credential to the program.
func NewApplicationCredential(ctx *pulumi.Context, in ApplicationCredentialInputs, options ...pulumi.ResourceOption) (*ApplicationCredential, error) {
	r := &ApplicationCredential{}
	return r, register(ctx, "ApplicationCredential", in, nil, r, append(options, pulumi.AdditionalSecretOutputs([]string{"secret"})))
}

type applicationCredential struct {
	controller[ApplicationCredentialInputs, ApplicationCredentialState]
}

// Annotate names the resource's type.
func (*applicationCredential) Annotate(a infer.Annotator) {
	a.SetToken("openstack", "ApplicationCredential")
}

// WireDependencies marks the secret as secret.
func (*applicationCredential) WireDependencies(f infer.FieldSelector, _ *ApplicationCredentialInputs, s *ApplicationCredentialState) {
	f.OutputField(&s.Secret).AlwaysSecret()
}

// Diff creates the new credential before the old one is revoked, because its users must get
// it first.
func (c *applicationCredential) Diff(ctx context.Context, r infer.DiffRequest[ApplicationCredentialInputs, ApplicationCredentialState]) (infer.DiffResponse, error) {
	response, err := c.controller.Diff(ctx, r)
	response.DeleteBeforeReplace = false
	if ends, known := r.State.expiry(); known && time.Until(ends) < time.Duration(r.Inputs.Lifetime)*time.Second/3 {
		response.HasChanges = true
		response.DetailedDiff["lifetime"] = p.PropertyDiff{Kind: p.UpdateReplace, InputDiff: true}
	}
	return response, err
}

// expiry returns when the credential expires, if it does.
func (s ApplicationCredentialState) expiry() (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, s.ExpiresAt)
	return at, err == nil
}

// credentialKind creates credentials whose names end in a hash of the inputs, so that an
// old and a new one can exist at the same time.
type credentialKind struct {
	Clients
	userID string
}

func (credentialKind) word() string { return "application credential" }

// name ends in a hash of the inputs, of the project and of the region, because names are unique
// among all of a user's credentials: those of an environment of this name in another project or
// region stay apart. With a lifetime it includes which third of one it is
// made in: the next credential, which is made two thirds later at the earliest, gets another
// name, and a run that goes on after a killed one the same.
func (in ApplicationCredentialInputs) name(project, region string) string {
	text, _ := json.Marshal(in) // plain fields: it cannot fail
	text = append(text, project...)
	if region != "" {
		text = append(text, "/"+region...)
	}
	if in.Lifetime > 0 {
		third := time.Duration(in.Lifetime) * time.Second / 3
		text = time.Now().UTC().Truncate(third).AppendFormat(text, time.RFC3339Nano)
	}
	sum := sha256.Sum256(text)
	return in.mark().Name() + "-" + hex.EncodeToString(sum[:4])
}

// find always returns none: the secret of an existing credential cannot be read again. It
// revokes one that a killed run or a lost state left behind.
func (k credentialKind) find(ctx context.Context, in ApplicationCredentialInputs) (string, error) {
	client, err := k.Identity()
	if err != nil {
		return "", err
	}
	name := in.name(projectOf(client), k.Region())
	pages, err := applicationcredentials.List(client, k.userID, applicationcredentials.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := applicationcredentials.ExtractApplicationCredentials(pages)
	if err != nil {
		return "", err
	}
	for _, c := range list {
		if c.Name != name {
			continue
		}
		if mark, ok := ownership.FromDescription(c.Description); !ok || mark != in.mark() {
			return "", foreign(k.word(), c.Name, c.ID)
		}
		if err := skipGone(k.remove(ctx, c.ID, ApplicationCredentialState{})); err != nil {
			return "", fmt.Errorf("revoking one whose secret is lost: %w", err)
		}
	}
	return "", nil
}

// make is not used: Create below keeps the secret, which Keystone returns only once.
func (k credentialKind) make(context.Context, ApplicationCredentialInputs) (string, error) {
	return "", fmt.Errorf("application credentials are made by Create")
}

// Create creates the credential and keeps its secret.
func (c *applicationCredential) Create(ctx context.Context, r infer.CreateRequest[ApplicationCredentialInputs]) (infer.CreateResponse[ApplicationCredentialState], error) {
	k := c.kind.(credentialKind)
	response := infer.CreateResponse[ApplicationCredentialState]{Output: ApplicationCredentialState{ApplicationCredentialInputs: r.Inputs}}
	client, err := k.Identity()
	if err != nil {
		return response, c.explain("creating", r.Inputs, err)
	}
	response.Output.Name = r.Inputs.name(projectOf(client), k.Region())
	if r.DryRun {
		return response, nil
	}
	err = again(ctx, func() error {
		if _, err := k.find(ctx, r.Inputs); err != nil {
			return err
		}
		made, err := k.create(ctx, r.Inputs)
		if err == nil {
			response.ID, response.Output = made.ID, r.Inputs.state(made)
			response.Output.Secret = made.Secret
		}
		return err
	})
	return response, c.explain("creating", r.Inputs, err)
}

func (k credentialKind) create(ctx context.Context, in ApplicationCredentialInputs) (*applicationcredentials.ApplicationCredential, error) {
	client, err := k.Identity()
	if err != nil {
		return nil, err
	}
	options := applicationcredentials.CreateOpts{Name: in.name(projectOf(client), k.Region()), Description: in.mark().DescriptionIn(k.Region()), Unrestricted: in.Unrestricted}
	for _, role := range in.Roles {
		options.Roles = append(options.Roles, applicationcredentials.Role{Name: role})
	}
	for _, rule := range in.AccessRules {
		options.AccessRules = append(options.AccessRules, applicationcredentials.AccessRule{Service: rule.Service, Method: rule.Method, Path: rule.Path})
	}
	if in.Lifetime > 0 {
		at := time.Now().UTC().Add(time.Duration(in.Lifetime) * time.Second)
		options.ExpiresAt = &at
	}
	return applicationcredentials.Create(ctx, client, k.userID, options).Extract()
}

func (k credentialKind) settle(ctx context.Context, id string, in ApplicationCredentialInputs) (ApplicationCredentialState, error) {
	return k.read(ctx, id, in)
}

// Read keeps the secret, which Keystone does not return again.
func (c *applicationCredential) Read(ctx context.Context, r infer.ReadRequest[ApplicationCredentialInputs, ApplicationCredentialState]) (infer.ReadResponse[ApplicationCredentialInputs, ApplicationCredentialState], error) {
	response, err := c.controller.Read(ctx, r)
	response.State.Secret = r.State.Secret
	return response, err
}

func (k credentialKind) read(ctx context.Context, id string, in ApplicationCredentialInputs) (ApplicationCredentialState, error) {
	_, c, err := k.get(ctx, id)
	if err != nil {
		return ApplicationCredentialState{}, err
	}
	return in.state(c), nil
}

func (in ApplicationCredentialInputs) state(c *applicationcredentials.ApplicationCredential) ApplicationCredentialState {
	state := ApplicationCredentialState{ApplicationCredentialInputs: in, Name: c.Name}
	if !c.ExpiresAt.IsZero() {
		state.ExpiresAt = c.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return state
}

// remove revokes the credential, and deletes its access rules, which Keystone would keep.
func (k credentialKind) remove(ctx context.Context, id string, _ ApplicationCredentialState) error {
	client, c, err := k.get(ctx, id)
	if err != nil {
		return err
	}
	if err := gone(applicationcredentials.Delete(ctx, client, k.userID, id).ExtractErr()); err != nil {
		return err
	}
	for _, rule := range c.AccessRules {
		err := applicationcredentials.DeleteAccessRule(ctx, client, k.userID, rule.ID).ExtractErr()
		if err != nil && gone(err) != errGone && !gophercloud.ResponseCodeIs(err, 403) { // 403: another credential uses it too
			return fmt.Errorf("deleting an access rule: %w", err)
		}
	}
	return nil
}

func (k credentialKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *applicationcredentials.ApplicationCredential, error) {
	client, err := k.Identity()
	if err != nil {
		return nil, nil, err
	}
	c, err := applicationcredentials.Get(ctx, client, k.userID, id).Extract()
	return client, c, gone(err)
}
