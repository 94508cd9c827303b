package api

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// grant gives a user of the project shop one more role, and another token.
func (b *bench) grant(who, role string) {
	b.t.Helper()
	token, err := b.server.o.Tokens.Validate(b.t.Context(), b.logins[who].Provider.Token(), "")
	b.must(err)
	b.must(roles.Assign(b.t.Context(), b.cloud.Admin.Identity(b.t), b.role(role), roles.AssignOpts{UserID: token.UserID, ProjectID: b.project}).ExtractErr())
	b.logins[who] = b.cloud.Login(b.t, sandboxtest.User(who, "secret", "shop"))
}

// A change by a user with fewer roles leaves the cluster its credential as long as that works.
func TestAChangeTakesNoRole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.grant(member, "load-balancer_member")
	_, uuid := b.ready("keypair", nil)
	first := b.view(uuid).Cluster.Spec.Credential
	resize := func(who string, count int) (credential string) {
		t.Helper()
		b.do(who, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/node_count", count)}).want(202)
		b.settle(uuid)
		return b.view(uuid).Cluster.Spec.Credential.ApplicationCredentialID
	}
	if now := resize(other, 2); now != first.ApplicationCredentialID || len(b.credentials(other)) != 0 {
		t.Errorf("a user with fewer roles: %s, was %s", now, first.ApplicationCredentialID)
	}
	b.must(applicationcredentials.Delete(t.Context(), b.logins[member].Identity(t), first.UserID, first.ApplicationCredentialID).ExtractErr())
	if now, made := resize(other, 3), b.credentials(other); len(made) != 1 || now != made[0].ID {
		t.Errorf("one that Keystone does not know any more: %s, made %v", now, made)
	}
	if now, made := resize(member, 4), b.credentials(member); len(made) != 1 || now != made[0].ID || len(made[0].Roles) != 2 {
		t.Errorf("a user with more roles: %s, made %v", now, made)
	}
}
