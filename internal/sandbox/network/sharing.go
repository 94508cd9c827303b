package network

import (
	"iter"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// The actions of RBAC policies.
const (
	accessShared   = "access_as_shared"
	accessExternal = "access_as_external"
	everyone       = "*"
)

// allows reports whether a policy gives the object to the project in one of
// the ways.
func (n *Core) allows(r store.Reader, objectID, projectID string, actions ...string) bool {
	for policy := range n.model.PoliciesOfObject.Each(r, objectID) {
		if policy.Target != everyone && policy.Target != projectID {
			continue
		}
		for _, action := range actions {
			if policy.Action == action {
				return true
			}
		}
	}
	return false
}

// sharedObjects yields the objects of a type that policies give to a project.
func sharedObjects[T any](n *Core, r store.Reader, table *store.Table[T], kind, projectID string) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, target := range []string{everyone, projectID} {
			for policy := range n.model.PoliciesOfTarget.Each(r, target) {
				if policy.ObjectType != kind {
					continue
				}
				if object, ok := table.Get(r, policy.ObjectID); ok && !yield(object) {
					return
				}
			}
		}
	}
}

// share makes or removes the policy that gives an object to all.
func (n *Core) share(tx *store.Tx, kind, objectID, projectID, action string, wanted bool) {
	for policy := range n.model.PoliciesOfObject.Each(tx, objectID) {
		if policy.Action != action || policy.Target != everyone {
			continue
		}
		if !wanted {
			n.model.Policies.Delete(tx, policy.ID)
		}
		return
	}
	if wanted {
		n.model.Policies.Put(tx, model.RBACPolicy{NetworkMeta: n.newMeta(projectID, owned{}),
			ObjectType: kind, ObjectID: objectID, Action: action, Target: everyone})
	}
}

// isShared reports what the attribute "shared" says to a project.
func (n *Core) isShared(r store.Reader, objectID, projectID string) bool {
	return n.allows(r, objectID, projectID, accessShared)
}
