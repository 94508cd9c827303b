// Package api has what the sandbox's services share for HTTP: routes with the role they need, the
// caller, errors in each service's form, microversions, lists that are filtered, sorted and paged,
// tags, and version documents.
package api

import (
	"fmt"
	"net/http"
)

// Error is an answer that is not a success. Every handler returns its errors
// as one of these; any other error becomes a 500.
type Error struct {
	Status int
	// Kind is the name of the exception, for services that send it ("NetworkNotFound"); if it is
	// empty, they send a name that fits the status.
	Kind    string
	Message string
	Header  http.Header
}

// Error returns the status and the message.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Kind, e.Message) }

// Errorf returns an error of any status and kind.
func Errorf(status int, kind, format string, args ...any) *Error {
	return &Error{Status: status, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// BadRequest is 400.
func BadRequest(format string, args ...any) *Error {
	return Errorf(http.StatusBadRequest, "", format, args...)
}

// Unauthorized is 401 with the message that all services give.
func Unauthorized() *Error {
	return Errorf(http.StatusUnauthorized, "", "The request you have made requires authentication.")
}

// Forbidden is 403.
func Forbidden(format string, args ...any) *Error {
	return Errorf(http.StatusForbidden, "", format, args...)
}

// NotFound is 404.
func NotFound(format string, args ...any) *Error {
	return Errorf(http.StatusNotFound, "", format, args...)
}

// Conflict is 409.
func Conflict(format string, args ...any) *Error {
	return Errorf(http.StatusConflict, "", format, args...)
}
