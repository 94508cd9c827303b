package contract_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
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

// TestChosenEC2Keys are how a credential is found again that nobody noted: its ID follows from the
// access key.
func TestChosenEC2Keys(t *testing.T) {
	t.Parallel()
	p, other := newPerson(t), newPerson(t)
	mine := p.clients(t).Identity(t)
	access := "a1b2" + p.user.ID
	blob, err := json.Marshal(map[string]string{"access": access, "secret": "chosen"})
	if err != nil {
		t.Fatal(err)
	}
	wanted := credentials.CreateOpts{Type: "ec2", UserID: p.user.ID, ProjectID: p.project.ID, Blob: string(blob)}
	made := must[*credentials.Credential](t)(credentials.Create(t.Context(), mine, wanted).Extract())
	sum := sha256.Sum256([]byte(access))
	if id := hex.EncodeToString(sum[:]); made.ID != id {
		t.Errorf("its ID is %s, want %s", made.ID, id)
	}
	wantStatus(t, credentials.Create(t.Context(), mine, wanted).Err, http.StatusConflict)
	pair := must[*ec2credentials.Credential](t)(ec2credentials.Get(t.Context(), mine, p.user.ID, access).Extract())
	if pair.Secret != "chosen" || pair.TenantID != p.project.ID {
		t.Errorf("pair %+v", pair)
	}
	theirs := other.clients(t).Identity(t)
	for _, user := range []string{p.user.ID, other.user.ID} {
		wantStatus(t, ec2credentials.Get(t.Context(), theirs, user, access).Err, http.StatusForbidden)
		wantStatus(t, ec2credentials.Delete(t.Context(), theirs, user, access).Err, http.StatusForbidden)
	}
	wantStatus(t, credentials.Get(t.Context(), theirs, made.ID).Err, http.StatusForbidden)
	wantStatus(t, credentials.Delete(t.Context(), theirs, made.ID).Err, http.StatusForbidden)
	if err := credentials.Delete(t.Context(), mine, made.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	// By the access key it is gone for everybody. Whose an unknown ID is nobody can tell, so
	// that only administrators learn that there is none.
	for _, of := range []*gophercloud.ServiceClient{mine, theirs} {
		wantStatus(t, ec2credentials.Get(t.Context(), of, p.user.ID, access).Err, http.StatusNotFound)
		wantStatus(t, ec2credentials.Delete(t.Context(), of, p.user.ID, access).Err, http.StatusNotFound)
		wantStatus(t, credentials.Get(t.Context(), of, made.ID).Err, http.StatusForbidden)
		wantStatus(t, credentials.Update(t.Context(), of, made.ID, credentials.UpdateOpts{Blob: string(blob)}).Err, http.StatusForbidden)
		wantStatus(t, credentials.Delete(t.Context(), of, made.ID).Err, http.StatusForbidden)
	}
	wantStatus(t, credentials.Get(t.Context(), admin(t).Identity(t), made.ID).Err, http.StatusNotFound)
	wantStatus(t, credentials.Delete(t.Context(), admin(t).Identity(t), made.ID).Err, http.StatusNotFound)
}
