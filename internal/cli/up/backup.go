package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// save makes a backup before controllers or Kubernetes are changed, if the environment has
// a place for it and a management cluster that was ready once.
func (o options) save(ctx context.Context, t *target.Target, program stacks.Environment, progress event.Sink) (string, error) {
	if o.skipBackup || o.backup == nil || t.Environment.Spec.Backup == nil {
		return "", nil
	}
	resources, err := t.Engine.Resources(ctx)
	if err != nil || !running(resources) {
		return "", err
	}
	plan, err := t.Engine.Preview(ctx, program.Program)
	if err != nil || !upgrades(plan) {
		return "", err
	}
	id, err := o.backup(ctx, o.from, progress)
	if err != nil {
		return "", fault.New("backup before the change", errors.Join(errors.New("nothing was changed"), err), "fix the cause, or leave the backup out with --skip-backup")
	}
	progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: fmt.Sprintf("made backup %s before the change", id)})
	return id, nil
}

// running reports whether there is a management cluster that was ready once, and a seed
// through which it is reached.
func running(resources []engine.Resource) bool {
	seed, management := false, false
	for _, r := range resources {
		seed = seed || r.Name == stacks.StepSeed
		management = management || r.Name == stacks.StepManagementCluster && r.Text("adminKubeconfig") != ""
	}
	return seed && management
}

// upgrades reports whether a plan changes Kubernetes or controllers that are there.
func upgrades(plan engine.Plan) bool {
	of := []string{stacks.StepSeed, stacks.StepK3s, stacks.StepClusterAPI, stacks.StepControllers, stacks.StepManagementCluster, stacks.StepManagementClusterAPI,
		stacks.StepManagementControllers, stacks.StepManagementMove, stacks.StepMagnum}
	return slices.ContainsFunc(plan.Changes, func(c engine.Change) bool {
		return slices.Contains(of, c.Name) && slices.Contains([]engine.Operation{engine.Update, engine.Replace, engine.Delete}, c.Operation)
	})
}
