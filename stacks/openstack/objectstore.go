package openstack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// ObjectStore is a container of Swift, or a bucket of another object store with Swift's API,
// that is used by the API of S3.
type ObjectStore struct {
	Clients Clients
	Ownership
	// Container is its name: lower-case letters, digits, dots and dashes, 3 to 63 of them, as
	// S3 wants of a bucket.
	Container string
}

// EC2Pair is a key pair for S3. Keystone calls it an EC2 credential. It has no name and no tags,
// and its ID follows from the access key: so the keys are chosen here, and noted before it is
// made. Then it is always found again.
type EC2Pair struct {
	Access string `json:"access"`
	Secret string `json:"secret"`
}

// NewEC2Pair returns keys that nobody else has.
func NewEC2Pair() EC2Pair {
	// What Keystone makes itself: hexadecimal UUIDs without dashes.
	var keys [2][16]byte
	for i := range keys {
		_, _ = rand.Read(keys[i][:]) // it never fails
	}
	return EC2Pair{hex.EncodeToString(keys[0][:]), hex.EncodeToString(keys[1][:])}
}

// EnsureEC2Pair makes the EC2 credential of a user in a project, unless it is there. Only this user
// and administrators can make it: the error names the user. made reports whether it was missing.
// It is asked for by its access key: of an ID that nobody has, Keystone says 403 to all but
// administrators.
func EnsureEC2Pair(ctx context.Context, clients Clients, userID, projectID string, pair EC2Pair) (made bool, err error) {
	err = again(ctx, func() error {
		client, err := clients.Identity()
		if err != nil {
			return err
		}
		err = ec2credentials.Get(ctx, client, userID, pair.Access).Err
		if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
				return nil
			}
			return err
		}
		blob, err := json.Marshal(pair)
		if err != nil {
			return err
		}
		_, err = credentials.Create(ctx, client, credentials.CreateOpts{Type: "ec2", UserID: userID, ProjectID: projectID, Blob: string(blob)}).Extract()
		made = made || err == nil
		if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
			return fault.New("EC2 credential "+pair.Access, fmt.Errorf("it is missing, and Keystone does not let the login make it for user %s: %s%w", userID, message(err), quiet{err}),
				"run the command with a login of this user; if it is one, Keystone may limit how many credentials a user has: delete what nobody uses")
		}
		return err
	})
	return made, explainPair(pair, "making", err)
}

// ErrOtherUser is the cause of what only the user who made it, or an administrator, can delete.
var ErrOtherUser = errors.New("it belongs to another user")

// RevokeEC2Pair deletes the EC2 credential of a user. It is no error if it is gone; of another
// user's than the caller's the error is ErrOtherUser, but for administrators.
func RevokeEC2Pair(ctx context.Context, clients Clients, userID string, pair EC2Pair) error {
	err := again(ctx, func() error {
		client, err := clients.Identity()
		if err != nil {
			return err
		}
		return skipGone(gone(ec2credentials.Delete(ctx, client, userID, pair.Access).ExtractErr()))
	})
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return ErrOtherUser
	}
	return explainPair(pair, "revoking", err)
}

func explainPair(pair EC2Pair, doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return explain("EC2 credential "+pair.Access, fmt.Errorf("%s: %w", doing, err))
}

const containerOwner = "Slipway-Owner" // X-Container-Meta-Slipway-Owner

// segments is where Swift keeps the parts of large objects that were uploaded by the API of S3.
func (o ObjectStore) segments() string { return o.Container + "+segments" }

// Ensure makes the container, unless it is there. It refuses one of others. made reports whether
// it was missing.
func (o ObjectStore) Ensure(ctx context.Context) (made bool, err error) {
	err = again(ctx, func() error {
		client, err := o.Clients.ObjectStore()
		if err != nil {
			return err
		}
		there, err := o.mine(ctx, client)
		if err != nil || there {
			return err
		}
		_, err = containers.Create(ctx, client, o.Container, containers.CreateOpts{Metadata: map[string]string{containerOwner: o.mark().Description()}}).Extract()
		made = made || err == nil
		return err
	})
	return made, o.explain("making", err)
}

// Check refuses a container of others.
func (o ObjectStore) Check(ctx context.Context) error {
	return o.explain("reading", again(ctx, func() error {
		client, err := o.Clients.ObjectStore()
		if err != nil {
			return err
		}
		_, err = o.mine(ctx, client)
		return err
	}))
}

