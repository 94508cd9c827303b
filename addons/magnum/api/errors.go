package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
)

// retrySeconds is what a client is told to wait when something is away.
const retrySeconds = 5

// httpError is an error as a client gets it.
type httpError struct {
	status int
	detail string
	// outside marks errors from outside the handlers: routing and malformed
	// version headers, whose code is empty (facts 3.1).
	outside bool
	// version is set for a microversion that is not supported (facts 1.5).
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

// looked turns a failed lookup in the cloud into an answer: what does not
// exist is missing, the rest is the same for all (facts 3.2). That the token is
// not accepted stays what it is: it is answered as without one.
func looked(err error, missing int) error {
	var failed *openstack.Error
	switch {
	case err == nil || !errors.As(err, &failed):
		return err
	case errors.Is(err, openstack.ErrNotFound):
		return refuse(missing, "%s", sentence(failed.Error()))
	case errors.Is(err, openstack.ErrAmbiguous):
		return conflict("%s", sentence(failed.Error()))
	case errors.Is(err, openstack.ErrForbidden):
		return forbidden("%s", sentence(failed.Error()))
	case errors.Is(err, openstack.ErrRefused):
		return badRequest("%s", sentence(failed.Error()))
	}
	return err
}

// sentence gives a text of ours a capital and a full stop.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// asHTTP is the answer an error becomes. What nobody expected says nothing
// about the inside.
func asHTTP(err error) *httpError {
	var already *httpError
	var failed *openstack.Error
	var network net.Error
	status, isKube := err.(apierrors.APIStatus)
	if !isKube {
		isKube = errors.As(err, &status)
	}
	switch {
	case errors.As(err, &already):
		return already
	case errors.Is(err, keystone.ErrUnavailable):
		return away("Keystone cannot be asked at the moment", err)
	case errors.As(err, &failed) && errors.Is(err, openstack.ErrUnavailable):
		return away(failed.Error(), err)
	case isKube && apierrors.IsConflict(err):
		return &httpError{status: http.StatusConflict, detail: "Somebody else changed the object at the same time. Try again.", cause: err}
	case isKube && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &httpError{status: http.StatusConflict, detail: "The resources of the project are being deleted. Try again.", cause: err}
	case isKube && apierrors.IsInvalid(err):
		return &httpError{status: http.StatusBadRequest, detail: invalidText(status), cause: err}
	case apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err),
		errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return away("the management cluster cannot be asked at the moment", err)
	}
	return &httpError{status: http.StatusInternalServerError, detail: "Something went wrong inside. Give the request id to the operator.", cause: err}
}

// away is the answer while something does not answer.
func away(what string, cause error) *httpError {
	return &httpError{status: http.StatusServiceUnavailable, detail: sentence(what) + " Try again.", cause: cause}
}

// invalidText says what the schema of the resources refused.
func invalidText(status apierrors.APIStatus) string {
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return "The values are not valid."
	}
	var texts []string
	for _, cause := range details.Causes {
		texts = append(texts, cause.Field+": "+cause.Message)
	}
	return sentence(strings.Join(texts, "; "))
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

func (e *httpError) write(w http.ResponseWriter, r *http.Request, requestID string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if e.status == http.StatusServiceUnavailable || e.status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(retrySeconds))
	}
	text := e.body(requestID, r.Header.Get("Accept"))
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(e.status)
	w.Write(text) //nolint:errcheck // the client is gone
}
