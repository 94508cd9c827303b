package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// Registered is what an environment has in Keystone, which no inventory of a project shows.
type Registered struct {
	// Catalog has no URL if that is not known.
	Catalog CatalogEntryInputs
	// Address is that of the environment's project in the URL, by itself or by a host name; it is
	// not valid if nobody knows it.
	Address netip.Addr
	Users   []ServiceUserInputs
	Project ServiceProjectInputs
}

// RemoveRegistered deletes it by its ownership tags, for what no state has: the state is lost, or a
// run was killed before it noted what it had made. What belongs to others stays. What names no
// project, as of a former release, goes if the catalog has no endpoint of the name but those with
// our URL, or that lead to our address; if it has, an environment of the name in another project can
// have it, and it is returned as unclear. It continues after errors and joins them.
func RemoveRegistered(ctx context.Context, administrator Administrator, clients Clients, r Registered) (unclear []string, err error) {
	entry := catalogKind{administrator: administrator, clients: clients}
	found, err := entry.astray(ctx, r.Catalog, r.Address)
	if err != nil {
		return nil, err
	}
	entry.former, unclear = found.ours, found.unclear
	users := strayUserKind{serviceUserKind{administrator, clients}, r.Catalog.Region, len(unclear) == 0 && !found.shared && r.Catalog.URL != ""}
	var errs []error
	if len(unclear) == 0 || entry.home(r.Catalog) != "" { // who does not know the project goes by the name alone
		errs = append(errs, unregister[CatalogEntryInputs, CatalogEntryState](ctx, entry, r.Catalog))
	}
	for _, user := range r.Users {
		left, err := users.clear(ctx, user)
		unclear, errs = append(unclear, left...), append(errs, err)
	}
	errs = append(errs, unregister[ServiceProjectInputs, ServiceProjectState](ctx, serviceProjectKind{administrator, clients}, r.Project))
	return unclear, errors.Join(errs...)
}

// strayUserKind finds users that no state has, in one region, whose login may name none.
type strayUserKind struct {
	serviceUserKind
	region string
	// unnamed says that those that name no project are ours, too.
	unnamed bool
}

func (k strayUserKind) find(ctx context.Context, in ServiceUserInputs) (string, error) {
	return k.findWhere(ctx, in, k.ours)
}

func (k strayUserKind) ours(description string) bool {
	region, project := ownership.RegionIn(description), ownership.ProjectIn(description)
	if !k.here(description) || region != "" && region != k.region {
		return false
	}
	return k.unnamed || project != "" && project == k.project()
}

// clear deletes the user, or returns the name of one that stays because it names no project.
func (k strayUserKind) clear(ctx context.Context, in ServiceUserInputs) (left []string, err error) {
	err = unregister[ServiceUserInputs, ServiceUserState](ctx, k, in)
	if err != nil || k.unnamed {
		return nil, err
	}
	k.unnamed = true
	err = again(ctx, func() error {
		id, err := search[ServiceUserInputs, ServiceUserState](ctx, k, in)
		left = nil
		if id != "" {
			left = []string{"user " + in.mark().Name() + " (" + id + ")"}
		}
		return err
	})
	if err != nil {
		return nil, explain(k.word()+" "+in.mark().Name(), fmt.Errorf("looking for it: %w", err))
	}
	return left, nil
}

// search finds what is ours: what another has the name of is none.
func search[I inputs, S any](ctx context.Context, k kind[I, S], in I) (string, error) {
	id, err := k.find(ctx, in)
	var f *fault.Fault
	if errors.As(err, &f) && f.Exit == fault.ExitPreflight {
		return "", nil
	}
	return id, err
}

// unregister deletes what a kind finds for its inputs; that there is none is no error.
func unregister[I inputs, S any](ctx context.Context, k kind[I, S], in I) error {
	err := again(ctx, func() error {
		id, err := search(ctx, k, in)
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
