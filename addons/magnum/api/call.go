package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// call is one request that is being served.
type call struct {
	s *Server
	w *openstackapi.Recorder
	r *http.Request

	requestID, base, route string
	version                minor
	token                  *keystone.Token
	caller                 policy.Caller
	admin                  bool
	values                 url.Values
	err                    error
	// object is what the call is about, for the audit log.
	object string
}

type callKey struct{}

func callOf(r *http.Request) *call {
	c, _ := r.Context().Value(callKey{}).(*call)
	return c
}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// ctx is cancelled when the client disconnects.
func (c *call) ctx() context.Context { return c.r.Context() }

// ident is the identifier in the path.
func (c *call) ident(name string) string { return c.r.PathValue(name) }

// mine is the policy target for the caller's own project.
func (c *call) mine() policy.Target {
	return policy.Target{ProjectID: c.caller.ProjectID, UserID: c.caller.UserID}
}

// allow refuses what policy does not allow.
func (c *call) allow(rule string, target policy.Target) error {
	if c.s.o.Policy.Allowed(rule, c.caller, target) {
		return nil
	}
	return forbidden("Policy doesn't allow %s to be performed.", rule)
}

// everywhere reports whether a rule for all projects holds for the caller.
func (c *call) everywhere(rule string) bool { return c.s.o.Policy.Allowed(rule, c.caller, c.mine()) }

// links are the two links of an object at a path below /v1.
func (c *call) links(path string) []any {
	return []any{
		map[string]string{"rel": "self", "href": c.base + "/v1/" + path},
		map[string]string{"rel": "bookmark", "href": c.base + "/" + path},
	}
}

// encode writes JSON without escaping < and >, which are common in labels.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (c *call) reply(status int, body any) error {
	text, err := encode(body)
	if err != nil {
		return err
	}
	return c.replyText(status, text)
}

func (c *call) replyText(status int, text []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(status)
	c.w.Write(text) //nolint:errcheck // the client is gone
	return nil
}

// accepted answers an asynchronous operation with the uuid and nothing else, because clients check
// that there is no status.
func (c *call) accepted(uuid string) error {
	return c.reply(http.StatusAccepted, map[string]string{"uuid": uuid})
}

// gone answers a deletion.
func (c *call) gone() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
