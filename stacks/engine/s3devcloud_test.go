package engine_test

import (
	"net/url"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"

	"github.com/slipway-sh/slipway/internal/s3test"
)

// TestStateOnADevcloud keeps a state in Swift, by its API of S3 and with keys of Keystone.
func TestStateOnADevcloud(t *testing.T) {
	bucket := s3test.OnDevcloud(t)
	c, folder := newCloud(), t.TempDir()
	e := inBucket(t, options(c, folder, nil), bucket.Name, "region=us-east-1&endpoint="+url.QueryEscape(bucket.Endpoint), bucket.Access, bucket.Secret)
	keepState(t, c, folder, e, func() map[string][]byte {
		all := map[string][]byte{}
		page, err := objects.List(bucket.Swift, bucket.Name, nil).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names, err := objects.ExtractNames(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			result := objects.Download(t.Context(), bucket.Swift, bucket.Name, name, nil)
			if all[name], err = result.ExtractContent(); err != nil {
				t.Fatal(err)
			}
		}
		return all
	})
}
