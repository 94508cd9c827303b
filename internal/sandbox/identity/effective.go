package identity

import (
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// scope is the scope of a token; the zero value is unscoped.
type scope struct {
	projectID, domainID string
	system              bool
}

func (s scope) empty() bool { return s == scope{} }

// effective returns the ids of the roles that a user has in a scope: given to
// the user or a group, on the scope or inherited from above, implied ones too.
func (k *Keystone) effective(r store.Reader, userID string, s scope) []string {
	found := map[string]bool{}
	for _, actor := range k.actors(r, userID) {
		for a := range k.model.AssignmentsOf.Each(r, actor) {
			if k.applies(r, a, s) {
				found[a.RoleID] = true
			}
		}
	}
	return k.imply(r, found)
}

// actors returns the ids of the user and of the user's groups.
func (k *Keystone) actors(r store.Reader, userID string) []string {
	actors := []string{userID}
	for group := range k.model.GroupsOf.Each(r, userID) {
		actors = append(actors, group.ID)
	}
	return actors
}

func (k *Keystone) applies(r store.Reader, a model.Assignment, s scope) bool {
	if s.system {
		return a.System
	}
	if !a.Inherited {
		return a.ProjectID == s.projectID && a.DomainID == s.domainID && !a.System
	}
	return s.projectID != "" && slices.Contains(k.ancestors(r, s.projectID), a.Target())
}

// ancestors returns the ids of the projects above a project, and of its domain.
func (k *Keystone) ancestors(r store.Reader, projectID string) []string {
	var above []string
	project, ok := k.model.Projects.Get(r, projectID)
	for ok && project.ParentID != "" {
		above = append(above, project.ParentID)
		project, ok = k.model.Projects.Get(r, project.ParentID)
	}
	return above
}

// imply adds the roles that others imply; the result is in the order in which the roles were
// created.
func (k *Keystone) imply(r store.Reader, found map[string]bool) []string {
	var add func(id string)
	add = func(id string) {
		role, _ := k.model.Roles.Get(r, id)
		for _, implied := range role.Implies {
			if !found[implied] {
				found[implied] = true
				add(implied)
			}
		}
	}
	for _, id := range keys(found) {
		add(id)
	}
	var ids []string
	for role := range k.model.Roles.All(r) {
		if found[role.ID] {
			ids = append(ids, role.ID)
		}
	}
	return ids
}

func keys(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for key := range set {
		list = append(list, key)
	}
	return list
}

// subset is imply for the roles of an application credential or a trust; the user must still have
// all of them.
func (k *Keystone) subset(r store.Reader, ids, has []string) ([]string, bool) {
	found := map[string]bool{}
	for _, id := range ids {
		if !slices.Contains(has, id) {
			return nil, false
		}
		found[id] = true
	}
	return k.imply(r, found), true
}

func (k *Keystone) roleNames(r store.Reader, ids []string) []string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		role, _ := k.model.Roles.Get(r, id)
		names = append(names, role.Name)
	}
	return names
}
