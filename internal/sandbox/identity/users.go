package identity

import (
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// userView is a user as clients see it.
type userView struct {
	ID               string         `json:"id"`
	Name             string         `json:"name"`
	DomainID         string         `json:"domain_id"`
	Enabled          bool           `json:"enabled"`
	Description      string         `json:"description,omitempty"`
	Email            string         `json:"email,omitempty"`
	DefaultProjectID string         `json:"default_project_id,omitempty"`
	PasswordExpires  *string        `json:"password_expires_at"`
	Options          map[string]any `json:"options"`
	Links            self           `json:"links"`
	extra            map[string]any
}

func newUserView(c *api.Call, u model.User) userView {
	return userView{u.ID, u.Name, u.DomainID, u.Enabled, u.Description, u.Email, u.DefaultProjectID,
		timeText(u.PasswordExpires, plain), object(u.Options), link(c, "/users/"+u.ID), u.Extra}
}

func (v userView) render() any { return flatten(v, v.extra) }

func (k *Keystone) userRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/users", Role: api.Admin, Handle: k.listUsers},
		{Pattern: "POST /v3/users", Role: api.Admin, Handle: k.createUser},
		{Pattern: "GET /v3/users/{id}", Role: api.Token, Handle: k.showUser},
		{Pattern: "PATCH /v3/users/{id}", Role: api.Admin, Handle: k.updateUser},
		{Pattern: "DELETE /v3/users/{id}", Role: api.Admin, Handle: k.deleteUser},
		{Pattern: "POST /v3/users/{id}/password", Role: api.Public, Handle: k.changePassword},
		{Pattern: "GET /v3/users/{id}/projects", Role: api.Token, Handle: k.userProjects},
		{Pattern: "GET /v3/users/{id}/groups", Role: api.Token, Handle: k.userGroups},
	}
}

// userViews yields the users that pass a test.
func (k *Keystone) userViews(c *api.Call, r store.Reader, test func(model.User) bool) func(func(userView) bool) {
	return func(yield func(userView) bool) {
		users := k.model.Users.All(r)
		if name := c.Query("name"); name != "" {
			users = k.model.UsersByName.Each(r, name)
		}
		for u := range users {
			if test(u) && !yield(newUserView(c, u)) {
				return
			}
		}
	}
}

func userList() api.List[userView] {
	return api.List[userView]{Key: "users", ID: func(v userView) string { return v.ID }, Render: userView.render, Links: api.SelfLinks, Inexact: true,
		Filters: map[string]api.Filter[userView]{
			"name__contains": func(v userView, values []string) bool { return strings.Contains(v.Name, values[0]) },
		}}
}

func (k *Keystone) listUsers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		return userList().Reply(c, k.userViews(c, r, func(model.User) bool { return true }))
	})
}

func (k *Keystone) showUser(c *api.Call) error {
	if err := requireSelf(c, c.Path("id")); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		u, err := find(r, k.model.Users, "user", c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"user": newUserView(c, u).render()})
	})
}

type userInput struct {
	Name             api.Optional[string]         `json:"name"`
	Description      api.Optional[string]         `json:"description"`
	Email            api.Optional[string]         `json:"email"`
	DomainID         api.Optional[string]         `json:"domain_id"`
	DefaultProjectID api.Optional[string]         `json:"default_project_id"`
	Enabled          api.Optional[bool]           `json:"enabled"`
	Password         api.Optional[string]         `json:"password"`
	Options          api.Optional[map[string]any] `json:"options"`
}

func (in userInput) apply(u *model.User) {
	in.Name.Apply(&u.Name)
	in.Description.Apply(&u.Description)
	in.Email.Apply(&u.Email)
	in.DefaultProjectID.Apply(&u.DefaultProjectID)
	in.Enabled.Apply(&u.Enabled)
	in.Options.Apply(&u.Options)
}

// hashed returns the hash of the new password, empty if there is none. Hashing takes long, so it
// happens before the transaction.
func (k *Keystone) hashed(password api.Optional[string]) (string, error) {
	if !password.Set || password.Null {
		return "", nil
	}
	return k.secrets.hash(password.Value)
}

func (k *Keystone) createUser(c *api.Call) error {
	in, extra, err := decodeExtra[userInput](c, "user")
	if err != nil {
		return err
	}
	u := model.User{ID: model.NewKeyID(), Enabled: true, Extra: extra}
	in.apply(&u)
	if u.Hash, err = k.hashed(in.Password); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		u.DomainID = in.DomainID.Or(k.callersDomain(tx, c))
		if _, err := k.domain(tx, u.DomainID); err != nil {
			return err
		}
		if err := k.checkUser(tx, u); err != nil {
			return err
		}
		k.model.Users.Put(tx, u)
		return c.Reply(http.StatusCreated, map[string]any{"user": newUserView(c, u).render()})
	})
}

func (k *Keystone) checkUser(r store.Reader, u model.User) error {
	if err := checkName(u.Name, 255); err != nil {
		return err
	}
	for other := range k.model.UsersByName.Each(r, u.Name) {
		if other.ID != u.ID && other.DomainID == u.DomainID {
			return duplicate("user", "Duplicate entry found with name %s at domain ID %s", u.Name, u.DomainID)
		}
	}
	return nil
}

func (k *Keystone) updateUser(c *api.Call) error {
	in, extra, err := decodeExtra[userInput](c, "user")
	if err != nil {
		return err
	}
	hash, err := k.hashed(in.Password)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		u, err := find(tx, k.model.Users, "user", c.Path("id"))
		if err != nil {
			return err
		}
		in.apply(&u)
		u.Extra = merge(u.Extra, extra)
		if hash != "" {
			u.Hash, u.ValidAfter = hash, k.env.Timing.Now()
		}
		if err := k.checkUser(tx, u); err != nil {
			return err
		}
		k.model.Users.Put(tx, u)
		return c.Reply(http.StatusOK, map[string]any{"user": newUserView(c, u).render()})
	})
}

// changePassword needs the old password and no token; it ends every session
// of the user.
func (k *Keystone) changePassword(c *api.Call) error {
	var in struct {
		Password string `json:"password"`
		Original string `json:"original_password"`
	}
	if err := c.DecodeIn("user", &in); err != nil {
		return err
	}
	if in.Password == "" || in.Original == "" {
		return api.BadRequest("Invalid input: 'password' and 'original_password' are required properties")
	}
	u, ok := k.lookUpUser(reference{ID: c.Path("id")})
	if !k.secrets.verify(u.Hash, in.Original) || !ok {
		return api.Unauthorized()
	}
	hash, err := k.secrets.hash(in.Password)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		k.model.Users.Change(tx, u.ID, func(u *model.User) {
			u.Hash, u.ValidAfter, u.PasswordExpires = hash, k.env.Timing.Now(), nil
		})
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (k *Keystone) userProjects(c *api.Call) error {
	if err := requireSelf(c, c.Path("id")); err != nil {
		return err
	}
	return k.reachable(c, c.Path("id"), "projects")
}
