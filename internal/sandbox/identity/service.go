// Package identity is Keystone: who may do what, tokens, and the catalog.
package identity

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Options are the settings of the identity service.
type Options struct {
	// Key encrypts secrets that must be read back, such as EC2 keys; 32 bytes.
	Key []byte
	// HashCost is bcrypt's cost for passwords and secrets; 0 means bcrypt's default.
	HashCost int
	// TokenLife is how long a token is valid; 0 means one hour.
	TokenLife time.Duration
}

// Keystone is the identity service.
type Keystone struct {
	env     *api.Env
	model   model.Identity
	secrets *secrets
	life    time.Duration
}

// New returns the service.
func New(env *api.Env, o Options) (*Keystone, error) {
	secrets, err := newSecrets(o.Key, o.HashCost)
	if err != nil {
		return nil, err
	}
	k := &Keystone{env: env, model: env.Model.Identity, secrets: secrets, life: o.TokenLife}
	if k.life == 0 {
		k.life = time.Hour
	}
	return k, nil
}

// Service returns the API.
func (k *Keystone) Service() *api.Service {
	v3 := api.Version{ID: "v3.14", Status: "stable", Updated: "2020-04-07T00:00:00Z", Path: "/v3/",
		MediaType: "application/vnd.openstack.identity-v3+json"}
	versions := api.Versions{List: []api.Version{v3}, Status: http.StatusMultipleChoices, Values: true}
	return &api.Service{
		Name: "keystone", Type: "identity", Prefix: "/identity", Catalog: "/identity",
		Errors: api.KeystoneErrors, Run: k.sweep,
		Routes: slices.Concat(versions.Routes(), k.authRoutes(), k.projectRoutes(), k.domainRoutes(),
			k.userRoutes(), k.groupRoutes(), k.roleRoutes(), k.inferenceRoutes(), k.assignmentRoutes(),
			k.appCredRoutes(), k.accessRuleRoutes(), k.catalogRoutes(), k.endpointRoutes(), k.regionRoutes(),
			k.trustRoutes(), k.credentialRoutes(), k.ec2Routes()),
	}
}

// sweep deletes expired tokens, once a minute.
func (k *Keystone) sweep(ctx context.Context) {
	tick := k.env.Timing.Clock.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
		now := k.env.Timing.Now()
		_ = k.env.Store.Update(func(tx *store.Tx) error {
			for token := range k.model.Tokens.All(tx) {
				if !now.Before(token.ExpiresAt) {
					k.model.Tokens.Delete(tx, token.ID)
				}
			}
			return nil
		})
	}
}

// find returns a record, or the 404 that names its kind.
func find[T any](r store.Reader, table *store.Table[T], kind, id string) (T, error) {
	record, ok := table.Get(r, id)
	if !ok {
		return record, api.NotFound("Could not find %s: %s.", kind, id)
	}
	return record, nil
}

// self are the links of an object.
type self struct {
	Self string `json:"self"`
}

func link(c *api.Call, path string) self { return self{c.URL("/v3" + path)} }

// requireSelf lets the user in question and administrators pass.
func requireSelf(c *api.Call, userID string) error {
	if c.Principal.UserID() == userID || c.Principal.Admin() {
		return nil
	}
	return denied()
}

func denied() error {
	return api.Forbidden("You are not authorized to perform the requested action.")
}
