package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// httpError is an error as clients get it.
type httpError struct {
	status int
	detail string
	// outside marks errors from outside the handlers: routing and malformed
	// version headers, whose code is empty.
	outside bool
	// version is set for a microversion that is not supported.
	version *microversionError
	cause   error
}

func (e *httpError) Error() string { return e.detail }
func (e *httpError) Unwrap() error { return e.cause }

func refuse(status int, format string, args ...any) error {
	return &httpError{status: status, detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, format, args...)
}

func notFound(format string, args ...any) error {
	return refuse(http.StatusNotFound, format, args...)
}

func conflict(format string, args ...any) error {
	return refuse(http.StatusConflict, format, args...)
}

func forbidden(format string, args ...any) error {
	return refuse(http.StatusForbidden, format, args...)
}

// looked turns a failed lookup in the cloud into an answer: missing is the answer if the object
// does not exist; all other errors have the same answer for all kinds. A token that is not accepted
// stays that error: it is answered like a missing token.
func looked(err error, missing int) error {
	var failed *openstack.Error
	switch {
	case err == nil || !errors.As(err, &failed):
		return err
	case errors.Is(err, openstack.ErrNotFound):
		return refuse(missing, "%s", openstackapi.Sentence(failed.Error()))
	case errors.Is(err, openstack.ErrAmbiguous):
		return conflict("%s", openstackapi.Sentence(failed.Error()))
	case errors.Is(err, openstack.ErrForbidden):
		return forbidden("%s", openstackapi.Sentence(failed.Error()))
	case errors.Is(err, openstack.ErrRefused):
		return badRequest("%s", openstackapi.Sentence(failed.Error()))
	}
	return err
}

// asHTTP returns the answer for an error. The answer for an unexpected error reveals nothing
// internal.
func asHTTP(err error) *httpError {
	var already *httpError
	var failed *openstack.Error
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &failed) && errors.Is(err, openstack.ErrUnavailable) && !errors.Is(err, keystone.ErrUnavailable):
		return away(failed.Error(), err)
	}
	var shared *openstackapi.Error
	if !errors.As(err, &shared) {
		shared = openstackapi.Failure(err)
	}
	return &httpError{status: shared.Status, detail: shared.Detail, cause: shared.Cause}
}

// WriteError answers with an error as this API does, for code that answers on its behalf.
func WriteError(w http.ResponseWriter, r *http.Request, requestID string, err error) {
	asHTTP(err).write(w, r, requestID)
}

// away is the answer while another service does not answer.
func away(what string, cause error) *httpError {
	e := openstackapi.Away(what, cause)
	return &httpError{status: e.Status, detail: e.Detail, cause: cause}
}

// envelope is the body of errors.
type envelope struct {
	Errors []any `json:"errors"`
}

type errorObject struct {
	RequestID string `json:"request_id"`
	Code      string `json:"code"`
	Status    int    `json:"status"`
	Title     string `json:"title"`
	Detail    string `json:"detail"`
	Links     []any  `json:"links"`
}

func (e *httpError) body(requestID string, accept string) []byte {
	var object any
	if e.version != nil {
		object = e.version.object(accept)
	} else {
		o := errorObject{RequestID: requestID, Code: "client", Status: e.status, Detail: e.detail, Links: []any{}}
		o.Title = title(e.detail)
		if e.status >= http.StatusInternalServerError {
			o.Code = "server"
		}
		if e.outside {
			o.Code = ""
		}
		object = o
	}
	text, err := json.Marshal(envelope{[]any{object}})
	if err != nil {
		return []byte(`{"errors":[]}`)
	}
	return text
}

// title is the first sentence of a detail, without its full stop; clients show
// it alone. The reference ends it at the first dot, within "m1.small" too.
func title(detail string) string {
	for i, letter := range detail {
		if letter == '.' && (i+1 == len(detail) || detail[i+1] == ' ' || detail[i+1] == '\n') {
			return detail[:i]
		}
	}
	return detail
}

// brittleClient begins the user agent of python-magnumclient, on which openstack coe is built.
// Given Retry-After with another status than 413, it ends with "HttpError.__init__() got an
// unexpected keyword argument 'retry_after'" and does not show the error: magnumclient 4.8,
// common/apiclient/exceptions.py.
const brittleClient = "python-magnumclient"

func (e *httpError) write(w http.ResponseWriter, r *http.Request, requestID string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	later := e.status == http.StatusServiceUnavailable || e.status == http.StatusTooManyRequests
	if later && !strings.HasPrefix(r.UserAgent(), brittleClient) {
		h.Set("Retry-After", strconv.Itoa(openstackapi.RetrySeconds))
	}
	text := e.body(requestID, r.Header.Get("Accept"))
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(e.status)
	w.Write(text) //nolint:errcheck // the client is gone
}
