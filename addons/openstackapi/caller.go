package openstackapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// Validator knows whose a token is.
type Validator interface {
	Validate(ctx context.Context, token, serviceToken string) (*keystone.Token, error)
}

// Answered says that the answer has been written already.
type Answered struct{}

func (Answered) Error() string { return "authentication required" }

// Authenticate finds out who calls. Without a valid token the answer is the one of
// Keystone's middleware, on which clients log in again.
func Authenticate(w http.ResponseWriter, r *http.Request, tokens Validator, authURL string) (*keystone.Token, error) {
	token, err := tokens.Validate(r.Context(), r.Header.Get("X-Auth-Token"), r.Header.Get("X-Service-Token"))
	switch {
	case errors.Is(err, keystone.ErrInvalid):
		Unauthorized(w, authURL)
		return nil, Answered{}
	case err != nil:
		return nil, err
	case token.ProjectID == "":
		return nil, &Error{Status: http.StatusForbidden, Detail: "The token must be scoped to a project."}
	}
	return token, nil
}

// Unauthorized answers a request without a valid token.
func Unauthorized(w http.ResponseWriter, authURL string) {
	h := w.Header()
	h.Set("WWW-Authenticate", fmt.Sprintf("Keystone uri=%q", authURL))
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(http.StatusUnauthorized)
	w.Write([]byte("Authentication required\n")) //nolint:errcheck // the client is gone
}
