// Package target is where backups are kept: a folder, a container of Swift or a
// bucket of S3. All three are write-once: an object is put whole or not at all, and
// never replaced once its Put has ended. Swift looks only when a Put begins: of several at
// once more than one can succeed, and the last to begin stays.
package target

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Target keeps objects by name. Names have lower-case letters, digits, dots, dashes
// and slashes. It is safe for concurrent use.
type Target interface {
	// Put stores an object, whole or not at all. ErrExists if there is one of this
	// name, which then stays as it is. Callers that write a name at the same time must write
	// the same, or read what is there.
	Put(ctx context.Context, name string, content []byte) error
	// Get streams an object; ErrAbsent if there is none. The caller closes it.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with a prefix, by name.
	List(ctx context.Context, prefix string) ([]Entry, error)
	// Delete removes an object; it is no error if there is none. ErrDenied if it is
	// under a retention lock.
	Delete(ctx context.Context, name string) error
	// String is the target's URL without secrets.
	String() string
}

// Entry is an object in a listing.
type Entry struct {
	Name string
	// Size is in bytes.
	Size int64
	// Modified is when the object was stored, by the target's clock.
	Modified time.Time
}

// The causes that callers tell apart.
var (
	ErrExists = errors.New("there is already an object of this name")
	ErrAbsent = errors.New("there is no such object")
	ErrDenied = errors.New("access is denied")
	ErrFull   = errors.New("there is no space left")
	ErrSlow   = errors.New("no answer in time")
)

// Access is what a target needs beside its location.
type Access struct {
	// Swift returns the client of the object store; nil if only other targets are used.
	Swift func() (*gophercloud.ServiceClient, error)
	// S3 are the credentials of S3.
	S3 aws.CredentialsProvider
	// Authorities verify the certificate of S3; nil are those of the system.
	Authorities *x509.CertPool
	// Dial connects to S3, as through a tunnel; nil connects directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Patience is how long one object may take; 0 is 5 minutes.
	Patience time.Duration
}

// patience is the default of Access.Patience: 8 MiB in it are 28 KiB/s.
const patience = 5 * time.Minute

// Open returns the target at a location. It sends no requests.
func Open(l location.Location, a Access) (Target, error) {
	if a.Patience == 0 {
		a.Patience = patience
	}
	var t Target
	switch l.Scheme {
	case location.Folder:
		t = &folder{root: l.Folder}
	case location.Swift:
		if a.Swift == nil {
			return nil, fault.Usage(l.String(), errors.New("no cloud is known"), "name the cloud in spec.cloud or OS_CLOUD")
		}
		client, err := a.Swift()
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", l, err)
		}
		t = &swift{client: client, location: l}
	default:
		t = newS3(l, a)
	}
	return &patient{Target: t, limit: a.Patience}, nil
}

// told gives a cause of a target the object and a remedy. Errors that callers
// decide by are told by them.
func told(where, name string, err error) error {
	remedy := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrExists), errors.Is(err, ErrAbsent):
		return fmt.Errorf("%s/%s: %w", where, name, err)
	case errors.Is(err, ErrDenied):
		remedy = "give the credential the right to read, list and write there; what is under a retention lock can be deleted when that has ended"
	case errors.Is(err, ErrFull):
		remedy = "raise the quota or free space, or let slipway backup prune remove old backups; then run the same command again"
	case errors.Is(err, errNoLinks):
		remedy = "name a folder on another file system, such as ext4, XFS or NFS, or a container of Swift or S3"
	case errors.Is(err, ErrSlow):
		remedy = "check the connection to the target; then run the same command again"
	default:
		remedy = "check that the target can be reached; then run the same command again"
	}
	return fault.New(where+"/"+name, err, remedy)
}
