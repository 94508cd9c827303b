package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/fault"
)

func brokenConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED)
}

// gone turns the cloud's 404 into errGone.
func gone(err error) error {
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return errGone
	}
	return err
}

// foreign is the error for a resource that has our name but not our ownership tag (S-02).
func foreign(word, name, id string) error {
	remedy := "rename or delete it, or give the environment another name"
	if collections()[word] != "" {
		remedy = "rename or delete it, give the environment another name, or adopt it with slipway state adopt"
	}
	return &fault.Fault{Exit: fault.ExitPreflight, Object: word + " " + name,
		Err: fmt.Errorf("one with this name exists but does not belong to this environment (%s)", id), Remedy: remedy}
}

// failed is the error for a resource in an error state, with the cloud's own message.
func failed(state, cause, remedy string) error {
	if cause == "" {
		cause = "the cloud gives no cause"
	}
	return &fault.Fault{Exit: fault.ExitFailure, Err: fmt.Errorf("state %s: %s", state, cause), Remedy: remedy}
}

// explain turns an error into a fault: the object, the cloud's own message and the remedy.
func explain(object string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) && known.Object != "" {
		return known
	}
	f := fault.New(object, err, fault.Remedy(err))
	var response gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &response) {
		f.Err = fmt.Errorf("%s %s answered %d: %s%w", response.Method, path(response.URL), response.Actual, message(err), request{err, response})
		f.Remedy = remedy(response)
	}
	return f
}

// request is the rest of an error's text, the cloud's request ID; it keeps the error itself
// for errors.As.
type request struct {
	error
	response gophercloud.ErrUnexpectedResponseCode
}

func (r request) Error() string {
	for _, header := range []string{"X-Openstack-Request-Id", "X-Compute-Request-Id"} {
		if id := r.response.ResponseHeader.Get(header); id != "" {
			return " (request " + id + ")"
		}
	}
	return ""
}

func (r request) Unwrap() error { return r.error }

func path(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			url = rest[i:]
		}
	}
	url, _, _ = strings.Cut(url, "?")
	return url
}

func remedy(response gophercloud.ErrUnexpectedResponseCode) string {
	body := strings.ToLower(string(response.Body))
	switch {
	case strings.Contains(body, "quota"), response.Actual == http.StatusRequestEntityTooLarge:
		return "ask for more quota, or delete what you do not need; slipway preflight shows how much is needed"
	case response.Actual == http.StatusUnauthorized:
		return "check the credential in clouds.yaml"
	case response.Actual == http.StatusForbidden:
		return "give your credential the role that this call needs"
	case response.Actual >= 500:
		return "the cloud has a problem; run the same command again"
	}
	return ""
}

// message is the cloud's message without its JSON wrapping.
func message(err error) string {
	var response gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &response) {
		return err.Error()
	}
	var body any
	if json.Unmarshal(response.Body, &body) == nil {
		if text := deepest(body); text != "" {
			return text
		}
	}
	if text := strings.TrimSpace(string(response.Body)); text != "" && len(text) < 300 && !strings.HasPrefix(text, "<") {
		return text
	}
	return http.StatusText(response.Actual)
}

// deepest finds the text in an OpenStack error: {"x": {"message": "…"}}, where each service
// has its own x.
func deepest(body any) string {
	fields, ok := body.(map[string]any)
	if !ok {
		return ""
	}
	for _, key := range []string{"message", "faultstring", "title"} {
		if text, ok := fields[key].(string); ok && text != "" {
			return text
		}
	}
	for _, value := range fields {
		if text := deepest(value); text != "" {
			return text
		}
	}
	return ""
}
