package identity

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type trustView struct {
	ID                string     `json:"id"`
	TrustorUserID     string     `json:"trustor_user_id"`
	TrusteeUserID     string     `json:"trustee_user_id"`
	ProjectID         string     `json:"project_id"`
	Impersonation     bool       `json:"impersonation"`
	Roles             []roleView `json:"roles,omitempty"`
	ExpiresAt         *string    `json:"expires_at"`
	DeletedAt         *string    `json:"deleted_at"`
	RemainingUses     *int       `json:"remaining_uses"`
	RedelegationCount int        `json:"redelegation_count"`
	AllowRedelegation bool       `json:"allow_redelegation"`
	RedelegatedFrom   string     `json:"redelegated_trust_id,omitempty"`
	Links             self       `json:"links"`
}

func (k *Keystone) newTrustView(c *api.Call, r store.Reader, t model.Trust) trustView {
	v := trustView{ID: t.ID, TrustorUserID: t.TrustorUserID, TrusteeUserID: t.TrusteeUserID, ProjectID: t.ProjectID,
		Impersonation: t.Impersonation, ExpiresAt: timeText(t.ExpiresAt, zulu), RemainingUses: t.RemainingUses,
		RedelegationCount: t.RedelegationCount, AllowRedelegation: t.AllowRedelegation, RedelegatedFrom: t.RedelegatedFrom,
		Links: link(c, "/OS-TRUST/trusts/"+t.ID)}
	for _, id := range t.RoleIDs {
		role, _ := k.model.Roles.Get(r, id)
		v.Roles = append(v.Roles, newRoleView(c, role))
	}
	return v
}

func (k *Keystone) trustRoutes() []api.Route {
	const path = " /v3/OS-TRUST/trusts"
	return []api.Route{
		{Pattern: "GET" + path, Role: api.Token, Handle: k.listTrusts},
		{Pattern: "POST" + path, Role: api.Token, Handle: k.createTrust},
		{Pattern: "GET" + path + "/{id}", Role: api.Token, Handle: k.showTrust},
		{Pattern: "DELETE" + path + "/{id}", Role: api.Token, Handle: k.deleteTrust},
		{Pattern: "GET" + path + "/{id}/roles", Role: api.Token, Handle: k.trustRoles},
		{Pattern: "GET" + path + "/{id}/roles/{role}", Role: api.Token, Handle: k.trustRole},
	}
}

// listTrusts needs a filter by the caller, unless the caller is an
// administrator.
func (k *Keystone) listTrusts(c *api.Call) error {
	self := c.Principal.UserID()
	if !c.Principal.Admin() && c.Query("trustor_user_id") != self && c.Query("trustee_user_id") != self {
		return denied()
	}
	return c.View(func(r store.Reader) error {
		list := api.List[trustView]{Key: "trusts", ID: func(v trustView) string { return v.ID }, Links: api.SelfLinks}
		return list.Reply(c, func(yield func(trustView) bool) {
			for t := range k.model.Trusts.All(r) {
				v := k.newTrustView(c, r, t)
				v.Roles = nil // Keystone leaves them out of lists
				if !yield(v) {
					return
				}
			}
		})
	})
}

// trust returns the trust in the path, for its trustor, its trustee and administrators.
func (k *Keystone) trust(c *api.Call, r store.Reader) (model.Trust, error) {
	t, err := find(r, k.model.Trusts, "trust", c.Path("id"))
	if err == nil && expired(t.ExpiresAt, k.env.Timing.Now()) {
		err = api.NotFound("Could not find trust: %s.", t.ID)
	}
	if err == nil && t.TrusteeUserID != c.Principal.UserID() {
		err = requireSelf(c, t.TrustorUserID)
	}
	return t, err
}

func (k *Keystone) showTrust(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := k.trust(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"trust": k.newTrustView(c, r, t)})
	})
}

func (k *Keystone) trustRoles(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := k.trust(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"roles": k.newTrustView(c, r, t).Roles,
			"links": link(c, "/OS-TRUST/trusts/"+t.ID+"/roles")})
	})
}

func (k *Keystone) trustRole(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := k.trust(c, r)
		if err != nil {
			return err
		}
		for _, role := range k.newTrustView(c, r, t).Roles {
			if role.ID == c.Path("role") {
				return c.Reply(http.StatusOK, map[string]any{"role": role})
			}
		}
		return api.NotFound("Could not find role: %s.", c.Path("role"))
	})
}

func (k *Keystone) deleteTrust(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		t, err := k.trust(c, tx)
		if err != nil {
			return err
		}
		if err := requireSelf(c, t.TrustorUserID); err != nil {
			return err
		}
		k.model.Trusts.Delete(tx, t.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

type trustInput struct {
	TrustorUserID     string      `json:"trustor_user_id"`
	TrusteeUserID     string      `json:"trustee_user_id"`
	ProjectID         string      `json:"project_id"`
	Impersonation     *bool       `json:"impersonation"`
	Roles             []reference `json:"roles"`
	ExpiresAt         string      `json:"expires_at"`
	RemainingUses     *int        `json:"remaining_uses"`
	AllowRedelegation bool        `json:"allow_redelegation"`
	RedelegationCount int         `json:"redelegation_count"`
}

// createTrust lets another user act for the caller on a project, with no more roles than the caller
// has there, whatever the scope of the token.
func (k *Keystone) createTrust(c *api.Call) error {
	var in trustInput
	if err := c.DecodeIn("trust", &in); err != nil {
		return err
	}
	switch {
	case in.TrustorUserID != c.Principal.UserID() || !c.Principal.Unrestricted:
		return denied()
	case in.Impersonation == nil || in.TrusteeUserID == "":
		return api.BadRequest("Invalid input: 'impersonation' and 'trustee_user_id' are required properties")
	case in.RemainingUses != nil && *in.RemainingUses < 1:
		return api.BadRequest("remaining_uses must be a positive integer or null.")
	case len(in.Roles) == 0:
		return api.Forbidden("At least one role should be specified.")
	}
	at, err := k.future(in.ExpiresAt)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if _, err := find(tx, k.model.Users, "user", in.TrusteeUserID); err != nil {
			return err
		}
		roles, err := k.delegated(tx, in)
		if err != nil {
			return err
		}
		t := model.Trust{ID: model.NewKeyID(), TrustorUserID: in.TrustorUserID, TrusteeUserID: in.TrusteeUserID,
			ProjectID: in.ProjectID, Impersonation: *in.Impersonation, RoleIDs: roles, ExpiresAt: at, RemainingUses: in.RemainingUses,
			AllowRedelegation: in.AllowRedelegation, RedelegationCount: in.RedelegationCount}
		k.model.Trusts.Put(tx, t)
		return c.Reply(http.StatusCreated, map[string]any{"trust": k.newTrustView(c, tx, t)})
	})
}

// delegated returns the ids of the roles of a trust; the trustor must have all of them on the
// project.
func (k *Keystone) delegated(r store.Reader, in trustInput) ([]string, error) {
	if _, err := find(r, k.model.Projects, "project", in.ProjectID); err != nil {
		return nil, err
	}
	has := k.effective(r, in.TrustorUserID, scope{projectID: in.ProjectID})
	var ids []string
	for _, ref := range in.Roles {
		role, _ := k.model.RolesByName.First(r, ref.Name)
		id := cmp.Or(ref.ID, role.ID)
		if !slices.Contains(has, id) {
			return nil, api.NotFound("Could not find role: %s.", cmp.Or(ref.ID, ref.Name))
		}
		ids = append(ids, id)
	}
	return ids, nil
}
