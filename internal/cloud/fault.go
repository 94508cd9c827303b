package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Error is an error answer of a cloud.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Message is the cloud's own message, without markup.
	Message string
	// RequestID finds the call in the cloud's logs.
	RequestID string
	// Call is the method and the URL, without the query.
	Call string

	cause error
}

// Error contains everything that the cloud's operator would ask for.
func (e *Error) Error() string {
	text := fmt.Sprintf("the cloud answered %d", e.Status)
	if e.Message != "" {
		text = fmt.Sprintf("%s (%d)", e.Message, e.Status)
	}
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text
}

// Unwrap returns gophercloud's error.
func (e *Error) Unwrap() error { return e.cause }

// Fault turns an error of gophercloud into one for users: the object, the cloud's own
// message with its request ID, and a remedy. Tokens and passwords are removed. It
// returns nil for nil, and a fault unchanged.
func (c *Cloud) Fault(object string, err error) error {
	var already *fault.Fault
	if err == nil || errors.As(err, &already) || errors.Is(err, context.Canceled) || errors.Is(err, fault.ErrInterrupted) {
		return err
	}
	answer := c.answer(err)
	if answer == nil {
		return fault.New(object, c.redacted(err), "check that your machine can reach the cloud's endpoints")
	}
	return fault.New(object, answer, remedy(answer))
}

// answer returns the cloud's answer in an error, nil if there was none.
func (c *Cloud) answer(err error) *Error {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &response) {
		return nil
	}
	address, _, _ := strings.Cut(response.URL, "?")
	e := &Error{Status: response.Actual, Message: c.Redact(Message(response.Body)), Call: response.Method + " " + address, cause: err}
	for _, header := range []string{"X-Openstack-Request-Id", "X-Compute-Request-Id"} {
		if id := response.ResponseHeader.Get(header); id != "" {
			e.RequestID = id
			break
		}
	}
	return e
}

// Message finds the text in the error bodies of the services:
// {"error": {"message"}} of Keystone, {"itemNotFound": {"message"}} of Nova and
// Cinder, {"NeutronError": {"message"}}, {"faultstring"} of Octavia,
// {"description"} of Barbican, {"errors": [{"detail"}]} of Magnum; a body that is
// not JSON (Glance's HTML) has none.
func Message(body []byte) string {
	var document map[string]any
	if json.Unmarshal(body, &document) != nil {
		return ""
	}
	if text := firstText(document); text != "" {
		return text
	}
	for _, inner := range document {
		switch x := inner.(type) {
		case map[string]any:
			if text := firstText(x); text != "" {
				return text
			}
		case []any:
			for _, one := range x {
				if detail, ok := one.(map[string]any); ok && firstText(detail) != "" {
					return firstText(detail)
				}
			}
		case string:
			return x
		}
	}
	return ""
}

func firstText(m map[string]any) string {
	for _, key := range []string{"message", "faultstring", "description", "detail", "title"} {
		if text, _ := m[key].(string); text != "" {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

func remedy(e *Error) string {
	lower := strings.ToLower(e.Message)
	switch {
	case strings.Contains(lower, "quota"):
		return "delete what you do not need, or ask the cloud's operator for a larger quota"
	case e.Status == http.StatusUnauthorized:
		return "check the credential in clouds.yaml: it may have expired or been deleted"
	case e.Status == http.StatusForbidden:
		return "ask for a role that allows this, or use another credential"
	case e.Status == http.StatusTooManyRequests:
		return "wait and try again: the cloud limits the rate of calls"
	case e.Status >= 500:
		return "try again; if the error persists, give the request ID to the cloud's operator"
	}
	return ""
}

// loginFault is the fault of a failed login.
func (c *Cloud) loginFault(err error) error {
	object := "cloud " + c.Name
	if errors.Is(err, context.Canceled) {
		return err
	}
	answer := c.answer(err)
	if answer != nil && answer.Status == http.StatusNotFound && strings.Contains(answer.Message, "Application Credential") {
		// Keystone reports a deleted credential as not found.
		return fault.New(object, answer, "check the application credential in clouds.yaml: it was deleted or belongs to another cloud")
	}
	if answer != nil && answer.Status == http.StatusNotFound {
		return fault.New(object, answer, "check auth_url in clouds.yaml: there is no Keystone at this URL")
	}
	return c.Fault(object+": logging in", err)
}

// ErrNoService is the error for a service that the cloud does not have.
var ErrNoService = errors.New("the catalog has no endpoint of this service")

// missing is the fault for a service that is not in the catalog.
func (c *Cloud) missing(s Service, err error) error {
	var none *gophercloud.ErrEndpointNotFound
	if !errors.As(err, &none) {
		return c.Fault("service "+string(s), err)
	}
	where := ""
	if c.Endpoint.Region != "" {
		where = " in region " + c.Endpoint.Region
	}
	return fault.New("service "+string(s), fmt.Errorf("%w%s", ErrNoService, where), "check region and interface in clouds.yaml, or ask the cloud's operator whether the service exists")
}

// Redact removes this login's tokens and passwords from a text.
func (c *Cloud) Redact(text string) string {
	for _, secret := range append([]string{c.Provider.Token()}, c.secrets...) {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// redacted is an error whose text has no secrets; errors.Is and As see the original.
func (c *Cloud) redacted(err error) error {
	if text := c.Redact(err.Error()); text != err.Error() {
		return &redactedError{text, err}
	}
	return err
}

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }
