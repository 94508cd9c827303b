package identity

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (k *Keystone) deleteUser(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		if _, err := find(tx, k.model.Users, "user", c.Path("id")); err != nil {
			return err
		}
		k.forgetUser(tx, c.Path("id"))
		return c.Reply(http.StatusNoContent, nil)
	})
}

// forgetUser deletes a user with everything that belongs to the user.
func (k *Keystone) forgetUser(tx *store.Tx, id string) {
	k.forgetActor(tx, id)
	for group := range k.model.GroupsOf.Each(tx, id) {
		k.model.Groups.Change(tx, group.ID, func(g *model.Group) { g.Members = without(g.Members, id) })
	}
	for cred := range k.model.AppCredsOf.Each(tx, id) {
		k.model.AppCreds.Delete(tx, cred.ID)
	}
	for rule := range k.model.AccessRules.All(tx) {
		if rule.UserID == id {
			k.model.AccessRules.Delete(tx, rule.ID)
		}
	}
	for cred := range k.model.CredentialsOf.Each(tx, id) {
		k.model.Credentials.Delete(tx, cred.ID)
	}
	for trust := range k.model.Trusts.All(tx) {
		if trust.TrustorUserID == id || trust.TrusteeUserID == id {
			k.model.Trusts.Delete(tx, trust.ID)
		}
	}
	for token := range k.model.TokensOf.Each(tx, id) {
		k.model.Tokens.Delete(tx, token.ID)
	}
	k.model.Users.Delete(tx, id)
}

// forgetActor removes every role from a user or group.
func (k *Keystone) forgetActor(tx *store.Tx, id string) {
	for a := range k.model.AssignmentsOf.Each(tx, id) {
		k.model.Assignments.Delete(tx, a.Key())
	}
}

// forgetRights deletes the application credentials that a user has on a
// project, as Keystone does when the user loses a role there.
func (k *Keystone) forgetRights(tx *store.Tx, userID, projectID string) {
	for cred := range k.model.AppCredsOf.Each(tx, userID) {
		if cred.ProjectID == projectID {
			k.model.AppCreds.Delete(tx, cred.ID)
		}
	}
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == item })
}
