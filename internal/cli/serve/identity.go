package serve

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// identity is how an API knows its callers and what they may do.
type identity struct {
	cloud, region, authURL, caBundle string
	remember                         time.Duration
	policyFile                       string
}

func (o *identity) flags(f *pflag.FlagSet, authorities, defaults string) {
	f.StringVar(&o.cloud, "os-cloud", "", "entry of clouds.yaml of the service user (default: OS_CLOUD, or the only entry)")
	f.StringVar(&o.region, "region", "", "region of the services (default: the entry's)")
	f.StringVar(&o.authURL, "auth-url", "", "Keystone's public URL for clients without a token (default: the entry's)")
	f.StringVar(&o.caBundle, "cloud-ca", "", "PEM file of additional CA certificates of the cloud"+authorities)
	f.DurationVar(&o.remember, "token-cache-time", time.Minute, "how long a validated token is trusted without asking Keystone, and so how long a revoked one can still work")
	f.StringVar(&o.policyFile, "policy-file", "", "oslo.policy file, YAML or JSON, that overrides "+defaults+" defaults")
}

// rules reads the policy file; page lists the names and defaults.
func (o *identity) rules(page string, read func([]byte) (*policy.Enforcer, error)) (*policy.Enforcer, error) {
	var text []byte
	var err error
	if o.policyFile != "" {
		if text, err = os.ReadFile(o.policyFile); err != nil {
			return nil, fault.Usage("--policy-file", err, "give a readable file")
		}
	}
	enforcer, err := read(text)
	if err != nil {
		return nil, fault.Usage("policy file "+o.policyFile, err, "correct the rule; "+page+" lists the names and defaults")
	}
	return enforcer, nil
}

// authorities reads the additional certificates of the cloud.
func (o *identity) authorities() ([]byte, error) {
	if o.caBundle == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.caBundle)
	if err != nil {
		return nil, fault.Usage("--cloud-ca", err, "give a PEM file of certificates")
	}
	return text, nil
}

// login finds the service user.
func (o *identity) login(authorities []byte) (*cloud.Login, error) {
	return cloud.Find(cloud.Options{Cloud: o.cloud, Region: o.region, Env: environment.System(), CABundle: authorities})
}

// tokens validates tokens of callers.
func (o *identity) tokens(login *cloud.Login, face string) *keystone.Validator {
	return keystone.NewValidator(keystone.Options{Identity: (&serviceUser{login: login}).identity, Remember: o.remember, Region: login.Region(), Interface: face})
}

// identityURL is the Keystone URL that clients are sent to.
func (o *identity) identityURL(entry string) string { return cmp.Or(o.authURL, entry) }

// serviceUser logs in at the first request that needs it, and again after a
// failure.
type serviceUser struct {
	login *cloud.Login
	mu    sync.Mutex
}

func (u *serviceUser) identity(ctx context.Context) (*gophercloud.ServiceClient, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, err := u.login.Open(ctx, environment.UserAgent())
	if err != nil {
		return nil, err
	}
	return c.Identity()
}
