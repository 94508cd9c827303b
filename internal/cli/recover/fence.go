package recover

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// fence takes the next generation in the cloud, and notes it on the new management
// cluster. A run that goes on keeps its generation.
func (r *rebuild) fence(ctx context.Context, on *kube.Cluster) (string, error) {
	network, err := r.t.Cloud.Network()
	if err != nil {
		return "", err
	}
	f := fence.Fence{Network: network, Environment: r.t.Name()}
	ours, err := restore.Generation(ctx, on)
	if err != nil {
		return "", err
	}
	if ours == 0 {
		now, err := f.Generation(ctx)
		if err != nil {
			return "", err
		}
		ours = max(now, r.snapshot.Generation) + 1
		// Noted before it is taken: a run that is killed in between takes the same.
		if err := restore.RecordGeneration(ctx, on, ours); err != nil {
			return "", err
		}
	}
	r.result.Generation = ours
	return fmt.Sprintf("generation %d", ours), f.Take(ctx, ours)
}

// revoke deletes the application credentials of former management clusters. Those
// of tenants' clusters stay: their own controllers use them too.
func (r *rebuild) revoke(ctx context.Context, step *event.Step) error {
	step.Run("revoking the credentials of the former management cluster")
	resources, err := r.t.Engine.Resources(ctx)
	if err != nil {
		return err
	}
	ours := map[string]string{}
	for _, one := range resources {
		if revocable(one.Name) {
			ours[one.Name] = one.ID
		}
	}
	if ours[stacks.StepCredential] == "" {
		return fmt.Errorf("revoking former credentials: the state does not know our own")
	}
	things, err := r.t.Inventory.List(ctx, r.t.Name())
	if err != nil {
		return err
	}
	unclear, err := r.t.Inventory.UnclearCredentials(ctx, r.t.Name())
	if err != nil {
		return err
	}
	for _, thing := range former(unclear, ours) {
		r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: fmt.Sprintf("application credential %s names no region, and the cloud has several: "+
			"if it is of the former management cluster, revoke it with openstack application credential delete %s", thing.Name, thing.ID)})
	}
	identity, err := r.t.Cloud.Identity()
	if err != nil {
		return err
	}
	for _, thing := range former(things, ours) {
		err := applicationcredentials.Delete(ctx, identity, r.t.Inventory.UserID, thing.ID).ExtractErr()
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return r.t.Cloud.Fault("revoking application credential "+thing.Name, err)
		}
	}
	return nil
}

// revocable reports whether a step makes a credential of the management cluster itself.
func revocable(step string) bool {
	return step == stacks.StepCredential || step == stacks.StepBackupCredential || step == stacks.StepSeedBackupCredential
}

// former are the credentials of the environment itself but ours, which are given by
// their step.
func former(things []openstack.Resource, ours map[string]string) (list []openstack.Resource) {
	for _, thing := range things {
		if thing.Type == openstack.TypeCredential && revocable(thing.Step) && thing.ID != ours[thing.Step] {
			list = append(list, thing)
		}
	}
	return list
}
