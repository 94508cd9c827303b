package openstack

import (
	"context"
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// CatalogFree refuses an entry in a region whose catalog leads to an environment of another
// project: ours would end that one for everybody. Once ours is there, it says nothing.
func CatalogFree(ctx context.Context, administrator Administrator, clients Clients, in CatalogEntryInputs) error {
	entry := catalogKind{administrator: administrator, clients: clients}
	var held []endpoints.Endpoint
	err := again(ctx, func() error {
		id, err := entry.find(ctx, in)
		if err != nil || id == "" {
			return err
		}
		_, list, err := entry.endpoints(ctx, id, in.Region)
		held = entry.held(list, in)
		return err
	})
	if err != nil {
		return explain(entry.word()+" "+in.Type, fmt.Errorf("looking for who has its endpoints: %w", err))
	}
	if len(held) == 0 {
		return nil
	}
	holder, _ := ownership.FromDescription(held[0].Description)
	var ids []string
	for _, e := range held {
		ids = append(ids, e.ID)
	}
	return &fault.Fault{Exit: fault.ExitPreflight, Object: entry.word() + " " + in.Type,
		Err:    fmt.Errorf("environment %s of project %s has it in region %s (%s), and clients use one", holder.Environment, ownership.ProjectIn(held[0].Description), in.Region, held[0].URL),
		Remedy: "take that environment down, or leave out spec.magnum; if it is gone or is to give way, run openstack endpoint set --disable for each of " + strings.Join(ids, ", ")}
}

// held are enabled endpoints of environments of other projects; none if ours are there, or some
// that can be: those of a former release name no project.
func (k catalogKind) held(list []endpoints.Endpoint, in CatalogEntryInputs) (held []endpoints.Endpoint) {
	home := k.home(in)
	for _, e := range list {
		mark, ok := ownership.FromDescription(e.Description)
		named := ownership.ProjectIn(e.Description)
		switch {
		case !ok || mark.Step != in.Step:
		case mark == in.mark() && (named == "" || named == home):
			return nil
		case e.Enabled && home != "" && named != "" && named != home:
			held = append(held, e)
		}
	}
	return held
}
