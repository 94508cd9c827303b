package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/diagnosis"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/vain"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// How long an API may not answer before it counts as lost: API servers restart, and load
// balancers notice late.
const (
	silentTime = time.Minute
	askTime    = 10 * time.Second
	askEvery   = 3 * time.Second
	// cloudEvery is how often the cloud is asked why a machine does not come.
	cloudEvery = 10 * time.Second
)

// diagnose asks the cloud and, where they are reached, the clusters. What was found is in
// the verdict also with an error.
func (r *rebuild) diagnose(ctx context.Context) (diagnosis.Verdict, error) {
	step := event.Start(r.progress, "diagnosis", "asking the cloud and the clusters")
	seen, err := r.look(ctx, step)
	if err != nil {
		step.End("", err)
		return diagnosis.Verdict{}, err
	}
	verdict, err := seen.Judge()
	// A rebuild that was killed before the objects moved is not the user's to continue by up.
	moving := seen.Local && !seen.Pivoted && seen.ManagementProblem == ""
	if (err == nil || moving) && verdict.Repair != diagnosis.Rebuild && seen.Known {
		rebuilt, failed := r.rebuilt(ctx, seen)
		if failed != nil || rebuilt {
			err = failed
		}
		if rebuilt {
			verdict.Repair, verdict.Will = diagnosis.Rebuild, []string{"continue the rebuild that a former run began"}
		}
	}
	step.End(string(verdict.Repair), err)
	return verdict, err
}

// look collects what is judged.
func (r *rebuild) look(ctx context.Context, step *event.Step) (diagnosis.Seen, error) {
	resources, err := r.t.Engine.Resources(ctx)
	if err != nil {
		return diagnosis.Seen{}, err
	}
	things, err := r.t.Inventory.List(ctx, r.t.Name())
	if err != nil {
		return diagnosis.Seen{}, err
	}
	seen := seenIn(r.t.Name(), resources, things)
	seen.FromSnapshot, seen.Survivor = r.fromSnapshot, r.survivor
	seen.Backup = r.snapshot != nil
	seen.Datastore = r.datastore != nil
	if m := r.t.Environment.Spec.ManagementCluster; m != nil {
		seen.Wanted = m.ControlPlane.Count
	}
	seen.Local = r.t.Environment.Spec.Seed.IsLocal()
	if !seen.Known {
		seen.SeedProblem, seen.ManagementProblem = "", "it is not in the state"
		return seen, nil
	}
	if seen.Local {
		return r.lookDirectly(ctx, seen, step)
	}
	seed, err := r.t.Seed(ctx)
	if err != nil { // a former run has seen that it is gone
		seen.Seed, seen.ManagementProblem = nil, err.Error()
		return seen, nil
	}
	patience := silentTime
	switch {
	case seen.Seed == nil: // then it is asked directly, which often no way leads to
		patience = askTime
	case seen.Seed.State != "ACTIVE":
		seen.SeedProblem = "its server is " + seen.Seed.State
	default:
		step.Wait("asking the seed")
		seen.SeedProblem = problem(ctx, patience, func(ctx context.Context) (*kube.Cluster, func(), error) { return onSeed(ctx, seed) })
	}
	if seen.SeedProblem != "" {
		seen.ManagementProblem = "it was not asked, because the way to it is through the seed"
		return seen, context.Cause(ctx)
	}
	step.Wait("asking the management cluster")
	seen.ManagementProblem = problem(ctx, patience, func(ctx context.Context) (*kube.Cluster, func(), error) { return r.onItself(ctx, seed) })
	if err := ctx.Err(); err != nil {
		return seen, context.Cause(ctx)
	}
	if seen.ManagementProblem != "" || seen.Seed == nil {
		return seen, nil
	}
	return r.lookInside(ctx, seen, seed)
}

