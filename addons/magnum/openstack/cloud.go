// Package openstack looks things up in the cloud with the caller's own token,
// so that nobody can name what they may not see, and makes application
// credentials for their clusters.
package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// The reasons a lookup fails.
var (
	ErrNotFound  = errors.New("not found")
	ErrAmbiguous = errors.New("more than one has this name")
	ErrForbidden = errors.New("not permitted")
	// ErrUnauthorized says that the service does not take the caller's token: it was
	// revoked or ended after it was looked at.
	ErrUnauthorized = errors.New("the token is not accepted")
	ErrUnavailable  = errors.New("the service cannot be asked at the moment")
	ErrRefused      = errors.New("refused")
)

// Error is a failed lookup.
type Error struct {
	// Object is what was looked for: `flavor "m1.small"`.
	Object string
	// Reason is one of the errors above.
	Reason error
	// Detail is what the service said, without secrets; it may be empty.
	Detail string
}

// Error says what and why.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %v", e.Object, e.Reason)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

// Cloud makes clients for callers. It is safe for concurrent use.
type Cloud struct {
	// HTTP is the transport to the services; its TLS settings are the cloud's.
	HTTP http.Client

	shared shared
}

// client is a client of a service for a caller. base is the version that the
// catalog's address may or may not end in.
func (c *Cloud) client(t *keystone.Token, object, base string, types ...string) (*gophercloud.ServiceClient, error) {
	endpoint := t.Endpoint(types...)
	if endpoint == "" {
		return nil, &Error{object, ErrUnavailable, "the catalog has no endpoint of type " + types[0]}
	}
	if base != "" {
		endpoint = strings.TrimSuffix(endpoint, "/"+base) + "/" + base
	}
	provider := &gophercloud.ProviderClient{HTTPClient: c.HTTP}
	provider.SetToken(t.ID)
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: endpoint + "/"}, nil
}

func (c *Cloud) compute(t *keystone.Token, object string) (*gophercloud.ServiceClient, error) {
	return c.client(t, object, "", "compute")
}

func (c *Cloud) image(t *keystone.Token, object string) (*gophercloud.ServiceClient, error) {
	return c.client(t, object, "v2", "image")
}

func (c *Cloud) network(t *keystone.Token, object string) (*gophercloud.ServiceClient, error) {
	return c.client(t, object, "v2.0", "network")
}

func (c *Cloud) identity(t *keystone.Token, object string) (*gophercloud.ServiceClient, error) {
	return c.client(t, object, "v3", "identity")
}

// failed says why a call failed. The text of a refusal is the service's; that
// of a broken connection is not shown, it may name internal addresses.
func failed(object string, err error) error {
	var already *Error
	var response gophercloud.ErrUnexpectedResponseCode
	switch {
	case err == nil:
		return nil
	case errors.As(err, &already):
		return already
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &response):
		return &Error{Object: object, Reason: ErrUnavailable}
	}
	switch {
	case response.Actual == http.StatusNotFound:
		return &Error{Object: object, Reason: ErrNotFound}
	case response.Actual == http.StatusUnauthorized:
		return &Error{Object: object, Reason: ErrUnauthorized}
	case response.Actual == http.StatusForbidden:
		return &Error{Object: object, Reason: ErrForbidden}
	case response.Actual >= 500 || response.Actual == http.StatusTooManyRequests:
		return &Error{Object: object, Reason: ErrUnavailable, Detail: fmt.Sprintf("it answered %d", response.Actual)}
	}
	return &Error{Object: object, Reason: ErrRefused, Detail: fmt.Sprintf("it answered %d", response.Actual)}
}

// one picks the one of what a name found.
func one[T any](object string, found []T) (T, error) {
	var none T
	switch len(found) {
	case 0:
		return none, &Error{Object: object, Reason: ErrNotFound}
	case 1:
		return found[0], nil
	}
	return none, &Error{object, ErrAmbiguous, "use the ID"}
}
