package target

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"

	"github.com/slipway-sh/slipway/internal/backup/location"
)

// swift is a target in a container of OpenStack's object store.
type swift struct {
	client   *gophercloud.ServiceClient
	location location.Location
}

func (s *swift) String() string { return s.location.String() }

// Put asks for If-None-Match, so that an object is never replaced, and sends the
// MD5, so that a damaged one is refused. The first Put makes the container.
func (s *swift) Put(ctx context.Context, name string, content []byte) error {
	put := func() error {
		_, err := objects.Create(ctx, s.client, s.location.Container, s.location.Key(name), objects.CreateOpts{
			Content: bytes.NewReader(content), ContentLength: int64(len(content)), ContentType: "application/octet-stream", IfNoneMatch: "*"}).Extract()
		return err
	}
	err := put()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		if _, err = containers.Create(ctx, s.client, s.location.Container, nil).Extract(); err == nil {
			err = put()
		}
	}
	return told(s.String(), name, swiftCause(err))
}

func (s *swift) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	result := objects.Download(ctx, s.client, s.location.Container, s.location.Key(name), nil)
	if result.Err != nil {
		return nil, told(s.String(), name, swiftCause(result.Err))
	}
	return result.Body, nil
}

func (s *swift) List(ctx context.Context, prefix string) ([]Entry, error) {
	page, err := objects.List(s.client, s.location.Container, objects.ListOpts{Prefix: s.location.Key(prefix)}).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil, nil // nothing is stored yet
	}
	var found []objects.Object
	if err == nil {
		found, err = objects.ExtractInfo(page)
	}
	entries := make([]Entry, 0, len(found))
	for _, o := range found {
		entries = append(entries, Entry{Name: s.location.Name(o.Name), Size: o.Bytes, Modified: o.LastModified})
	}
	return entries, told(s.String(), prefix, swiftCause(err))
}

func (s *swift) Delete(ctx context.Context, name string) error {
	_, err := objects.Delete(ctx, s.client, s.location.Container, s.location.Key(name), nil).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return told(s.String(), name, swiftCause(err))
}

func swiftCause(err error) error {
	kind := error(nil)
	for status, cause := range map[int]error{
		http.StatusPreconditionFailed: ErrExists, http.StatusNotFound: ErrAbsent, http.StatusForbidden: ErrDenied, http.StatusUnauthorized: ErrDenied,
		http.StatusRequestEntityTooLarge: ErrFull, http.StatusInsufficientStorage: ErrFull,
	} {
		if gophercloud.ResponseCodeIs(err, status) {
			kind = cause
		}
	}
	switch {
	case kind == nil:
		return err
	case kind == ErrExists || kind == ErrAbsent:
		return kind
	}
	return errors.Join(kind, err)
}
