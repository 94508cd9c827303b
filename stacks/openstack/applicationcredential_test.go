package openstack

import (
	"testing"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
)

// TestACredentialIsReplacedInTheLastThirdOfItsLifetime, and before the old one is revoked.
// One without an end stays.
func TestACredentialIsReplacedInTheLastThirdOfItsLifetime(t *testing.T) {
	t.Parallel()
	const day = 24 * 3600
	for name, c := range map[string]struct {
		lifetime int
		left     time.Duration
		replaced bool
	}{
		"made now":            {90 * day, 90 * 24 * time.Hour, false},
		"a third and an hour": {90 * day, (30*24 + 1) * time.Hour, false},
		"a third less a hour": {90 * day, (30*24 - 1) * time.Hour, true},
		"ended":               {90 * day, -time.Hour, true},
		"of three hours":      {3 * 3600, 59 * time.Minute, true},
		"no end":              {0, 0, false},
	} {
		in := ApplicationCredentialInputs{Lifetime: c.lifetime}
		state := ApplicationCredentialState{ApplicationCredentialInputs: in}
		if c.lifetime > 0 {
			state.ExpiresAt = time.Now().Add(c.left).UTC().Format(time.RFC3339)
		}
		resource := &applicationCredential{controller[ApplicationCredentialInputs, ApplicationCredentialState]{kind: credentialKind{}}}
		response, err := resource.Diff(t.Context(), infer.DiffRequest[ApplicationCredentialInputs, ApplicationCredentialState]{Inputs: in, State: state})
		if err != nil || response.HasChanges != c.replaced || response.DeleteBeforeReplace || c.replaced && response.DetailedDiff["lifetime"].Kind != p.UpdateReplace {
			t.Errorf("%s: %+v, %v", name, response, err)
		}
	}
}
