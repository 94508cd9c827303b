package recover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/datastore"
	"github.com/slipway-sh/slipway/internal/etcd/quorum"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/diagnosis"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// How long parts of a repair may take: machines are replaced one after the other.
const (
	wholeTime   = 45 * time.Minute
	apiTime     = 10 * time.Minute
	machineTime = 10 * time.Minute
)

// repair does what the diagnosis chose, and only that. From its first change on, an error
// is one of ExitPartial.
func (r *rebuild) repair(ctx context.Context) error {
	switch r.result.Diagnosis.Repair {
	case diagnosis.Seed, diagnosis.Datastore:
		if err := r.part(ctx, "seed", "making the seed again", r.seedAgain); err != nil {
			return partly(err)
		}
	case diagnosis.Quorum, diagnosis.Snapshot:
		if err := r.part(ctx, "etcd", "making etcd a cluster of one", r.etcd); err != nil {
			return partly(err)
		}
		if err := r.part(ctx, "machines", "deleting the Machines whose servers are gone", r.forgetDead); err != nil {
			return partly(err)
		}
	}
	return partly(r.part(ctx, "ready", "waiting for the management cluster", r.whole))
}

// seedAgain lets up make what is gone of the seed.
func (r *rebuild) seedAgain(ctx context.Context, step *event.Step) (string, error) {
	if r.result.Diagnosis.Repair == diagnosis.Datastore {
		if _, err := r.admitDatastore(ctx); err != nil {
			return "", err
		}
	}
	if _, err := r.t.Engine.Refresh(ctx, true); err != nil {
		return "", err
	}
	program, _, err := r.t.Program(ctx, r.skip)
	if err != nil {
		return "", err
	}
	if !r.result.Diagnosis.Pivoted {
		r.t.Datastore = r.putDatastore
	}
	step.Run("bringing the environment up")
	if _, err := r.t.Engine.Up(ctx, program.Program); err != nil {
		return "", err
	}
	_, err = r.t.WriteKubeconfigs(ctx)
	return "the seed is there", err
}

// putDatastore puts the datastore of the backup on a seed that does not know the management
// cluster: one with a new volume, or whose volume a run that was ended had made.
func (r *rebuild) putDatastore(ctx context.Context, seed *remote.Machine) error {
	knows, err := datastore.Has(ctx, seed, datastore.Folder, "/registry/cluster.x-k8s.io/clusters/"+stacks.ManagementNamespace+"/"+r.t.Name())
	if err != nil || knows {
		return err
	}
	if r.datastore == nil {
		return fault.New("seed", errors.New("its data volume does not have the objects of the management cluster, and no backup with its datastore was read"),
			"run the same command with --identity, and --at if another backup has the datastore: slipway backup show says so")
	}
	unknown, err := r.admitDatastore(ctx)
	if err != nil {
		return err
	}
	for _, one := range unknown {
		r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: "the backup does not know " + one + ". This repair does not need it"})
	}
	return datastore.Put(ctx, seed, datastore.Folder, r.datastore.Backup, r.datastore.Archive)
}

// admitDatastore refuses a datastore of another time. unknown is what the backup does not know
// of the projects of workload clusters.
func (r *rebuild) admitDatastore(ctx context.Context) (unknown []string, err error) {
	things, err := r.t.Inventory.List(ctx, r.t.Name())
	if err != nil {
		return nil, err
	}
	token, err := r.t.Cloud.Token()
	if err != nil {
		return nil, err
	}
	own, unknown := ofProject(r.datastore.Cloud, token.ProjectID)
	return unknown, moved(r.machineNames(), own, things)
}

// ofProject is the part of an inventory that is of the environment's own project, with servers
// whose project is not known, and what is missing of others. Tenants name their servers as they
// like, and may lose their logins: neither is about the management cluster.
func ofProject(all snapshot.Inventory, project string) (own snapshot.Inventory, missing []string) {
	for _, s := range all.Servers {
		if project == "" || s.Project == "" || s.Project == project {
			own.Servers = append(own.Servers, s)
		}
	}
	for _, one := range all.Missing {
		if strings.HasPrefix(one, snapshot.MissingOfCluster) {
			missing = append(missing, one)
		} else {
			own.Missing = append(own.Missing, one)
		}
	}
	return own, missing
}

// machineNames are what the names of the management cluster's servers begin with.
func (r *rebuild) machineNames() []string {
	names := []string{r.t.Name() + "-control-plane-"}
	for _, group := range r.t.Environment.Spec.ManagementCluster.NodeGroups {
		names = append(names, r.t.Name()+"-"+group.Name+"-")
	}
	return names
}

// moved refuses the datastore of another time: it would know other machines of the
// management cluster than there are, and its controllers would delete and make some.
func moved(names []string, backup snapshot.Inventory, things []openstack.Resource) error {
	if len(backup.Missing) > 0 {
		return fault.Usage("backup", errors.New("it does not know which servers there were: "+backup.Missing[0]), "use another one with --at")
	}
	const remedy = "use a backup of after this change with --at; without one, delete the servers of the management cluster, and slipway recover rebuilds everything"
	var wrong []error
	was, is := map[string]bool{}, map[string]bool{}
	for _, s := range backup.Servers {
		was[s.ID] = true
	}
	for _, thing := range things {
		is[thing.ID] = true
		if thing.Type == openstack.TypeServer && thing.Step == stacks.StepManagementCluster && !was[thing.ID] {
			wrong = append(wrong, fault.Usage("server "+thing.Name, fmt.Errorf("it was made after the backup (%s)", thing.ID), remedy))
		}
	}
	for _, s := range backup.Servers {
		if !is[s.ID] && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(s.Name, name) }) {
			wrong = append(wrong, fault.Usage("server "+s.Name, fmt.Errorf("the backup has it (%s), and it is gone", s.ID), remedy))
		}
	}
	return errors.Join(wrong...)
}

