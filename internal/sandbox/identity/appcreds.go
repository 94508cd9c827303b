package identity

import (
	"net/http"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type appCredView struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Description  string      `json:"description"`
	UserID       string      `json:"user_id"`
	ProjectID    string      `json:"project_id"`
	Roles        []roleView  `json:"roles"`
	Unrestricted bool        `json:"unrestricted"`
	ExpiresAt    *string     `json:"expires_at"`
	System       *string     `json:"system"`
	AccessRules  *[]ruleView `json:"access_rules,omitempty"`
	Secret       string      `json:"secret,omitempty"`
	Links        self        `json:"links"`
}

func (k *Keystone) newAppCredView(c *api.Call, r store.Reader, cred model.ApplicationCredential) appCredView {
	v := appCredView{ID: cred.ID, Name: cred.Name, Description: cred.Description, UserID: cred.UserID, ProjectID: cred.ProjectID,
		Roles: []roleView{}, Unrestricted: cred.Unrestricted, ExpiresAt: timeText(cred.ExpiresAt, plain),
		Links: link(c, "/users/"+cred.UserID+"/application_credentials/"+cred.ID)}
	for _, id := range cred.RoleIDs {
		role, _ := k.model.Roles.Get(r, id)
		v.Roles = append(v.Roles, newRoleView(c, role))
	}
	if cred.AccessRules != nil {
		rules := []model.AccessRule{}
		for _, id := range *cred.AccessRules {
			rule, _ := k.model.AccessRules.Get(r, id)
			rules = append(rules, rule)
		}
		views := ruleViews(rules)
		v.AccessRules = &views
	}
	return v
}

func (k *Keystone) appCredRoutes() []api.Route {
	const path = " /v3/users/{user}/application_credentials"
	return []api.Route{
		{Pattern: "GET" + path, Role: api.Token, Handle: k.listAppCreds},
		{Pattern: "POST" + path, Role: api.Token, Handle: k.createAppCred},
		{Pattern: "GET" + path + "/{id}", Role: api.Token, Handle: k.showAppCred},
		{Pattern: "DELETE" + path + "/{id}", Role: api.Token, Handle: k.deleteAppCred},
	}
}

func (k *Keystone) listAppCreds(c *api.Call) error {
	if err := requireSelf(c, c.Path("user")); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		list := api.List[appCredView]{Key: "application_credentials", ID: func(v appCredView) string { return v.ID }, Links: api.SelfLinks}
		return list.Reply(c, func(yield func(appCredView) bool) {
			for cred := range k.model.AppCredsOf.Each(r, c.Path("user")) {
				if !yield(k.newAppCredView(c, r, cred)) {
					return
				}
			}
		})
	})
}

func (k *Keystone) appCred(c *api.Call, r store.Reader) (model.ApplicationCredential, error) {
	cred, err := find(r, k.model.AppCreds, "application credential", c.Path("id"))
	if err == nil && cred.UserID != c.Path("user") {
		err = api.NotFound("Could not find application credential: %s.", c.Path("id"))
	}
	return cred, err
}

func (k *Keystone) showAppCred(c *api.Call) error {
	if err := requireSelf(c, c.Path("user")); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		cred, err := k.appCred(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"application_credential": k.newAppCredView(c, r, cred)})
	})
}

// requireUnrestricted refuses callers that act with a restricted application credential or a trust:
// they must not give themselves more rights.
func requireUnrestricted(c *api.Call) error {
	if c.Principal.Unrestricted {
		return nil
	}
	return api.Forbidden("Using method 'application_credential' is not allowed for managing additional application credentials.")
}

func (k *Keystone) deleteAppCred(c *api.Call) error {
	if err := requireSelf(c, c.Path("user")); err != nil {
		return err
	}
	if err := requireUnrestricted(c); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		cred, err := k.appCred(c, tx)
		if err != nil {
			return err
		}
		k.model.AppCreds.Delete(tx, cred.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

type appCredInput struct {
	Name         string       `json:"name"`
	Description  string       `json:"description"`
	Secret       string       `json:"secret"`
	ExpiresAt    string       `json:"expires_at"`
	Roles        []reference  `json:"roles"`
	Unrestricted bool         `json:"unrestricted"`
	AccessRules  *[]ruleInput `json:"access_rules"`
}

// createAppCred creates a credential for the caller on the project of the token; only this answer
// has its secret.
func (k *Keystone) createAppCred(c *api.Call) error {
	if c.Principal.UserID() != c.Path("user") || c.Principal.ProjectID == "" {
		return denied()
	}
	if err := requireUnrestricted(c); err != nil {
		return err
	}
	var in appCredInput
	if err := c.DecodeIn("application_credential", &in); err != nil {
		return err
	}
	if err := checkName(in.Name, 255); err != nil {
		return err
	}
	hash, err := k.appCredHash(&in)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		cred, err := k.newAppCred(c, tx, in)
		if err != nil {
			return err
		}
		cred.Hash = hash
		k.model.AppCreds.Put(tx, cred)
		view := k.newAppCredView(c, tx, cred)
		view.Secret = in.Secret
		return c.Reply(http.StatusCreated, map[string]any{"application_credential": view})
	})
}

// appCredHash returns the hash of the secret, which it generates when the request has none.
func (k *Keystone) appCredHash(in *appCredInput) (string, error) {
	if in.Secret != "" {
		return k.secrets.hash(in.Secret)
	}
	in.Secret = newSecret()
	return hashRandom(in.Secret), nil
}

func (k *Keystone) newAppCred(c *api.Call, tx *store.Tx, in appCredInput) (cred model.ApplicationCredential, err error) {
	for other := range k.model.AppCredsOf.Each(tx, c.Principal.UserID()) {
		if other.Name == in.Name {
			return cred, duplicate("application_credential", "Duplicate entry found with name %s", in.Name)
		}
	}
	cred = model.ApplicationCredential{ID: model.NewKeyID(), Name: in.Name, Description: in.Description,
		UserID: c.Principal.UserID(), ProjectID: c.Principal.ProjectID, Unrestricted: in.Unrestricted}
	if cred.ExpiresAt, err = k.future(in.ExpiresAt); err != nil {
		return cred, err
	}
	if cred.RoleIDs, err = k.pickRoles(c, tx, in.Roles); err != nil {
		return cred, err
	}
	if in.AccessRules != nil {
		ids, err := k.pickRules(c, tx, *in.AccessRules)
		if err != nil {
			return cred, err
		}
		cred.AccessRules = &ids
	}
	return cred, nil
}

// future reads an optional time that must not be in the past.
func (k *Keystone) future(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := parseTime(text)
	if err == nil && expired(&at, k.env.Timing.Now()) {
		err = api.BadRequest("The 'expires_at' must not be before now. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.")
	}
	return &at, err
}

// pickRoles returns the ids of the named roles, all of which the caller must have; if none is
// named, all roles of the caller.
func (k *Keystone) pickRoles(c *api.Call, r store.Reader, refs []reference) ([]string, error) {
	if len(refs) == 0 {
		return slices.Clone(c.Principal.RoleIDs), nil
	}
	var ids []string
	for _, ref := range refs {
		id := ref.ID
		if id == "" {
			role, ok := k.model.RolesByName.First(r, ref.Name)
			if !ok {
				return nil, api.NotFound("Could not find role: %s.", ref.Name)
			}
			id = role.ID
		}
		if !slices.Contains(c.Principal.RoleIDs, id) {
			return nil, api.BadRequest("Invalid application credential: Could not find role assignment with role: %s, user or group: %s, project, domain, or system: %s.",
				id, c.Principal.UserID(), c.Principal.ProjectID)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
