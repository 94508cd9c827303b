package release

import (
	"context"
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
)

// Kind is what can be done about an error.
type Kind string

// The kinds of errors.
const (
	// Temporary goes away by itself.
	Temporary Kind = "Temporary"
	// Unreachable is a cluster that does not answer, or refuses the credential.
	Unreachable Kind = "Unreachable"
	// KindMissing is a kind that another addon may still bring.
	KindMissing Kind = "KindMissing"
	// ChartInvalid is a chart that does not render with its values.
	ChartInvalid Kind = "ChartInvalid"
	// Refused is what the cluster rejects as it is.
	Refused Kind = "Refused"
	// NotReady is a release that was applied but did not become ready in time, or whose own hooks
	// failed.
	NotReady Kind = "NotReady"
	// WorkersMissing is a release that cannot continue without workers, on a cluster
	// that is to have none.
	WorkersMissing Kind = "WorkersMissing"
	// TemplateInvalid is values or manifests that do not render.
	TemplateInvalid Kind = "TemplateInvalid"
	// ChartUnavailable is a chart that could not be fetched.
	ChartUnavailable Kind = "ChartUnavailable"
	// HookFailed is a lifecycle hook of the addon that failed.
	HookFailed Kind = "HookFailed"
)

// Permanent reports whether only a change by a user can help.
func (k Kind) Permanent() bool { return k == ChartInvalid || k == Refused || k == TemplateInvalid }

// Error is an error together with what can be done about it.
type Error struct {
	Kind Kind
	Err  error
}

// Error returns the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is what can be done about an error of any type.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return kindOf(err)
}

// classify gives an error of the SDK its kind. rendered is whether the chart had been rendered by
// then.
func classify(err error, rendered bool) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	kind := kindOf(err)
	if kind == Temporary && !rendered && !fromServer(err) {
		kind = ChartInvalid
	}
	return &Error{kind, err}
}

// missingKind is how the layers of the SDK word the error for a kind that the server does not know.
var missingKind = regexp.MustCompile(`no matches for kind|resource mapping not found|could not find the requested resource`)

// network is how connection errors are worded.
var network = regexp.MustCompile(`Kubernetes cluster unreachable|Client\.Timeout exceeded|connection refused|connection reset|no such host|i/o timeout|TLS handshake|unexpected EOF`)

// kindOf decides by type first, and by wording only where the SDK keeps nothing else.
func kindOf(err error) Kind {
	var kind Kind
	walk(err, func(e error) bool {
		kind = typed(e)
		return kind == ""
	})
	if kind != "" {
		return kind
	}
	text := err.Error()
	switch {
	case missingKind.MatchString(text):
		return KindMissing
	case strings.Contains(text, "hooks failed"):
		return NotReady
	case network.MatchString(text):
		return Unreachable
	case strings.Contains(text, "invalid ownership metadata"), strings.Contains(text, " is invalid: "),
		strings.Contains(text, "strict decoding error"), strings.Contains(text, "release name is invalid"):
		return Refused
	}
	return Temporary
}

// typed is the kind of one error by its type, or "".
func typed(err error) Kind {
	if _, ok := err.(*TimeoutError); ok {
		return NotReady
	}
	if _, ok := err.(*WorkersError); ok {
		return WorkersMissing
	}
	if _, ok := err.(*target.UnreachableError); ok {
		return Unreachable
	}
	if meta.IsNoMatchError(err) {
		return KindMissing
	}
	if status, ok := err.(apierrors.APIStatus); ok {
		return ofStatus(status)
	}
	switch err.(type) {
	case net.Error, *url.Error:
		return Unreachable
	}
	return ""
}

func ofStatus(status apierrors.APIStatus) Kind {
	switch code := status.Status().Code; {
	case code == 401:
		return Unreachable
	case code == 400, code == 413, code == 422:
		return Refused
	}
	return Temporary
}

// fromServer reports whether an error came from the cluster.
func fromServer(err error) bool {
	found := errors.Is(err, driver.ErrReleaseExists) || errors.Is(err, context.DeadlineExceeded)
	walk(err, func(e error) bool {
		_, status := e.(apierrors.APIStatus)
		found = found || status
		return !found
	})
	return found || strings.Contains(err.Error(), "another operation (install/upgrade/rollback) is in progress")
}

// walk visits an error and everything that it wraps, also through aggregates, until visit returns
// false.
func walk(err error, visit func(error) bool) bool {
	if err == nil {
		return true
	}
	if !visit(err) {
		return false
	}
	var inner []error
	switch e := err.(type) {
	case utilerrors.Aggregate:
		inner = e.Errors()
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	}
	for _, e := range inner {
		if !walk(e, visit) {
			return false
		}
	}
	return true
}
