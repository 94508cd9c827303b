package environment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// TestObjectStoreOnARealSwift makes the keys and the container of a cluster's object store as
// a member of a project, and uses them by the API of S3, until they are deleted.
func TestObjectStoreOnARealSwift(t *testing.T) {
	member := member(t)
	grant, err := member.Grant()
	if err != nil {
		t.Fatal(err)
	}
	pair := openstack.NewEC2Pair()
	store := openstack.ObjectStore{Clients: member, Ownership: openstack.Ownership{Environment: "real", Step: "cluster-1"}, Container: "real-shop-registry"}
	t.Cleanup(func() { _, _ = store.Remove(context.WithoutCancel(t.Context()), true, silently) })
	for i, want := range []bool{true, false} {
		if made, err := openstack.EnsureEC2Pair(t.Context(), member, grant.UserID, grant.ProjectID, pair); err != nil || made != want {
			t.Fatalf("the keys, time %d: made %t, %v", i+1, made, err)
		}
		if made, err := store.Ensure(t.Context()); err != nil || made != want {
			t.Fatalf("the container, time %d: made %t, %v", i+1, made, err)
		}
	}
	bucket := bucket(t, member, store.Container, pair)
	for _, name := range []string{"a", "b/c"} {
		if err := bucket.Put(t.Context(), name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	// The servers of containers learn of an object after it is stored.
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		n, err := store.Objects(t.Context())
		if err == nil && n == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d objects, %v", n, err)
		}
	}
	if left, err := store.Remove(t.Context(), false, silently); err != nil || left != 2 {
		t.Errorf("without its objects: %d are left, %v", left, err)
	}
	for range 2 {
		if left, err := store.Remove(t.Context(), true, silently); err != nil || left != 0 {
			t.Errorf("with its objects: %d are left, %v", left, err)
		}
		if err := openstack.RevokeEC2Pair(t.Context(), member, grant.UserID, pair); err != nil {
			t.Errorf("revoking: %v", err)
		}
	}
	if _, err := bucket.List(t.Context(), ""); !errors.Is(err, target.ErrDenied) {
		t.Errorf("with revoked keys: %v", err)
	}
}

// member logs in as the user of the devcloud, or skips the test.
func member(t *testing.T) *cloud.Cloud {
	t.Helper()
	dir := os.Getenv("SLIPWAY_DEVCLOUD")
	if dir == "" {
		t.Skip("SLIPWAY_DEVCLOUD names no devcloud: run make devcloud-test")
	}
	text, err := os.ReadFile(filepath.Join(dir, "clouds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	member, err := cloud.Open(t.Context(), cloud.Options{Cloud: "devcloud", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Close)
	return member
}

// bucket is a container by the API of S3.
func bucket(t *testing.T, member *cloud.Cloud, name string, pair openstack.EC2Pair) target.Target {
	t.Helper()
	endpoint, err := openstack.S3Endpoint(member)
	if err != nil {
		t.Fatal(err)
	}
	where, err := location.Parse("s3://" + name + "/prod?pathStyle=true&endpoint=" + endpoint)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(where, target.Access{S3: credentials.NewStaticCredentialsProvider(pair.Access, pair.Secret, "")})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func silently(string) {}
