// Package keystone knows who calls: it validates tokens with Keystone and
// remembers the answers for a bounded time.
package keystone

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
)

// ErrInvalid says that Keystone does not know a token, or no longer.
var ErrInvalid = errors.New("the token is not valid")

// ErrUnavailable says that Keystone could not be asked.
var ErrUnavailable = errors.New("Keystone cannot be asked at the moment")

// Token is a valid token.
type Token struct {
	// ID is the secret itself; it is used to act for the caller and never
	// stored or logged.
	ID string
	// UserID, UserName and DomainID are the user's.
	UserID, UserName, DomainID string
	// ProjectID is the project it is scoped to; empty for other scopes.
	ProjectID string
	// Roles are the names of the roles on the project, implied ones included.
	Roles []string
	// ExpiresAt is when it ends.
	ExpiresAt time.Time
	// Restricted says that it was got by an application credential that may
	// not make further ones.
	Restricted bool
	// Endpoints are the addresses in its catalog by type of service, for the
	// region and interface of the validator, without a slash at the end.
	Endpoints map[string]string
}

// Caller is the token's owner as policy sees it.
func (t *Token) Caller() policy.Caller {
	return policy.Caller{UserID: t.UserID, ProjectID: t.ProjectID, DomainID: t.DomainID, Roles: t.Roles}
}

// HasRole reports whether the token has a role.
func (t *Token) HasRole(name string) bool {
	return slices.ContainsFunc(t.Roles, func(role string) bool { return strings.EqualFold(role, name) })
}

// Endpoint finds the first of several types of a service in the catalog; ""
// is none.
func (t *Token) Endpoint(types ...string) string {
	for _, service := range types {
		if address := t.Endpoints[service]; address != "" {
			return address
		}
	}
	return ""
}

// answer is the body of GET /v3/auth/tokens.
type answer struct {
	Token struct {
		ExpiresAt time.Time `json:"expires_at"`
		User      struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Domain struct {
				ID string `json:"id"`
			} `json:"domain"`
		} `json:"user"`
		Project *struct {
			ID string `json:"id"`
		} `json:"project"`
		Roles []struct {
			Name string `json:"name"`
		} `json:"roles"`
		ApplicationCredential *struct {
			Restricted bool `json:"restricted"`
		} `json:"application_credential"`
		Catalog []struct {
			Type      string `json:"type"`
			Endpoints []struct {
				Interface string `json:"interface"`
				Region    string `json:"region_id"`
				URL       string `json:"url"`
			} `json:"endpoints"`
		} `json:"catalog"`
	} `json:"token"`
}

func (a *answer) token(id, region, face string) *Token {
	in := a.Token
	t := &Token{ID: id, UserID: in.User.ID, UserName: in.User.Name, DomainID: in.User.Domain.ID, ExpiresAt: in.ExpiresAt, Endpoints: map[string]string{}}
	if in.Project != nil {
		t.ProjectID = in.Project.ID
	}
	for _, role := range in.Roles {
		t.Roles = append(t.Roles, role.Name)
	}
	if in.ApplicationCredential != nil {
		t.Restricted = in.ApplicationCredential.Restricted
	}
	for _, service := range in.Catalog {
		for _, e := range service.Endpoints {
			if e.Interface == face && (region == "" || e.Region == region) && t.Endpoints[service.Type] == "" {
				t.Endpoints[service.Type] = strings.TrimRight(e.URL, "/")
			}
		}
	}
	return t
}
