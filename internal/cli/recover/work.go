package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/site"
	"github.com/slipway-sh/slipway/stacks"
)

// work does all parts. From the first object on, an error is one of ExitPartial.
func (r *rebuild) work(ctx context.Context) error {
	if r.cluster == "" {
		if err := r.keep(ctx); err != nil {
			return err
		}
		if err := r.part(ctx, "up", "bringing the environment up without the Magnum API", r.up); err != nil {
			return err
		}
	}
	seed, err := r.t.Seed(ctx)
	if err != nil {
		return err
	}
	m, leave, err := seed.OpenManagement(ctx, r.t.Loaded)
	if err != nil {
		return err
	}
	defer leave()
	on := m.Kube
	if err := r.admit(ctx, on); err != nil {
		return err
	}
	if r.cluster != "" {
		if err := r.part(ctx, "servers", "looking for the cluster's servers", func(ctx context.Context, step *event.Step) (said string, err error) {
			if r.found, err = restore.Find(ctx, on, r.plan); err != nil {
				return "", err
			}
			r.result.Objects = r.plan.Objects()
			return r.alive(ctx, step)
		}); err != nil {
			return errors.Join(err, restore.Revive(ctx, on))
		}
	}
	if r.cluster == "" {
		if err := r.begin(ctx, on); err != nil { // also for a run that goes on: up had nothing to do with the cluster
			return err
		}
		// Until it was noted that this one has begun, slipway backup prune could take a pin for that of a
		// former rebuild from the same backup.
		if err := r.keep(ctx); err != nil {
			return err
		}
		r.letOthersGo(ctx, r.result.Backup)
		if err := r.part(ctx, "fence", "taking the next generation", func(ctx context.Context, _ *event.Step) (string, error) { return r.fence(ctx, on) }); err != nil {
			return err
		}
	}
	return partly(r.onManagement(ctx, on))
}

// onManagement is everything that the management cluster itself is needed for.
func (r *rebuild) onManagement(ctx context.Context, on *kube.Cluster) error {
	if err := r.part(ctx, "restore", "restoring the objects, paused", func(ctx context.Context, s *event.Step) (string, error) { return r.restore(ctx, on, s) }); err != nil {
		return err
	}
	var seen *site.Site
	defer func() {
		if seen != nil {
			seen.Close()
		}
	}()
	if err := r.part(ctx, "prove", "proving that nothing in the cloud would change", func(ctx context.Context, s *event.Step) (said string, err error) {
		seen, said, err = r.prove(ctx, on, s)
		return said, err
	}); err != nil {
		return err
	}
	if err := r.part(ctx, "unpause", "unpausing in waves", func(ctx context.Context, s *event.Step) (string, error) {
		return r.unpause(ctx, on, seen, s)
	}); err != nil || r.cluster != "" {
		return err
	}
	return r.part(ctx, "complete", "completing the environment", r.complete)
}

// up brings the environment up, as far as Cluster API on one node of the management cluster:
// the others join while the objects are restored. Slipway's controllers and the Magnum API
// come last, when all is proved: they know no pause, and tenants would miss their clusters. On a run
// that goes on they may be there already, and stay.
func (r *rebuild) up(ctx context.Context, _ *event.Step) (string, error) {
	// Its checks come first: what a project has no room for changes nothing.
	program, _, err := r.t.Program(ctx, r.skip)
	if err != nil {
		return "", err
	}
	if err := r.forget(ctx); err != nil {
		return "", err
	}
	resources, err := r.t.Engine.Resources(ctx)
	if err != nil {
		return "", err
	}
	known := map[string]bool{}
	for _, one := range resources {
		known[one.Name] = true
	}
	if !known[stacks.StepManagementCluster] {
		if err := r.makeRoom(ctx); err != nil {
			return "", err
		}
	}
	if !known[stacks.StepLocalSeed] {
		if err := r.forgetLocalSeed(ctx, program.Equipment.Local); err != nil {
			return "", err
		}
	}
	if program.Config.Spec.ManagementCluster == nil {
		return "", fault.Usage("spec.managementCluster", errors.New("the environment has none, so there is nothing to restore into"), "add it to the environment file")
	}
	if !known[stacks.StepMagnum] && !known[stacks.StepMagnumAddress] {
		without := *program.Config
		without.Spec.Magnum, without.Spec.Console = nil, nil
		// A backup of what is not restored yet would be the newest one.
		if b := without.Spec.Backup; b != nil {
			unscheduled := *b
			unscheduled.Schedule = nil
			without.Spec.Backup = &unscheduled
		}
		program.Config = &without
		program.Early = !known[stacks.StepManagementReady] && !known[stacks.StepManagementControllers]
	}
	r.t.Answered = r.begin
	if _, err := r.t.Engine.Up(ctx, program.Program); err != nil {
		return "", err
	}
	_, err = r.t.WriteKubeconfigs(ctx)
	return "the management cluster answers", err
}

// complete brings what up left out: the Magnum API, and all nodes of the management cluster.
func (r *rebuild) complete(ctx context.Context, _ *event.Step) (string, error) {
	program, _, err := r.t.Program(ctx, r.skip)
	if err != nil {
		return "", err
	}
	if _, err := r.t.Engine.Up(ctx, program.Program); err != nil {
		return "", err
	}
	if _, err := r.t.WriteKubeconfigs(ctx); err != nil {
		return "", err
	}
	file, err := target.EnvironmentFile(r.environment.Files, r.environment.Name != "", r.t.Loaded)
	if err == nil {
		err = r.t.StoreEnvironment(ctx, file)
	}
	if err == nil {
		err = r.t.OnManagement(ctx, func(on *kube.Cluster) error { return restore.End(ctx, on) })
	}
	if err != nil {
		return "", err
	}
	r.letOthersGo(ctx, "")
	services, err := r.t.WriteServices(ctx)
	if err != nil || services.Magnum.URL == "" {
		return "the environment is complete", err
	}
	return "Magnum API: " + services.Magnum.URL, nil
}

