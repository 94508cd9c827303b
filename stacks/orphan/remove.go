package orphan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Chosen returns what may be deleted: what is proved to be of a cluster that is gone, and of
// what only bears the name of one, that of the clusters in byName.
func Chosen(found []Orphan, byName []string) []Orphan {
	var list []Orphan
	for _, o := range found {
		if o.Kept == "" && (!o.ByName || slices.ContainsFunc(byName, o.Named)) {
			list = append(list, o)
		}
	}
	return list
}

// Remove deletes what was chosen, as far as a new look says the same of it, and then the
// credentials of clusters that nothing is left of. It returns what was deleted, and what is
// left.
func (s Survey) Remove(ctx context.Context, chosen []Orphan, byName []string, events event.Sink) (deleted, left []Orphan, err error) {
	for range 2 { // the second time the credentials
		now, err := s.Find(ctx)
		if err != nil {
			return deleted, chosen, err
		}
		var next []Orphan
		var resources, containers []openstack.Resource
		for _, o := range Chosen(now, byName) {
			known := slices.ContainsFunc(chosen, func(c Orphan) bool { return c.Type == o.Type && c.ID == o.ID })
			if known || o.Type == openstack.TypeCredential && slices.ContainsFunc(chosen, func(c Orphan) bool { return c.Cluster == o.Cluster || c.Step == o.Step }) {
				next = append(next, o)
				if o.Type == openstack.TypeContainer {
					containers = append(containers, o.Resource)
					continue
				}
				resources = append(resources, o.Resource)
			}
		}
		if err := errors.Join(s.removeContainers(ctx, containers, events), s.Inventory.Sweep(ctx, resources, events)); err != nil {
			left, _ = s.Find(context.WithoutCancel(ctx))
			return append(deleted, gone(next, left)...), left, err
		}
		deleted = append(deleted, next...)
	}
	left, err = s.Find(ctx)
	return deleted, left, err
}

// removeContainers deletes containers of object stores, one after the other: each has its objects
// deleted in parallel.
func (s Survey) removeContainers(ctx context.Context, list []openstack.Resource, events event.Sink) error {
	var failed []error
	for _, r := range list {
		store := openstack.ObjectStore{Clients: s.Inventory.Clients, Ownership: openstack.Ownership{Environment: s.Environment, Step: r.Step}, Container: r.ID}
		step := event.Start(events, r.Name, "deleting container")
		_, err := store.Remove(ctx, s.Content, step.Run)
		step.End("deleted", err)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// gone are those that are not left.
func gone(asked, left []Orphan) []Orphan {
	return slices.DeleteFunc(slices.Clone(asked), func(o Orphan) bool {
		return slices.ContainsFunc(left, func(l Orphan) bool { return l.Type == o.Type && l.ID == o.ID })
	})
}

// Named reports whether the orphan is of a cluster that somebody names as NAME or
// NAMESPACE/NAME.
func (o Orphan) Named(name string) bool {
	_, short, _ := strings.Cut(o.Cluster, "/")
	return name != "" && (name == o.Cluster || name == short)
}
