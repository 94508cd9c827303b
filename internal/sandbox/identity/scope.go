package identity

import (
	"encoding/json"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type scopeRequest struct {
	Project *reference `json:"project"`
	Domain  *reference `json:"domain"`
	System  *struct {
		All bool `json:"all"`
	} `json:"system"`
	Trust *struct {
		ID string `json:"id"`
	} `json:"OS-TRUST:trust"`
	Unscoped *struct{} `json:"unscoped"`
}

// parseScope reads the scope, which is an object or the word "unscoped".
func parseScope(text json.RawMessage) (in scopeRequest, asked bool, err error) {
	if len(text) == 0 || string(text) == "null" {
		return in, false, nil
	}
	if string(text) == `"unscoped"` {
		in.Unscoped = &struct{}{}
		return in, true, nil
	}
	if json.Unmarshal(text, &in) != nil {
		return in, false, api.BadRequest("Invalid input for field 'scope': it is neither an object nor unscoped.")
	}
	return in, true, nil
}

// rescope sets the scope of the token.
func (k *Keystone) rescope(tx *store.Tx, l *login, text json.RawMessage) error {
	in, asked, err := parseScope(text)
	if err != nil {
		return err
	}
	if l.token.AppCredID != "" {
		return k.scopeOfAppCred(tx, l, in)
	}
	t := &l.token
	switch {
	case !asked:
		k.defaultScope(tx, t)
	case in.Trust != nil:
		return k.scopeOfTrust(tx, t, in.Trust.ID)
	case in.Project != nil:
		t.ProjectID = k.projectID(tx, *in.Project)
		if t.ProjectID == "" {
			return api.Unauthorized()
		}
	case in.Domain != nil:
		t.DomainID = k.domainID(tx, in.Domain)
		if t.DomainID == "" {
			return api.Unauthorized()
		}
	case in.System != nil:
		t.System = in.System.All
	}
	return nil
}

// defaultScope sets the user's default project, if the user has a role there.
func (k *Keystone) defaultScope(r store.Reader, t *model.Token) {
	user, _ := k.model.Users.Get(r, t.UserID)
	s := scope{projectID: user.DefaultProjectID}
	if !s.empty() && k.open(r, s) && len(k.effective(r, user.ID, s)) > 0 {
		t.ProjectID = s.projectID
	}
}

func (k *Keystone) projectID(r store.Reader, ref reference) string {
	if ref.ID != "" {
		return ref.ID
	}
	domainID := k.domainID(r, ref.Domain)
	for p := range k.model.ProjectsByName.Each(r, ref.Name) {
		if !p.IsDomain && p.DomainID == domainID {
			return p.ID
		}
	}
	return ""
}

// scopeOfAppCred sets the credential's project; it refuses any other scope.
func (k *Keystone) scopeOfAppCred(r store.Reader, l *login, in scopeRequest) error {
	cred, _ := k.model.AppCreds.Get(r, l.token.AppCredID)
	if in.Project != nil && k.projectID(r, *in.Project) != cred.ProjectID || in.Domain != nil || in.System != nil || in.Trust != nil {
		return api.Unauthorized()
	}
	l.token.ProjectID = cred.ProjectID
	l.token.ExpiresAt = earliest(l.token.ExpiresAt, cred.ExpiresAt)
	return nil
}

// scopeOfTrust makes the trustee act for the trustor, and counts one use.
func (k *Keystone) scopeOfTrust(tx *store.Tx, t *model.Token, id string) error {
	trust, ok := k.model.Trusts.Get(tx, id)
	switch {
	case !ok || expired(trust.ExpiresAt, k.env.Timing.Now()):
		return api.Unauthorized()
	case trust.TrusteeUserID != t.UserID:
		return api.Forbidden("You are not authorized to perform the requested action: user is not the trustee of the trust.")
	case trust.RemainingUses != nil && *trust.RemainingUses < 1:
		return api.Unauthorized()
	}
	k.model.Trusts.Change(tx, id, func(v *model.Trust) {
		if v.RemainingUses != nil {
			*v.RemainingUses--
		}
	})
	t.TrustID, t.ProjectID = trust.ID, trust.ProjectID
	t.ExpiresAt = earliest(t.ExpiresAt, trust.ExpiresAt)
	if trust.Impersonation {
		t.UserID = trust.TrustorUserID
	}
	return nil
}

func earliest(at time.Time, other *time.Time) time.Time {
	if other != nil && other.Before(at) {
		return *other
	}
	return at
}
