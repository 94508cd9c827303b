package identity

import (
	"errors"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// errInvalid is the error for a token that is not accepted; callers get no further reason.
var errInvalid = errors.New("token is not valid")

// Authenticate returns the caller of a token.
func (k *Keystone) Authenticate(token string) (*api.Principal, error) {
	var p *api.Principal
	err := k.env.Store.View(func(r store.Reader) (err error) {
		p, err = k.principal(r, tokenID(token))
		return err
	})
	return p, err
}

// principal checks the present state of everything that a token depends on, so that what was
// disabled, deleted or removed since counts at once.
func (k *Keystone) principal(r store.Reader, id string) (*api.Principal, error) {
	token, ok := k.model.Tokens.Get(r, id)
	if !ok || !k.env.Timing.Now().Before(token.ExpiresAt) {
		return nil, errInvalid
	}
	user, ok := k.usable(r, token.UserID)
	if !ok || token.IssuedAt.Before(user.ValidAfter) {
		return nil, errInvalid
	}
	p := &api.Principal{Token: token, User: user, ProjectID: token.ProjectID, DomainID: token.DomainID, Unrestricted: true}
	s := scope{token.ProjectID, token.DomainID, token.System}
	if s.empty() {
		return p, nil
	}
	if !k.open(r, s) || !k.authorize(r, p, s) {
		return nil, errInvalid
	}
	project, _ := k.model.Projects.Get(r, token.ProjectID)
	p.ProjectName = project.Name
	p.Roles = k.roleNames(r, p.RoleIDs)
	return p, nil
}

// authorize finds the roles and limits of a scoped token; it fails when no role is left.
func (k *Keystone) authorize(r store.Reader, p *api.Principal, s scope) bool {
	switch {
	case p.Token.AppCredID != "":
		return k.authorizeAppCred(r, p, s)
	case p.Token.TrustID != "":
		trust, ok := k.model.Trusts.Get(r, p.Token.TrustID)
		if !ok || expired(trust.ExpiresAt, k.env.Timing.Now()) {
			return false
		}
		if _, ok := k.usable(r, trust.TrustorUserID); !ok {
			return false
		}
		p.Unrestricted = false
		p.RoleIDs, ok = k.subset(r, trust.RoleIDs, k.effective(r, trust.TrustorUserID, s))
		return ok && len(p.RoleIDs) > 0
	}
	p.RoleIDs = k.effective(r, p.User.ID, s)
	return len(p.RoleIDs) > 0
}

func (k *Keystone) authorizeAppCred(r store.Reader, p *api.Principal, s scope) bool {
	cred, ok := k.model.AppCreds.Get(r, p.Token.AppCredID)
	if !ok || expired(cred.ExpiresAt, k.env.Timing.Now()) {
		return false
	}
	p.Unrestricted = cred.Unrestricted
	if cred.AccessRules != nil {
		rules := []model.AccessRule{}
		for _, id := range *cred.AccessRules {
			rule, _ := k.model.AccessRules.Get(r, id)
			rules = append(rules, rule)
		}
		p.AccessRules = &rules
	}
	p.RoleIDs, ok = k.subset(r, cred.RoleIDs, k.effective(r, cred.UserID, s))
	return ok && len(p.RoleIDs) > 0
}

// usable returns a user who exists and may log in.
func (k *Keystone) usable(r store.Reader, userID string) (model.User, bool) {
	user, ok := k.model.Users.Get(r, userID)
	return user, ok && user.Enabled && k.open(r, scope{domainID: user.DomainID})
}

// open reports whether a scope exists and is enabled, with the domain above.
func (k *Keystone) open(r store.Reader, s scope) bool {
	if s.system {
		return true
	}
	project, ok := k.model.Projects.Get(r, s.projectID+s.domainID)
	if !ok || !project.Enabled || (s.domainID != "" && !project.IsDomain) {
		return false
	}
	return project.DomainID == "" || k.open(r, scope{domainID: project.DomainID})
}

func expired(at *time.Time, now time.Time) bool { return at != nil && !now.Before(*at) }
