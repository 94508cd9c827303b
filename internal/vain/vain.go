// Package vain tells whether a wait is in vain. A wait that is ends with its cause within 45
// seconds, instead of at its time limit; docs/operations/waits.md lists the waits with what
// ends each of them.
package vain

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Patience is how long a cause that does not pass must last before it ends a wait:
// controllers that start report causes that go away a moment later.
const Patience = 30 * time.Second

// Watch remembers since when a wait is in vain. Its zero value is ready for use.
type Watch struct{ since time.Time }

// Over notes whether the wait is in vain now, and reports whether it has been for Patience.
func (w *Watch) Over(vain bool) bool {
	switch {
	case !vain:
		w.since = time.Time{}
	case w.since.IsZero():
		w.since = time.Now()
	default:
		return time.Since(w.since) >= Patience
	}
	return false
}

// final is an error of which who made it knows that it stays.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// Final marks an error after which asking again does not help.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

// certain is an error that no time changes.
type certain struct{ error }

func (c certain) Unwrap() error { return c.error }

// Certain marks an error that no time changes, such as one in a text that was given. Final is
// for causes that controllers were seen to report for a moment.
func Certain(err error) error {
	if err == nil {
		return nil
	}
	return certain{err}
}

// Ends notes the error of a try, and reports whether it ends the wait: at once if it is
// certain, after Patience if it is refused.
func (w *Watch) Ends(err error) bool {
	return w.Over(Refused(err)) || errors.As(err, new(certain))
}

// Refused reports whether asking again does not help: who was asked refuses the login or
// what it may do, or presents a certificate that is not trusted. What does not answer, is
// overloaded or not there yet may come.
func Refused(err error) bool {
	if errors.As(err, new(final)) || errors.As(err, new(certain)) {
		return true
	}
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || errors.As(err, new(*tls.CertificateVerificationError)) {
		return true
	}
	var response gophercloud.ErrUnexpectedResponseCode
	return errors.As(err, &response) && RefusedStatus(response.Actual)
}

// RefusedStatus reports whether an HTTP status of a cloud refuses the login, or what it may
// do.
func RefusedStatus(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}
