package identity

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// zulu and plain are the two formats of times in Keystone's answers.
const (
	zulu  = "2006-01-02T15:04:05.000000Z"
	plain = "2006-01-02T15:04:05.000000"
)

// timeText returns a time as text, or null.
func timeText(at *time.Time, form string) *string {
	if at == nil {
		return nil
	}
	text := at.UTC().Format(form)
	return &text
}

// parseTime reads the formats of times that clients send.
func parseTime(text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02T15:04:05Z0700"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, api.BadRequest("Invalid input for field 'expires_at': %q is not a time.", text)
}

type named struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain *named `json:"domain,omitempty"`
}

func (k *Keystone) domainRef(r store.Reader, id string) *named {
	domain, _ := k.model.Projects.Get(r, id)
	return &named{ID: domain.ID, Name: domain.Name}
}

// tokenView returns the token as clients see it.
func (k *Keystone) tokenView(c *api.Call, r store.Reader, p *api.Principal, catalog bool) map[string]any {
	view := map[string]any{
		"methods": p.Token.Methods, "audit_ids": p.Token.AuditIDs,
		"issued_at": p.Token.IssuedAt.UTC().Format(zulu), "expires_at": p.Token.ExpiresAt.UTC().Format(zulu),
		"user": map[string]any{"id": p.User.ID, "name": p.User.Name, "domain": k.domainRef(r, p.User.DomainID),
			"password_expires_at": timeText(p.User.PasswordExpires, plain)},
	}
	k.addScope(r, p, view)
	k.addDelegation(r, p, view)
	if len(p.RoleIDs) == 0 {
		return view
	}
	roles := []named{}
	for i, id := range p.RoleIDs {
		roles = append(roles, named{ID: id, Name: p.Roles[i]})
	}
	view["roles"] = roles
	if catalog {
		view["catalog"] = k.catalog(c, r, p)
	}
	return view
}

func (k *Keystone) addScope(r store.Reader, p *api.Principal, view map[string]any) {
	switch {
	case p.ProjectID != "":
		project, _ := k.model.Projects.Get(r, p.ProjectID)
		view["is_domain"] = project.IsDomain
		view["project"] = named{ID: project.ID, Name: project.Name, Domain: k.domainRef(r, project.DomainID)}
	case p.DomainID != "":
		view["domain"] = k.domainRef(r, p.DomainID)
	case p.Token.System:
		view["system"] = map[string]bool{"all": true}
	}
}

func (k *Keystone) addDelegation(r store.Reader, p *api.Principal, view map[string]any) {
	if cred, ok := k.model.AppCreds.Get(r, p.Token.AppCredID); ok {
		about := map[string]any{"id": cred.ID, "name": cred.Name, "restricted": !cred.Unrestricted}
		if p.AccessRules != nil {
			about["access_rules"] = ruleViews(*p.AccessRules)
		}
		view["application_credential"] = about
	}
	if trust, ok := k.model.Trusts.Get(r, p.Token.TrustID); ok {
		view["OS-TRUST:trust"] = map[string]any{"id": trust.ID, "impersonation": trust.Impersonation,
			"trustor_user": map[string]string{"id": trust.TrustorUserID},
			"trustee_user": map[string]string{"id": trust.TrusteeUserID}}
	}
}