// lookDirectly asks the management cluster of an environment without a seed server.
func (r *rebuild) lookDirectly(ctx context.Context, seen diagnosis.Seen, step *event.Step) (diagnosis.Seen, error) {
	seed, err := r.t.Seed(ctx)
	if err != nil {
		return seen, err
	}
	step.Wait("asking the management cluster")
	seen.ManagementProblem = problem(ctx, silentTime, func(ctx context.Context) (*kube.Cluster, func(), error) { return r.onItself(ctx, seed) })
	if err := ctx.Err(); err != nil {
		return seen, context.Cause(ctx)
	}
	if seen.ManagementProblem != "" || !seen.Pivoted {
		return seen, nil
	}
	return r.lookInside(ctx, seen, seed)
}

// lookInside reads the objects of the management cluster.
func (r *rebuild) lookInside(ctx context.Context, seen diagnosis.Seen, seed *target.Seed) (diagnosis.Seen, error) {
	report, dead, err := r.report(ctx, seed, seen.Pivoted)
	if err != nil {
		return seen, err
	}
	seen.Dead = dead
	if part, waiting := report.Waiting(); waiting {
		seen.Unready = strings.TrimSuffix(part.Kind+" "+part.Name+": "+part.State+": "+part.Cause, ": ")
	}
	return seen, nil
}

// seenIn is what the state and the cloud say. The state counts as knowing a management
// cluster that was ready once.
func seenIn(environment string, resources []engine.Resource, things []openstack.Resource) diagnosis.Seen {
	seen := diagnosis.Seen{Environment: environment}
	for _, one := range resources {
		switch one.Name {
		case stacks.StepManagementCluster:
			seen.Known = one.Text("adminKubeconfig") != ""
		case stacks.StepManagementMove:
			seen.Pivoted = true
		}
	}
	for _, thing := range things {
		server := diagnosis.Server{Name: thing.Name, ID: thing.ID, State: thing.State}
		switch {
		case thing.Type == openstack.TypeServer && thing.Step == stacks.StepSeed:
			seen.Seed = &server
		case thing.Type == openstack.TypeVolume && thing.Step == stacks.StepData:
			seen.Volume, seen.VolumeID = true, thing.ID
		case thing.Type == openstack.TypeServer && thing.Step == stacks.StepManagementCluster && strings.HasPrefix(thing.Name, environment+"-control-plane-"):
			seen.ControlPlanes = append(seen.ControlPlanes, server)
		case thing.Type == openstack.TypeServer && thing.Step == stacks.StepManagementCluster:
			seen.Workers = append(seen.Workers, server)
		}
	}
	return seen
}

// opener connects to a cluster.
type opener func(context.Context) (on *kube.Cluster, leave func(), err error)

// problem is why a cluster does not answer for so long; "" if it does.
func problem(ctx context.Context, patience time.Duration, open opener) string {
	last := ""
	var hopeless vain.Watch
	for end := time.Now().Add(patience); ; {
		err := answers(ctx, open)
		if err == nil {
			return ""
		}
		last = err.Error()
		if ctx.Err() != nil || time.Now().After(end) || hopeless.Ends(err) {
			return last
		}
		select {
		case <-ctx.Done():
		case <-time.After(askEvery):
		}
	}
}

// answers asks once whether a cluster is ready to serve, with its etcd.
func answers(ctx context.Context, open opener) error {
	ctx, stop := context.WithTimeout(ctx, 3*askTime)
	defer stop()
	on, leave, err := open(ctx)
	if err != nil {
		return err
	}
	defer leave()
	asking, stopAsking := context.WithTimeout(ctx, askTime)
	defer stopAsking()
	_, err = on.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(asking)
	return err
}

// onSeed connects to Kubernetes on the seed.
func onSeed(ctx context.Context, seed *target.Seed) (*kube.Cluster, func(), error) {
	if seed.Kubeconfig == "" {
		return nil, nil, errors.New("the state has no kubeconfig of it")
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return nil, nil, err
	}
	on, err := kubernetes.Reach(machine, seed.Kubeconfig)
	if err != nil {
		machine.Close()
		return nil, nil, err
	}
	return on, func() { machine.Close() }, nil
}

