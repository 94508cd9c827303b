package openstackapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/internal/kube/retry"
)

// RetrySeconds is what a client is asked to wait when something is away.
const RetrySeconds = 5

// Error is an answer with an error.
type Error struct {
	Status int
	Detail string
	// Cause is for the log.
	Cause error
}

func (e *Error) Error() string { return e.Detail }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Failure is the answer that an error of Kubernetes, of Keystone or of a network
// becomes. What nobody expected says nothing about the inside.
func Failure(err error) *Error {
	var network net.Error
	var status apierrors.APIStatus
	isKube := errors.As(err, &status)
	switch {
	case errors.Is(err, keystone.ErrUnavailable):
		return Away("Keystone cannot be asked at the moment", err)
	case isKube && apierrors.IsConflict(err):
		return &Error{http.StatusConflict, "Somebody else changed the object at the same time. Try again.", err}
	case isKube && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &Error{http.StatusConflict, "The resources of the project are being deleted. Try again.", err}
	case isKube && apierrors.IsInvalid(err):
		return &Error{http.StatusBadRequest, invalidText(status), err}
	case apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || retry.Helps(err) || starts(err),
		errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return Away("the management cluster cannot be asked at the moment", err)
	}
	return &Error{http.StatusInternalServerError, "Something went wrong inside. Give the request id to the operator.", err}
}

// starts reports whether an API server that was just started refuses what it will do in
// seconds: its admission has not read the namespaces yet (k8s.io/apiserver, WaitForReady).
func starts(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not yet ready to handle request")
}

// Away is the answer while something does not answer.
func Away(what string, cause error) *Error {
	return &Error{http.StatusServiceUnavailable, Sentence(what) + " Try again.", cause}
}

// Sentence gives a text of ours a capital and a full stop.
func Sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
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
	return Sentence(strings.Join(texts, "; "))
}

// Reason is an error with what is behind it, for the log.
func Reason(err error) string {
	var answer *Error
	if errors.As(err, &answer) && answer.Cause != nil {
		return answer.Detail + " " + answer.Cause.Error()
	}
	return err.Error()
}
