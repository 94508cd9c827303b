package identity

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/pattern"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type ruleView struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

type ruleInput ruleView

func ruleViews(rules []model.AccessRule) []ruleView {
	views := []ruleView{}
	for _, rule := range rules {
		views = append(views, ruleView{rule.ID, rule.Service, rule.Method, rule.Path})
	}
	return views
}

func (k *Keystone) accessRuleRoutes() []api.Route {
	const path = " /v3/users/{user}/access_rules"
	return []api.Route{
		{Pattern: "GET" + path, Role: api.Token, Handle: k.listRules},
		{Pattern: "GET" + path + "/{id}", Role: api.Token, Handle: k.showRule},
		{Pattern: "DELETE" + path + "/{id}", Role: api.Token, Handle: k.deleteRule},
	}
}

// pickRules returns the ids of the rules asked for; if the user has the same rule already, it is
// reused, as in Keystone.
func (k *Keystone) pickRules(c *api.Call, tx *store.Tx, asked []ruleInput) ([]string, error) {
	ids := []string{}
	for _, in := range asked {
		rule, err := k.pickRule(c, tx, in)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, rule.ID) {
			ids = append(ids, rule.ID)
		}
	}
	return ids, nil
}

func (k *Keystone) pickRule(c *api.Call, tx *store.Tx, in ruleInput) (model.AccessRule, error) {
	user := c.Principal.UserID()
	if in.ID != "" {
		rule, err := find(tx, k.model.AccessRules, "access rule", in.ID)
		if err == nil && rule.UserID != user {
			err = api.NotFound("Could not find access rule: %s.", in.ID)
		}
		return rule, err
	}
	methods := []string{"POST", "GET", "HEAD", "PATCH", "PUT", "DELETE"}
	if _, err := pattern.Compile(in.Path); err != nil || !strings.HasPrefix(in.Path, "/") || in.Service == "" || !slices.Contains(methods, in.Method) {
		return model.AccessRule{}, api.BadRequest("Invalid input for field 'access_rules': it needs service, method and a path that begins with a slash.")
	}
	for rule := range k.model.AccessRules.All(tx) {
		if rule.UserID == user && rule.Service == in.Service && rule.Method == in.Method && rule.Path == in.Path {
			return rule, nil
		}
	}
	rule := model.AccessRule{ID: model.NewKeyID(), UserID: user, Service: in.Service, Method: in.Method, Path: in.Path}
	k.model.AccessRules.Put(tx, rule)
	return rule, nil
}

func (k *Keystone) listRules(c *api.Call) error {
	if err := requireSelf(c, c.Path("user")); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		var own []model.AccessRule
		for rule := range k.model.AccessRules.All(r) {
			if rule.UserID == c.Path("user") {
				own = append(own, rule)
			}
		}
		list := api.List[ruleView]{Key: "access_rules", ID: func(v ruleView) string { return v.ID }, Links: api.SelfLinks}
		return list.Reply(c, slices.Values(ruleViews(own)))
	})
}

func (k *Keystone) rule(c *api.Call, r store.Reader) (model.AccessRule, error) {
	if err := requireSelf(c, c.Path("user")); err != nil {
		return model.AccessRule{}, err
	}
	rule, err := find(r, k.model.AccessRules, "access rule", c.Path("id"))
	if err == nil && rule.UserID != c.Path("user") {
		err = api.NotFound("Could not find access rule: %s.", c.Path("id"))
	}
	return rule, err
}

func (k *Keystone) showRule(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		rule, err := k.rule(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"access_rule": ruleViews([]model.AccessRule{rule})[0]})
	})
}

// deleteRule refuses a rule that a credential uses.
func (k *Keystone) deleteRule(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		rule, err := k.rule(c, tx)
		if err != nil {
			return err
		}
		for cred := range k.model.AppCredsOf.Each(tx, rule.UserID) {
			if cred.AccessRules != nil && slices.Contains(*cred.AccessRules, rule.ID) {
				return api.Forbidden("Access rule %s is in use by application credential %s.", rule.ID, cred.ID)
			}
		}
		k.model.AccessRules.Delete(tx, rule.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
