package recover

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// forget puts a state aside that was not lost and whose management cluster is gone: what is
// left in the cloud is found by its ownership tags, as after a loss of the state.
func (r *rebuild) forget(ctx context.Context) error {
	resources, err := r.t.Engine.Resources(ctx)
	if err != nil {
		return err
	}
	things, err := r.t.Inventory.List(ctx, r.t.Name())
	if err != nil {
		return err
	}
	if seen := seenIn(r.t.Name(), resources, things); !seen.Known || len(seen.ControlPlanes) > 0 { // or a former run has made it
		return nil
	}
	text, err := r.t.Engine.Export(ctx)
	if err != nil {
		return err
	}
	path := filepath.Join(r.t.SecretsDir(), "state-before-rebuild-"+time.Now().UTC().Format("20060102t150405z")+".json")
	if err := target.WriteSecret(path, string(text)); err != nil {
		return fmt.Errorf("keeping the former state: %w", err)
	}
	return r.t.Engine.Discard(ctx)
}

// begunLocally is begun for a local seed, whose settings are given: if it is on this machine.
func (r *rebuild) begunLocally(ctx context.Context, settings string) (bool, error) {
	kubeconfig, err := r.t.Seeds.Find(ctx, settings, func(string) {})
	if err != nil || kubeconfig == "" {
		return false, err
	}
	on, err := kubernetes.Reach(kubernetes.Direct{}, kubeconfig)
	if err != nil {
		return false, err
	}
	reports, err := clusterapi.Read(ctx, on.Dynamic, stacks.ManagementNamespace)
	if err != nil {
		return false, fmt.Errorf("reading clusters on the local seed: %w", err)
	}
	return young(reports, r.t.Name(), r.snapshot.Taken), nil
}

// forgetLocalSeed deletes a local seed of the former management cluster that a run left on
// this machine: its objects are about machines that are lost, and its controllers would wait
// for them forever. It is called while nothing of the new one is in the state.
func (r *rebuild) forgetLocalSeed(ctx context.Context, of localseed.Settings) error {
	if !r.t.Environment.Spec.Seed.IsLocal() {
		return nil
	}
	settings, err := json.Marshal(kubernetes.LocalSettings{Settings: of})
	if err != nil {
		return fmt.Errorf("settings of the local seed: %w", err)
	}
	return r.t.Seeds.Remove(ctx, string(settings))
}
