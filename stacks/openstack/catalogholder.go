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
		list, err := entry.everywhere(ctx, in)
		held = entry.held(list, in)
		return err
	})
	if err != nil {
		return explain(entry.word()+" "+in.Type, fmt.Errorf("looking for who has its endpoints: %w", err))
	}
	if len(held) == 0 {
		return nil
	}
	return entry.taken(held, in)
}

// taken refuses a region with endpoints of environments of other projects.
func (k catalogKind) taken(held []endpoints.Endpoint, in CatalogEntryInputs) error {
	holder, _ := ownership.FromDescription(held[0].Description)
	var enabled, claims, commands []string
	for _, e := range held {
		if e.Enabled {
			enabled = append(enabled, e.ID)
		} else {
			claims = append(claims, e.ID)
		}
	}
	if len(enabled) > 0 {
		commands = append(commands, "openstack endpoint set --disable for each of "+strings.Join(enabled, ", "))
	}
	if len(claims) > 0 {
		commands = append(commands, "openstack endpoint delete "+strings.Join(claims, " "))
	}
	return &fault.Fault{Exit: fault.ExitPreflight, Object: k.word() + " " + in.Type,
		Err:    fmt.Errorf("environment %s of project %s has it in region %s (%s), and clients use one", holder.Environment, ownership.ProjectIn(held[0].Description), in.Region, held[0].URL),
		Remedy: "take that environment down, or leave out spec.magnum; if it is gone or is to give way, run " + strings.Join(commands, ", and ")}
}

// held are endpoints of environments of other projects that are enabled or claims; none if ours are
// there, or some that can be: those of a former release name no project. Claims of ours are none yet.
func (k catalogKind) held(list []endpoints.Endpoint, in CatalogEntryInputs) (held []endpoints.Endpoint) {
	home := k.home(in)
	for _, e := range list {
		mark, ok := ownership.FromDescription(e.Description)
		named := ownership.ProjectIn(e.Description)
		ours := mark == in.mark() && (named == "" || named == home)
		switch {
		case !ok || mark.Step != in.Step || ours && claimed(e):
		case ours:
			return nil
		case (e.Enabled || claimed(e)) && home != "" && named != "" && named != home:
			held = append(held, e)
		}
	}
	return held
}
