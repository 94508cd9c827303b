package api

import (
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// Principal is the caller that the token in X-Auth-Token belongs to.
type Principal struct {
	Token model.Token
	User  model.User
	// ProjectID and DomainID are the scope; both are empty without a scope.
	ProjectID, ProjectName string
	DomainID               string
	// Roles are the names of the roles in the scope, implied ones too.
	Roles []string
	// AccessRules are the access rules of an application credential; nil allows all calls.
	AccessRules *[]model.AccessRule
	// Unrestricted is false for an application credential that may not
	// manage credentials and trusts; RoleIDs are the ids of Roles.
	Unrestricted bool
	RoleIDs      []string
}

// Has reports whether the caller has the role in the scope.
func (p *Principal) Has(role string) bool { return p != nil && slices.Contains(p.Roles, role) }

// Admin reports whether the caller has the role admin.
func (p *Principal) Admin() bool { return p.Has("admin") }

// UserID is the id of the user.
func (p *Principal) UserID() string { return p.User.ID }

// Owns reports whether the caller owns the resources of the project, or is an administrator. For a
// resource that the caller does not own, the answer is not found, as in OpenStack, and not
// forbidden.
func (p *Principal) Owns(projectID string) bool {
	return p.Admin() || (p != nil && p.ProjectID != "" && p.ProjectID == projectID)
}

// Expired reports whether the token has expired.
func (p *Principal) Expired(now time.Time) bool { return !now.Before(p.Token.ExpiresAt) }

// Role is the role that a route requires of its caller. The zero value is refused, so that no route
// is open by omission.
type Role int

// The roles of routes. Reader, Member and Admin are OpenStack's default roles
// in the token's scope; each has the rights of those before it.
const (
	unset Role = iota
	// Public needs no token.
	Public
	// Token needs a valid token of any scope; the handler decides the rest.
	Token
	Reader
	Member
	Admin
)

func (r Role) allows(p *Principal) bool {
	switch r {
	case Public, Token:
		return true
	case Reader:
		return p.Has("reader") || p.Has("member") || p.Admin()
	case Member:
		return p.Has("member") || p.Admin()
	case Admin:
		return p.Admin()
	}
	return false
}
