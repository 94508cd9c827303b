package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// claimWord is in the descriptions of our endpoints until we know that the region is ours. Such
// endpoints are disabled, so that no client sees those of two environments.
const claimWord = "slipway:claim"

// yielding is how long we wait for another environment that is to withdraw its claim.
const yielding = 30 * time.Second

func claimed(e endpoints.Endpoint) bool {
	return slices.Contains(strings.Fields(e.Description), claimWord)
}

// contend claims the region with disabled endpoints, looks again, and withdraws if an environment of
// another project has it or gets it: two that begin at the same moment both find it free before.
// What a killed run claimed is contended for again.
func (k catalogKind) contend(ctx context.Context, id string, in CatalogEntryInputs) error {
	list, err := k.everywhere(ctx, in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(e endpoints.Endpoint) bool { return k.isOurs(e, in) && !claimed(e) }) {
		return nil
	}
	rivals := k.held(list, in)
	if len(rivals) == 0 {
		if err := k.claim(ctx, id, in, list); err != nil {
			return err
		}
		if rivals, err = k.rivals(ctx, in); err != nil {
			return err
		}
	}
	if len(rivals) == 0 {
		return nil
	}
	if err := k.withdraw(ctx, id, in); err != nil {
		return fmt.Errorf("withdrawing its endpoints: %w", err)
	}
	return k.taken(rivals, in)
}

// claim creates what is missing of our endpoints, the public one first: the others' are compared
// with that.
func (k catalogKind) claim(ctx context.Context, id string, in CatalogEntryInputs, there []endpoints.Endpoint) error {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return err
	}
	no := false
	for _, face := range faces() {
		if slices.ContainsFunc(there, func(e endpoints.Endpoint) bool { return e.Availability == face && k.isOurs(e, in) }) {
			continue
		}
		o := endpoints.CreateOpts{Availability: face, Region: in.Region, URL: in.URL, ServiceID: id, Enabled: &no,
			Description: in.mark().DescriptionOf("", k.home(in)) + " " + claimWord}
		if err := endpoints.Create(ctx, client, o).Err; err != nil {
			return fmt.Errorf("claiming the region with the %s endpoint: %w", face, err)
		}
	}
	return nil
}

// rivals are the endpoints of other projects to which we give way. Whoever claims later sees the
// claim of the other. If both see both, the smaller ID of a public endpoint has the region, once the
// other has withdrawn. One that does not withdraw looked before our claim was there, and has it.
func (k catalogKind) rivals(ctx context.Context, in CatalogEntryInputs) ([]endpoints.Endpoint, error) {
	for end := time.Now().Add(yielding); ; {
		list, err := k.everywhere(ctx, in)
		if err != nil {
			return nil, err
		}
		held := k.held(list, in)
		decided := slices.ContainsFunc(held, func(e endpoints.Endpoint) bool { return !claimed(e) })
		if len(held) == 0 || decided || time.Now().After(end) {
			return held, nil
		}
		ours := slices.DeleteFunc(list, func(e endpoints.Endpoint) bool { return !k.isOurs(e, in) })
		if theirs := smallest(held); theirs != "" && theirs < smallest(ours) {
			return held, nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// smallest is the smallest ID of the public endpoints; "" if there are none.
func smallest(list []endpoints.Endpoint) (id string) {
	for _, e := range list {
		if e.Availability == gophercloud.AvailabilityPublic && (id == "" || e.ID < id) {
			id = e.ID
		}
	}
	return id
}

// withdraw deletes our claims, and the service if that was for them alone.
func (k catalogKind) withdraw(ctx context.Context, id string, in CatalogEntryInputs) error {
	state, err := k.read(ctx, id, in)
	if err == nil {
		err = k.remove(ctx, id, state)
	}
	return skipGone(err)
}

func (k catalogKind) services(ctx context.Context, in CatalogEntryInputs) ([]services.Service, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return nil, err
	}
	pages, err := services.List(client, services.ListOpts{ServiceType: in.Type}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return services.ExtractServices(pages)
}

// everywhere are the endpoints of the region in all services of the type: two environments that
// begin at the same moment each make one.
func (k catalogKind) everywhere(ctx context.Context, in CatalogEntryInputs) ([]endpoints.Endpoint, error) {
	list, err := k.services(ctx, in)
	if err != nil {
		return nil, err
	}
	return k.within(ctx, in, list)
}

func (k catalogKind) within(ctx context.Context, in CatalogEntryInputs, list []services.Service) (all []endpoints.Endpoint, err error) {
	for _, service := range list {
		_, some, err := k.endpoints(ctx, service.ID, in.Region)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// choose is the service of several that has our endpoints, else the one that we made, else the first.
func (k catalogKind) choose(ctx context.Context, in CatalogEntryInputs, list []services.Service) (string, error) {
	there, err := k.within(ctx, in, list)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(there, func(e endpoints.Endpoint) bool { return k.isOurs(e, in) }); i >= 0 {
		return there[i].ServiceID, nil
	}
	i := slices.IndexFunc(list, func(s services.Service) bool {
		mark, ok := ownership.FromDescription(s.Description)
		return ok && mark == in.mark() && ownership.ProjectIn(s.Description) == k.home(in)
	})
	return list[max(i, 0)].ID, nil
}
