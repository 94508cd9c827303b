package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// Registered is what an environment has in Keystone, which no inventory of a project shows.
type Registered struct {
	Catalog CatalogEntryInputs
	Users   []ServiceUserInputs
	Project ServiceProjectInputs
}

// RemoveRegistered deletes it by its ownership tags, for an environment whose state is lost. What
// belongs to others stays, and all if the catalog leads elsewhere: to another environment of the
// name. It goes on after errors and joins them.
func RemoveRegistered(ctx context.Context, administrator Administrator, clients Clients, r Registered) (elsewhere bool, err error) {
	elsewhere, err = catalogKind{administrator: administrator, clients: clients}.leadsElsewhere(ctx, r.Catalog)
	if err != nil || elsewhere {
		return elsewhere, err
	}
	errs := []error{unregister[CatalogEntryInputs, CatalogEntryState](ctx, catalogKind{administrator: administrator, clients: clients}, r.Catalog)}
	for _, user := range r.Users {
		errs = append(errs, unregister[ServiceUserInputs, ServiceUserState](ctx, serviceUserKind{administrator, clients}, user))
	}
	errs = append(errs, unregister[ServiceProjectInputs, ServiceProjectState](ctx, serviceProjectKind{administrator, clients}, r.Project))
	return false, errors.Join(errs...)
}

// leadsElsewhere reports whether our endpoints have another URL.
func (k catalogKind) leadsElsewhere(ctx context.Context, in CatalogEntryInputs) (elsewhere bool, err error) {
	err = again(ctx, func() error {
		id, err := k.find(ctx, in)
		if err != nil || id == "" {
			return err
		}
		_, list, err := k.endpoints(ctx, id, in.Region)
		elsewhere = slices.ContainsFunc(list, func(e endpoints.Endpoint) bool {
			mark, ok := ownership.FromDescription(e.Description)
			return ok && mark == in.mark() && e.URL != in.URL
		})
		return err
	})
	if err != nil {
		return false, explain(k.word()+" "+in.mark().Name(), fmt.Errorf("looking for its endpoints: %w", err))
	}
	return elsewhere, nil
}

// unregister deletes what a kind finds for its inputs; that there is none is no error.
func unregister[I inputs, S any](ctx context.Context, k kind[I, S], in I) error {
	err := again(ctx, func() error {
		id, err := k.find(ctx, in)
		var f *fault.Fault
		if errors.As(err, &f) && f.Exit == fault.ExitPreflight { // another's has the name
			return nil
		}
		if err != nil || id == "" {
			return err
		}
		state, err := k.read(ctx, id, in)
		if err != nil {
			return skipGone(err)
		}
		return skipGone(k.remove(ctx, id, state))
	})
	if err != nil {
		return explain(k.word()+" "+in.mark().Name(), fmt.Errorf("deleting: %w", err))
	}
	return nil
}
