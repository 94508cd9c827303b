package down

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
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

// purgeRest deletes everything that is left in the project, if nothing of the environment
// is left. The result then has what could not be deleted.
func (o options) purgeRest(ctx context.Context, t *target.Target, r *result, progress event.Sink) error {
	things, err := o.whole(ctx, t)
	r.Project = things
	if err != nil || len(things) == 0 || len(r.Left) > 0 {
		return err
	}
	failed := t.Inventory.Sweep(ctx, things, progress)
	if ctx.Err() != nil {
		return failed
	}
	if r.Project, err = o.whole(ctx, t); err == nil {
		r.After, err = t.Inventory.Usage(ctx)
	}
	return errors.Join(failed, err)
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
