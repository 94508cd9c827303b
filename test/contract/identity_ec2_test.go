package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

func TestEC2Credentials(t *testing.T) {
	t.Parallel()
	p, other := newPerson(t), newPerson(t)
	mine := p.clients(t).Identity(t)
	pair := must[*ec2credentials.Credential](t)(ec2credentials.Create(t.Context(), mine, p.user.ID,
		ec2credentials.CreateOpts{TenantID: p.project.ID}).Extract())
	if pair.Access == "" || pair.Secret == "" || pair.TenantID != p.project.ID {
		t.Errorf("pair %+v", pair)
	}
	wantStatus(t, ec2credentials.Get(t.Context(), other.clients(t).Identity(t), p.user.ID, pair.Access).Err, http.StatusForbidden)

	signedBy := func(secret string) tokens.CreateResult {
		return ec2tokens.Create(t.Context(), admin(t).Identity(t), &ec2tokens.AuthOptions{
			Access: pair.Access, Secret: secret, Host: "s3.example.org", Path: "/bucket", Verb: "GET", Region: "r", Service: "s3",
			Headers: map[string]string{"Host": "s3.example.org", "X-Amz-SignedHeaders": "host"}})
	}
	token := signedBy(pair.Secret)
	if project, err := token.ExtractProject(); err != nil || project.ID != p.project.ID {
		t.Errorf("token of a signature: %+v, %v", project, err)
	}
	wantStatus(t, signedBy("wrong").Err, http.StatusUnauthorized)
	if err := ec2credentials.Delete(t.Context(), mine, p.user.ID, pair.Access).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, ec2credentials.Get(t.Context(), mine, p.user.ID, pair.Access).Err, http.StatusNotFound)
	wantStatus(t, signedBy(pair.Secret).Err, http.StatusNotFound)
}
