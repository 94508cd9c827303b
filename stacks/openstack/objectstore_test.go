package openstack

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{"prod-shop-registry": true, "a.b": true, "abc": true, strings.Repeat("a", 63): true, "ab": false, strings.Repeat("a", 64): false,
		"Abc": false, "a_b": false, "-abc": false, "abc.": false, ".abc": false, "abc-": false, "a..b": false, "": false, "a/b": false, "aä": false} {
		if err := CheckBucket(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestObjectStore is made once, and deleted with its objects only if that is asked for.
func TestObjectStore(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	swift := box.Member.ObjectStorage(t)
	store := ObjectStore{Clients: login(t, box), Ownership: Ownership{Environment: "prod", Step: "cluster-1"}, Container: "prod-shop-registry"}
	for i, want := range []bool{true, false} {
		if made, err := store.Ensure(t.Context()); err != nil || made != want {
			t.Errorf("time %d: made %t, %v", i+1, made, err)
		}
	}
	others := store
	others.Step = "cluster-2"
	for what, err := range map[string]error{"checking": others.Check(t.Context()), "making": second(others.Ensure(t.Context())), "deleting": second(others.Remove(t.Context(), true, silently))} {
		if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "container prod-shop-registry: ") || fault.Remedy(err) == "" {
			t.Errorf("%s that of another cluster: %v", what, err)
		}
	}
	fill(t, swift, store.Container, 40)
	if err := containers.Create(t.Context(), swift, store.segments(), nil).Err; err != nil {
		t.Fatal(err)
	}
	fill(t, swift, store.segments(), 1)
	if n, err := store.Objects(t.Context()); err != nil || n != 40 {
		t.Errorf("%d objects, %v", n, err)
	}
	if left, err := store.Remove(t.Context(), false, silently); err != nil || left != 40 {
		t.Errorf("not with its objects: %d are left, %v", left, err)
	}
	var said []string
	if left, err := store.Remove(t.Context(), true, func(text string) { said = append(said, text) }); err != nil || left != 0 {
		t.Errorf("with its objects: %d are left, %v", left, err)
	}
	if len(said) != 2 || !strings.HasSuffix(said[1], "container prod-shop-registry: 40") {
		t.Errorf("it said %q", said)
	}
	page, err := containers.List(swift, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if names, err := containers.ExtractNames(page); err != nil || len(names) > 0 {
		t.Errorf("containers %q are left, %v", names, err)
	}
	if left, err := store.Remove(t.Context(), true, silently); err != nil || left != 0 {
		t.Errorf("again: %d, %v", left, err)
	}
	if n, err := store.Objects(t.Context()); err != nil || n != 0 {
		t.Errorf("of none: %d objects, %v", n, err)
	}
}

func silently(string) {}

func second[T any](_ T, err error) error { return err }

func fill(t *testing.T, swift *gophercloud.ServiceClient, container string, number int) {
	t.Helper()
	for i := range number {
		if err := objects.Create(t.Context(), swift, container, fmt.Sprintf("a/%d ü?", i), objects.CreateOpts{Content: strings.NewReader("x")}).Err; err != nil {
			t.Fatal(err)
		}
	}
}

// TestEC2Pair is made once. That of another user is left alone.
func TestEC2Pair(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	member := login(t, box)
	grant, err := member.Grant()
	if err != nil {
		t.Fatal(err)
	}
	pair := NewEC2Pair()
	if again := NewEC2Pair(); again == pair || len(pair.Access) != 32 || len(pair.Secret) != 32 || pair.Access == pair.Secret {
		t.Errorf("pairs with access keys %s, %s", pair.Access, again.Access)
	}
	for i, want := range []bool{true, false} {
		if made, err := EnsureEC2Pair(t.Context(), member, grant.UserID, grant.ProjectID, pair); err != nil || made != want {
			t.Errorf("time %d: made %t, %v", i+1, made, err)
		}
	}
	for i := range 2 {
		if err := RevokeEC2Pair(t.Context(), member, grant.UserID, pair); err != nil {
			t.Errorf("revoked, time %d: %v", i+1, err)
		}
	}

	foreign, project := NewEC2Pair(), grant.ProjectID
	blob := fmt.Sprintf(`{"access": %q, "secret": %q}`, foreign.Access, foreign.Secret)
	admin := box.Admin.Identity(t)
	user, err := admin.GetAuthResult().(tokens.CreateResult).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	if err := credentials.Create(t.Context(), admin, credentials.CreateOpts{Type: "ec2", UserID: user.ID, ProjectID: project, Blob: blob}).Err; err != nil {
		t.Fatal(err)
	}
	if made, err := EnsureEC2Pair(t.Context(), member, user.ID, project, foreign); err != nil || made {
		t.Errorf("another user's: made %t, %v", made, err)
	}
	if err := RevokeEC2Pair(t.Context(), member, user.ID, foreign); !errors.Is(err, ErrOtherUser) {
		t.Errorf("another user's is revoked: %v", err)
	}
	if err := ec2credentials.Delete(t.Context(), admin, user.ID, foreign.Access).ExtractErr(); err != nil {
		t.Fatalf("another user's is gone: %v", err)
	}
	if made, err := EnsureEC2Pair(t.Context(), member, user.ID, project, foreign); made || err == nil || !strings.Contains(err.Error(), "does not let the login make it for user "+user.ID+": You are not authorized") || fault.Remedy(err) == "" {
		t.Errorf("another user's that is gone: made %t, %v", made, err)
	}
}

// TestS3Endpoint is that of the catalog, or the root of Swift's.
func TestS3Endpoint(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	swift := box.Member.ObjectStorage(t).Endpoint
	root := swift[:strings.Index(swift, "/object-store")]
	if got, err := S3Endpoint(login(t, box)); err != nil || got != root {
		t.Errorf("it is %s, %v; Swift's is %s", got, err, swift)
	}
	admin := box.Admin.Identity(t)
	service, err := services.Create(t.Context(), admin, services.CreateOpts{Type: "s3", Extra: map[string]any{"name": "s3"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := endpoints.Create(t.Context(), admin, endpoints.CreateOpts{ServiceID: service.ID, Availability: gophercloud.AvailabilityPublic, Region: "RegionOne", Name: "s3", URL: "https://s3.example.org/"}).Err; err != nil {
		t.Fatal(err)
	}
	if got, err := S3Endpoint(login(t, box)); err != nil || got != "https://s3.example.org" {
		t.Errorf("with one in the catalog it is %s, %v", got, err)
	}
}