// etcd repairs etcd on the only control plane server left.
func (r *rebuild) etcd(ctx context.Context, step *event.Step) (string, error) {
	fix := quorum.Repair{Progress: step.Wait}
	if r.result.Diagnosis.Repair == diagnosis.Snapshot {
		if err := r.admitSnapshot(ctx, step); err != nil {
			return "", err
		}
		fix.Snapshot = bytes.NewReader(r.snapshot.Etcd)
	}
	seed, err := r.t.Seed(ctx)
	if err != nil {
		return "", err
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return "", err
	}
	defer machine.Close()
	node, err := seed.Node(ctx, r.t.Cloud, machine, r.result.Diagnosis.Survivor.ID, r.hostKey)
	if err != nil {
		return "", err
	}
	defer node.Close()
	fix.Host = node
	did, err := fix.Run(ctx)
	if err != nil {
		return "", err
	}
	open := func(ctx context.Context) (*kube.Cluster, func(), error) { return r.onItself(ctx, seed) }
	if err := patiently(ctx, apiTime, step, func() error { return answers(ctx, open) }); err != nil {
		return "", fault.New("API of the management cluster", err, "etcd is repaired; see with slipway why what else is wrong, then run the same command again")
	}
	return fmt.Sprintf("etcd member %s is a cluster of one; its former data are in %s", did.Member, did.Before), nil
}

// admitSnapshot refuses a snapshot of another time: the controllers of clusters would miss
// the servers that went since then, and make new ones.
func (r *rebuild) admitSnapshot(ctx context.Context, step *event.Step) error {
	if len(r.snapshot.Etcd) == 0 {
		return fault.Usage("backup "+r.result.Backup, errors.New("it has no etcd snapshot"), "use another one with --at (slipway backup show says which have one), or delete the last control plane server: slipway recover then rebuilds everything")
	}
	_, err := r.alive(ctx, step)
	return err
}

// forgetDead deletes the Machines whose server the cloud does not have, so that the
// control plane's controller makes others: it repairs one at a time only, and never
// without a quorum.
func (r *rebuild) forgetDead(ctx context.Context, step *event.Step) (string, error) {
	seed, pivoted, err := r.place(ctx)
	if err != nil {
		return "", err
	}
	var deleted []string
	err = patiently(ctx, machineTime, step, func() error {
		_, dead, err := r.report(ctx, seed, pivoted)
		if err != nil {
			return err
		}
		on, leave, err := r.holder(ctx, seed, pivoted)
		if err != nil {
			return err
		}
		defer leave()
		for _, name := range dead {
			if err := clusterapi.DeleteLostMachine(ctx, on.Dynamic, stacks.ManagementNamespace, name); err != nil {
				return err // a webhook whose pod was on a lost machine
			}
		}
		deleted = dead
		return nil
	})
	return "deleted " + strings.Join(deleted, ", "), err
}

// replacing is what is waited for while machines are lost. It does not pass if the cloud
// gives no other machine.
func replacing(report clusterapi.Report, lost []string) error {
	if err := report.Refusal(lost); err != nil {
		return err
	}
	return errors.New("waiting until Cluster API replaces " + strings.Join(lost, ", "))
}

// whole waits until no Machine lacks its server and everything is ready.
func (r *rebuild) whole(ctx context.Context, step *event.Step) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wholeTime, fmt.Errorf("the management cluster is not ready after %s", wholeTime))
	defer cancel()
	seed, pivoted, err := r.place(ctx)
	if err != nil {
		return "", err
	}
	if err := patiently(ctx, wholeTime, step, func() error {
		report, dead, err := r.report(ctx, seed, pivoted)
		if err == nil && len(dead) > 0 {
			err = replacing(report, dead)
		}
		return err
	}); err != nil {
		return "", err
	}
	on, leave, err := r.holder(ctx, seed, pivoted)
	if err != nil {
		return "", err
	}
	defer leave()
	wanted := r.t.Environment.Spec.ManagementCluster.ControlPlane.Count
	done := func(report clusterapi.Report) bool {
		return report.Complete() && report.ControlPlane == clusterapi.Count{Ready: wanted, Wanted: wanted}
	}
	report, err := clusterapi.Await(ctx, on.Dynamic, stacks.ManagementNamespace, r.t.Name(), done, func(report clusterapi.Report) { step.Wait(report.Progress()) })
	if err != nil {
		return "", err
	}
	_, dead, err := r.report(ctx, seed, pivoted)
	if err == nil && len(dead) > 0 {
		err = fault.New("management cluster", fmt.Errorf("servers went while it became ready: %s", strings.Join(dead, ", ")), "run the same command again")
	}
	return fmt.Sprintf("control plane %s, all parts ready, every Machine has its server", report.ControlPlane), err
}
