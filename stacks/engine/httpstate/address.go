// Package httpstate keeps a state on an HTTP server that speaks the protocol of Terraform's
// "http" backend, as GitLab does. A [Client] reads, writes and locks the document; a bucket of
// it is what the engine's process writes to, see [Register].
package httpstate

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"

	"github.com/slipway-sh/slipway/internal/stateurl"
)

// address is where a state and its lock are, and the verbs of the lock.
type address struct {
	state, lock           string
	lockMethod, unlockVia string
}

// gitlab matches the path of a state that GitLab manages: its lock has an address of its own
// and usual verbs, because proxies refuse others.
var gitlab = regexp.MustCompile(`/api/v4/projects/[^/]+/terraform/state/[^/]+$`)

func parse(stateURL string) (address, error) {
	if cause, _ := stateurl.CheckHTTP(stateURL); cause != "" {
		return address{}, errors.New(cause)
	}
	u, err := url.Parse(stateURL)
	if err != nil {
		return address{}, errors.New("this is not a URL")
	}
	if gitlab.MatchString(u.EscapedPath()) {
		lock := *u
		lock.Path, lock.RawPath = path.Join(u.Path, "lock"), ""
		if u.RawPath != "" {
			lock.RawPath = path.Join(u.RawPath, "lock")
		}
		return address{u.String(), lock.String(), http.MethodPost, http.MethodDelete}, nil
	}
	return address{u.String(), u.String(), "LOCK", "UNLOCK"}, nil
}