// onItself connects to the management cluster.
func (r *rebuild) onItself(ctx context.Context, seed *target.Seed) (*kube.Cluster, func(), error) {
	m, leave, err := seed.OpenManagement(ctx, r.t.Loaded)
	if err != nil {
		return nil, nil, err
	}
	return m.Kube, leave, nil
}

// holder connects to the cluster that has the management cluster's objects.
func (r *rebuild) holder(ctx context.Context, seed *target.Seed, pivoted bool) (*kube.Cluster, func(), error) {
	if pivoted {
		return r.onItself(ctx, seed)
	}
	return onSeed(ctx, seed)
}

// report reads the management cluster's objects. dead are its Machines whose server is not
// among those of the cloud, which are listed completely or not at all.
func (r *rebuild) report(ctx context.Context, seed *target.Seed, pivoted bool) (report clusterapi.Report, dead []string, err error) {
	on, leave, err := r.holder(ctx, seed, pivoted)
	if err != nil {
		return report, nil, err
	}
	defer leave()
	reports, err := clusterapi.ReadAsking(ctx, on.Dynamic, stacks.ManagementNamespace, r.clouds)
	if err != nil {
		return report, nil, err
	}
	at := slices.IndexFunc(reports, func(one clusterapi.Report) bool { return one.Name == r.t.Name() })
	if at < 0 {
		return report, nil, fmt.Errorf("reading the management cluster: its Cluster %s/%s is not there", stacks.ManagementNamespace, r.t.Name())
	}
	things, err := r.t.Inventory.List(ctx, r.t.Name())
	if err != nil {
		return report, nil, err
	}
	return reports[at], deadIn(reports[at].Machines, things), nil
}

// deadIn are the Machines that had a server which is gone.
func deadIn(machines []clusterapi.Machine, things []openstack.Resource) (dead []string) {
	for _, m := range machines {
		if m.Server != "" && !slices.ContainsFunc(things, func(t openstack.Resource) bool { return t.Type == openstack.TypeServer && t.ID == m.Server }) {
			dead = append(dead, m.Name)
		}
	}
	return dead
}

// rebuilt reports whether the management cluster is not the one of the backup, but one that
// a former run made and has not completed. It may be that of the backup all the same, if that
// was made in the middle of the rebuild: then r.halfway is the one to go on with.
func (r *rebuild) rebuilt(ctx context.Context, seen diagnosis.Seen) (bool, error) {
	if r.snapshot == nil || seen.ManagementProblem != "" || seen.Seed == nil && !seen.Local {
		return false, nil
	}
	seed, err := r.t.Seed(ctx)
	if err != nil {
		return false, err
	}
	on, leave, err := r.onItself(ctx, seed)
	if err != nil {
		return false, err
	}
	defer leave()
	same, known, err := original(ctx, on, r.snapshot.Objects)
	if err != nil || known && !same {
		return err == nil, err
	}
	if known {
		return r.half(ctx, on)
	}
	generation, err := restore.Generation(ctx, on)
	return generation > 0, err
}

// half reports whether the rebuild of a management cluster that has been backed up since is half
// done. One that has restored everything and holds nothing any more is none: somebody finished
// it with slipway up, and the backup that it began with may be gone.
func (r *rebuild) half(ctx context.Context, on *kube.Cluster) (bool, error) {
	from, err := restore.Begun(ctx, on)
	if err != nil || from == "" {
		return false, err
	}
	restored, err := restore.Restored(ctx, on)
	if err != nil {
		return false, err
	}
	if restored == from && r.plan != nil {
		live, err := restore.Live(ctx, on, r.plan)
		if err != nil || !slices.ContainsFunc(live, recovery.Held) {
			return false, err
		}
	}
	r.halfway = from
	return true, nil
}
