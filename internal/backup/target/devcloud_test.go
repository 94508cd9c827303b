package target_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/s3test"
)

// TestSwiftOnADevcloud is the contract of a target, and a quota, on Swift itself. It is not atomic
// there: an object server looks at If-None-Match when a request begins.
func TestSwiftOnADevcloud(t *testing.T) {
	bucket := s3test.OnDevcloud(t)
	access := target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return bucket.Swift, nil }}
	contract(t, open(t, "swift://"+bucket.Name+"/prod/a", access))
	contract(t, open(t, "swift://"+bucket.Name+"/prod/ab", access))
	won, results, got := race(t, open(t, "swift://"+bucket.Name+"/race", access))
	if there, err := strconv.Atoi(got); won < 0 || err != nil || results[there] != nil {
		t.Errorf("%q is there, and the writers got %v", got, results)
	}
	full(t, bucket.Swift)
}

// TestS3OnADevcloud is the same by Swift's API of S3, with keys of Keystone.
func TestS3OnADevcloud(t *testing.T) {
	bucket := s3test.OnDevcloud(t)
	where := "s3://" + bucket.Name + "/prod?pathStyle=true&endpoint=" + bucket.Endpoint
	contract(t, open(t, where, target.Access{S3: credentials.NewStaticCredentialsProvider(bucket.Access, bucket.Secret, "")}))
	denied := open(t, where, target.Access{S3: credentials.NewStaticCredentialsProvider(bucket.Access, "other", "")})
	if err := denied.Put(t.Context(), "x", nil); !errors.Is(err, target.ErrDenied) {
		t.Errorf("a wrong secret: %v", err)
	}
}
