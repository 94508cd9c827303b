package api

import (
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// Principal is the caller, as the token in X-Auth-Token says.
type Principal struct {
	Token model.Token
	User  model.User
	// ProjectID and DomainID are the scope; both are empty without one.
	ProjectID, ProjectName string
	DomainID               string
	// Roles are the names of the roles in the scope, implied ones too.
	Roles []string
	// AccessRules are those of an application credential; nil allows all.
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

// Owns reports whether something of the project is the caller's, or the
// caller is an administrator. What a caller does not own is answered as not
// found, as OpenStack does, not as forbidden.
func (p *Principal) Owns(projectID string) bool {
	return p.Admin() || (p != nil && p.ProjectID != "" && p.ProjectID == projectID)
}

// Expired reports whether the token's time is over.
func (p *Principal) Expired(now time.Time) bool { return !now.Before(p.Token.ExpiresAt) }

// Role is what a route asks of its caller. The zero value is refused, so that
// no route is open by omission.
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