// mine reports whether the container is there, and refuses one without the ownership tag.
func (o ObjectStore) mine(ctx context.Context, client *gophercloud.ServiceClient) (bool, error) {
	found := containers.Get(ctx, client, o.Container, nil)
	if gophercloud.ResponseCodeIs(found.Err, http.StatusNotFound) {
		return false, nil
	}
	meta, err := found.ExtractMetadata()
	if err != nil {
		return false, err
	}
	if owner, ok := ownership.FromDescription(meta[containerOwner]); !ok || owner != o.mark() {
		return false, fault.Usage(o.object(), errors.New("one with this name exists already, but does not belong to this cluster"), "delete or rename it, or give the object store another bucket")
	}
	return true, nil
}

// Objects is how many objects the container has; 0 if it is not there.
func (o ObjectStore) Objects(ctx context.Context) (number int64, err error) {
	err = again(ctx, func() error {
		client, err := o.Clients.ObjectStore()
		if err != nil {
			return err
		}
		header, err := containers.Get(ctx, client, o.Container, nil).Extract()
		if err == nil {
			number = header.ObjectCount
		}
		return skipGone(gone(err))
	})
	return number, o.explain("reading", err)
}

// Remove deletes the container, if it is there and has the ownership tag. One that has objects
// stays, unless content says that they are deleted too. left is the number of objects for which
// it stays.
func (o ObjectStore) Remove(ctx context.Context, content bool, progress func(string)) (left int64, err error) {
	err = times(ctx, deletingAttempts, func() error {
		client, err := o.Clients.ObjectStore()
		if err != nil {
			return err
		}
		if there, err := o.mine(ctx, client); err != nil || !there {
			return err
		}
		header, err := containers.Get(ctx, client, o.Container, nil).Extract()
		if err != nil {
			return skipGone(gone(err))
		}
		if left = header.ObjectCount; left > 0 && !content {
			return nil
		}
		left = 0
		for _, name := range []string{o.segments(), o.Container} {
			if err := empty(ctx, client, name, progress); err != nil {
				return err
			}
			_, err := containers.Delete(ctx, client, name).Extract()
			if err := skipGone(gone(err)); err != nil {
				return err
			}
		}
		return nil
	})
	return left, o.explain("deleting", err)
}

// deletedAtOnce is how many objects are deleted in parallel: Swift's request for many at once is
// not everywhere.
const deletedAtOnce = 16

// empty deletes the objects of a container, page by page.
func empty(ctx context.Context, client *gophercloud.ServiceClient, container string, progress func(string)) error {
	deleted := 0
	err := objects.List(client, container, objects.ListOpts{Limit: 1000}).EachPage(ctx, func(ctx context.Context, page pagination.Page) (bool, error) {
		names, err := objects.ExtractNames(page)
		if err != nil {
			return false, err
		}
		group, inside := errgroup.WithContext(ctx)
		group.SetLimit(deletedAtOnce)
		for _, name := range names {
			group.Go(func() error {
				_, err := objects.Delete(inside, client, container, name, nil).Extract()
				return skipGone(gone(err))
			})
		}
		if err := group.Wait(); err != nil {
			return false, err
		}
		deleted += len(names)
		progress(fmt.Sprintf("deleting the objects of container %s: %d", container, deleted))
		return true, nil
	})
	return skipGone(gone(err))
}

func (o ObjectStore) object() string { return "container " + o.Container }

func (o ObjectStore) explain(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return explain(o.object(), fmt.Errorf("%s: %w", doing, err))
}

// S3Endpoint is where the object store answers the API of S3: the endpoint of the type s3 in the
// catalog or, if it has none, the root of Swift's, where both Swift and Ceph have it.
func S3Endpoint(clients Clients) (string, error) {
	client, err := clients.ObjectStore()
	if err != nil {
		return "", err
	}
	public := gophercloud.EndpointOpts{Type: "s3", Region: clients.Region(), Availability: gophercloud.AvailabilityPublic} // pods reach it
	if address, err := client.EndpointLocator(public); err == nil {
		return strings.TrimSuffix(address, "/"), nil
	}
	public.Type = "object-store"
	swift, err := client.EndpointLocator(public)
	if err != nil { // the login was told where it is
		swift = client.Endpoint
	}
	address, err := url.Parse(swift)
	if err != nil {
		return "", fmt.Errorf("reading the object store's endpoint: %w", err)
	}
	return (&url.URL{Scheme: address.Scheme, Host: address.Host}).String(), nil
}

// CheckBucket refuses names that S3 does not take for a bucket.
func CheckBucket(name string) error {
	other := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.", r) }
	bad := len(name) < 3 || len(name) > 63 || strings.ContainsFunc(name, other) || strings.Contains(name, "..")
	for _, end := range []string{".", "-"} {
		bad = bad || strings.HasPrefix(name, end) || strings.HasSuffix(name, end)
	}
	if bad {
		return errors.New("S3 takes 3 to 63 lower-case letters, digits, dots and dashes, beginning and ending with a letter or a digit")
	}
	return nil
}
