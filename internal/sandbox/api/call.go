package api

import (
	"context"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Call is one request being served.
type Call struct {
	Request *http.Request
	Writer  http.ResponseWriter
	Env     *Env
	Service *Service
	// Principal is the caller; nil on a public route without a token.
	Principal *Principal
	// Version is the microversion in force; zero without microversions.
	Version Microversion
	// ID is the request's id, which the answer has in x-openstack-request-id.
	ID string

	reply *reply
}

type reply struct {
	status int
	body   any
}

// Context ends when the client goes away.
func (c *Call) Context() context.Context { return c.Request.Context() }

// Path returns a part of the path by its name in the route's pattern.
func (c *Call) Path(name string) string { return c.Request.PathValue(name) }

// Query returns the first value of a query parameter.
func (c *Call) Query(name string) string { return c.Request.URL.Query().Get(name) }

// Reply answers with a status and a body. The body is encoded as JSON after the handler has
// returned, outside of any transaction; nil means no body.
func (c *Call) Reply(status int, body any) error {
	c.reply = &reply{status, body}
	return nil
}

// View reads the model.
func (c *Call) View(fn func(r store.Reader) error) error { return c.Env.Store.View(fn) }

// Update changes the model; an error undoes what fn did.
func (c *Call) Update(fn func(tx *store.Tx) error) error { return c.Env.Store.Update(fn) }

// Base is the address of the cloud as the client wrote it, without a slash at
// the end, so that links work from wherever the client is.
func (c *Call) Base() string {
	scheme := "http"
	if c.Request.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.Request.Host
}

// URL is the address of a path below the service's prefix.
func (c *Call) URL(path string) string { return c.Base() + c.Service.Prefix + path }
