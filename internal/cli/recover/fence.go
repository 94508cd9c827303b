package recover

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// begin notes on a management cluster that it is being rebuilt, so that nobody makes a backup of
// what is there so far. One that is that of the backup is not: the rebuild will be refused.
func (r *rebuild) begin(ctx context.Context, on *kube.Cluster) error {
	if same, _, err := original(ctx, on, r.snapshot.Objects); err != nil || same {
		return err
	}
	return restore.Begin(ctx, on, r.result.Backup, time.Now())
}

// original reports whether a cluster is that of a backup, by the namespace that Kubernetes makes
// first; known is false if the backup does not have it.
func original(ctx context.Context, on *kube.Cluster, objects []*unstructured.Unstructured) (same, known bool, err error) {
	for _, o := range objects {
		if o.GetKind() == "Namespace" && o.GetName() == metav1.NamespaceSystem {
			live, err := on.Typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
			if err != nil {
				return false, true, fmt.Errorf("asking whether the management cluster is that of the backup: %w", err)
			}
			return live.UID == o.GetUID(), true, nil
		}
	}
	return false, false, nil
}

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