// alive refuses clusters whose servers are gone, before anything is written: their
// controllers would make others.
func (r *rebuild) alive(ctx context.Context, step *event.Step) (string, error) {
	objects := slices.Concat(slices.Concat(r.plan.Steps...), r.found)
	seen, err := site.Open(ctx, recovery.Logins(r.plan, objects), environment.UserAgent(), func(n, total int) { step.Count(int64(n), int64(total), "clusters") })
	if err != nil {
		return "", err
	}
	defer seen.Close()
	r.result.Checks = recovery.Leave(serverChecks(r.snapshot, r.plan, seen.Cloud()), r.leave)
	if err := recovery.Err(r.result.Checks); err != nil {
		return "", &fault.Fault{Exit: fault.ExitUsage, Err: err} // nothing was changed
	}
	return "all servers are there", nil
}

// serverChecks are the proofs about servers, of objects that are not restored yet.
func serverChecks(s *snapshot.Snapshot, plan *recovery.Plan, cloud recovery.Cloud) []recovery.Check {
	checks := recovery.Prove(recovery.Evidence{Snapshot: s, Plan: plan, Live: slices.Concat(plan.Steps...), Cloud: cloud, Now: s.Taken})
	return slices.DeleteFunc(checks, func(c recovery.Check) bool { return c.ID != "machines" && c.ID != "cloud" })
}

// absent are the clusters of the backup that the management cluster does not have.
func (r *rebuild) absent(ctx context.Context) ([]string, error) {
	seed, err := r.t.Seed(ctx)
	if err != nil {
		return nil, err
	}
	on, leave, err := r.onItself(ctx, seed)
	if err != nil {
		return nil, err
	}
	defer leave()
	live, err := restore.Live(ctx, on, r.plan)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, o := range live {
		if o.GetKind() == "Cluster" && o.GroupVersionKind().Group == "cluster.x-k8s.io" {
			there[o.GetNamespace()+"/"+o.GetName()] = true
		}
	}
	return slices.DeleteFunc(r.plan.Clusters(), func(name string) bool { return there[name] }), nil
}

// admit refuses to restore everything into a management cluster that is alive: its
// clusters are the originals.
func (r *rebuild) admit(ctx context.Context, on *kube.Cluster) error {
	if r.cluster != "" {
		return nil
	}
	live, err := restore.Live(ctx, on, r.plan)
	if err != nil {
		return err
	}
	if alive := r.plan.Originals(live); len(alive) > 0 {
		r.letOthersGo(ctx, "")
		return fault.Usage("management cluster", fmt.Errorf("it was never lost: Cluster %s is the original", alive[0]),
			"restore what is missing with slipway recover --cluster; if the cluster does not work, see why with slipway why")
	}
	return nil
}

// restore stops the controllers that know no pause, and restores, unless a former run
// has done it.
func (r *rebuild) restore(ctx context.Context, on *kube.Cluster, step *event.Step) (string, error) {
	if r.cluster == "" {
		if done, err := restore.Restored(ctx, on); err != nil || done == r.result.Backup {
			return "it was restored before", err
		}
	}
	definitions, err := controllers.Definitions()
	if err != nil {
		return "", err
	}
	var did restore.Result
	write := func(ctx context.Context) (err error) {
		if err := on.Define(ctx, definitions); err != nil {
			return fmt.Errorf("defining the kinds of Slipway's controllers: %w", err)
		}
		did, err = restore.Restorer{To: on, Progress: func(what string, n, total int) { step.Count(int64(n), int64(total), what) }}.Run(ctx, r.plan)
		return err
	}
	if r.cluster != "" { // the other clusters need them
		err = restore.WithoutControllers(ctx, on, step.Wait, write)
	} else if _, err = restore.StopControllers(ctx, on, step.Wait); err == nil {
		err = write(ctx)
	}
	if err != nil {
		return "", err
	}
	if r.cluster == "" {
		err = restore.Record(ctx, on, r.result.Backup)
	}
	return fmt.Sprintf("%d objects created, %d were there, %d statuses", did.Created, did.Kept, did.Statuses), err
}

// prove runs all proofs. What is found is in the result, also if nothing failed.
func (r *rebuild) prove(ctx context.Context, on *kube.Cluster, step *event.Step) (*site.Site, string, error) {
	live, err := restore.Live(ctx, on, r.plan)
	if err != nil {
		return nil, "", err
	}
	plan := r.plan.WithoutReleased(live)
	plan = plan.Without(recovery.Released(plan, live)) // a former run has unpaused these
	logins := recovery.Logins(plan, live)
	seen, err := site.Open(ctx, logins, environment.UserAgent(), func(n, total int) { step.Count(int64(n), int64(total), "clusters") })
	if err != nil {
		return nil, "", err
	}
	versions, err := r.controllers()
	if err != nil {
		return seen, "", err
	}
	checks := recovery.Prove(recovery.Evidence{Snapshot: r.snapshot, Plan: plan, Live: live, Cloud: seen.Cloud(), Controllers: versions, Now: time.Now()})
	if r.cluster == "" {
		checks = append(checks, recovery.Shared(logins))
	}
	r.result.Checks = recovery.Leave(checks, r.leave)
	r.plan, r.result.Waves = plan, recovery.Waves(plan, r.leave)
	return seen, fmt.Sprintf("%d checks passed", len(checks)), recovery.Err(r.result.Checks)
}
