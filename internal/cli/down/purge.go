package down

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// mayPurge refuses another ID than that of the login's project, before anything is done.
func (o options) mayPurge(t *target.Target) error {
	if o.purge == "" {
		return nil
	}
	project, err := target.ProjectID(t.Cloud)
	if err != nil {
		return err
	}
	if o.purge != project {
		return fault.Usage("--purge-project", errors.New("this is not the ID of the project that the login is for"), "see it with openstack project show NAME; type it in full: everything in that project is deleted")
	}
	return nil
}

// whole lists everything in the project; nothing without --purge-project.
func (o options) whole(ctx context.Context, t *target.Target) ([]openstack.Resource, error) {
	if o.purge == "" {
		return nil, nil
	}
	token, err := t.Cloud.Token()
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	return t.Inventory.Everything(ctx, o.purge, token.CredentialID)
}

// purgeAll deletes everything in the project, and returns what is left.
func (o options) purgeAll(ctx context.Context, t *target.Target, progress event.Sink) (left []openstack.Resource, err error) {
	things, err := o.whole(ctx, t)
	if err != nil || len(things) == 0 {
		return nil, err
	}
	failed := t.Inventory.Sweep(ctx, things, progress)
	if ctx.Err() != nil {
		return things, failed
	}
	left, err = o.whole(ctx, t)
	return left, errors.Join(failed, err)
}

// counts are how many resources there are of each type: "3 volume, 1 server".
func counts(things []openstack.Resource) string {
	var words []string
	for i := 0; i < len(things); {
		n := i
		for n < len(things) && things[n].Type == things[i].Type {
			n++
		}
		words = append(words, fmt.Sprintf("%d %s", n-i, things[i].Type))
		i = n
	}
	return strings.Join(words, ", ")
}

// askPurge shows what else is in the project, and asks.
func (o options) askPurge(streams ui.Streams, others []openstack.Resource) error {
	if len(others) == 0 {
		return nil
	}
	fmt.Fprintf(streams.Err, "the whole project %s will be deleted, whoever made it: %s\n", o.purge, counts(others))
	if o.yes {
		return nil
	}
	return target.Confirm(streams, "delete all of this, including what is not Slipway's?")
}

// purgeVerdict is the error for what is left of the project.
func (r result) purgeVerdict(failed error) error {
	if failed == nil && len(r.Project) > 0 {
		failed = errors.New("left: " + counts(r.Project))
	}
	if failed == nil {
		return nil
	}
	return &fault.Fault{Exit: fault.ExitPartial, Object: "project", Err: failed, Remedy: "remove the cause and run the same command again"}
}
