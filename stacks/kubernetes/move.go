package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/clusterctl/move"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
)

// ManagementMoveInputs are the inputs of the pivot of a cluster's objects to the cluster
// itself.
type ManagementMoveInputs struct {
	Login
	// Kubeconfig is that of the seed, ManagementKubeconfig that of the cluster.
	Kubeconfig           string `pulumi:"kubeconfig" provider:"secret"`
	ManagementKubeconfig string `pulumi:"managementKubeconfig" provider:"secret"`
	// ServerID is the seed's server; on a new one it is recorded again where the
	// objects are.
	ServerID string `pulumi:"serverID"`
	// Name and Namespace are those of the Cluster.
	Name      string `pulumi:"name"`
	Namespace string `pulumi:"namespace"`
}

// ManagementMoveState is the state of the pivot, with the objects that arrived.
type ManagementMoveState struct {
	ManagementMoveInputs
	Objects int `pulumi:"objects"`
	// Machines are the provider IDs of the Machines by name.
	Machines map[string]string `pulumi:"machines"`
}

// ManagementMove is in a program while the objects are on the cluster itself. It counts as
// created when all of them arrived and no machine was replaced, as deleted when they are
// back on the seed.
type ManagementMove struct{ pulumi.CustomResourceState }

// ManagementMoveRefs are the inputs of NewManagementMove.
type ManagementMoveRefs struct {
	LoginRefs
	Kubeconfig, ManagementKubeconfig, ServerID pulumi.StringInput
	Name, Namespace                            string
}

// NewManagementMove adds the pivot to the program.
func NewManagementMove(ctx *pulumi.Context, name string, refs ManagementMoveRefs, options ...pulumi.ResourceOption) (*ManagementMove, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["managementKubeconfig"] = pulumi.ToSecret(refs.ManagementKubeconfig)
	properties["serverID"] = refs.ServerID
	properties["name"] = pulumi.String(refs.Name)
	properties["namespace"] = pulumi.String(refs.Namespace)
	r := &ManagementMove{}
	return r, ctx.RegisterResource("slipway:kubernetes:ManagementMove", name, properties, r, options...)
}

func (s ManagementMoveState) inputs() ManagementMoveInputs { return s.ManagementMoveInputs }

type managementMove struct {
	controller[ManagementMoveInputs, ManagementMoveState]
}

// Annotate names the resource's type.
func (*managementMove) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ManagementMove") }

// How long a pivot may take, and how long controllers may take to restore the objects'
// status before a cluster is deleted.
const (
	moveTime  = 15 * time.Minute
	learnTime = 3 * time.Minute
	// askTime bounds requests to a cluster that may be gone.
	askTime = 10 * time.Second
)

type managementMoveKind struct{ seeds *LocalSeeds }

func (managementMoveKind) object(in ManagementMoveInputs) string {
	return "pivot of cluster " + in.Name
}

func (managementMoveKind) id(in ManagementMoveInputs) string { return in.Namespace + "/" + in.Name }

func (managementMoveKind) blank(in ManagementMoveInputs) ManagementMoveState {
	return ManagementMoveState{ManagementMoveInputs: in}
}

// settle pivots the objects to the cluster itself, and waits until its Cluster API reports
// that all is ready, with the same machines.
func (k managementMoveKind) settle(ctx context.Context, in ManagementMoveInputs) (ManagementMoveState, error) {
	state := k.blank(in)
	ctx, cancel := context.WithTimeoutCause(ctx, moveTime, fmt.Errorf("it is not done after %s", moveTime))
	defer cancel()
	machine, err := in.reach(ctx)
	if err != nil {
		return state, err
	}
	defer machine.Close()
	if in.Local != "" {
		if in.Kubeconfig, err = k.seeds.forMove(ctx, machine, in); err != nil || in.Kubeconfig == "" {
			return state, err
		}
	}
	if state, err = in.pivot(ctx, machine, state); err != nil || in.Local == "" {
		return state, err
	}
	status(ctx, "deleting the local seed")
	return state, k.seeds.Remove(ctx, in.Local)
}

// pivot is settle once there is a seed.
func (in ManagementMoveInputs) pivot(ctx context.Context, machine Way, state ManagementMoveState) (ManagementMoveState, error) {
	m, err := in.move(ctx, machine)
	if err != nil {
		return state, err
	}
	proof, err := m.Run(ctx, move.Management)
	if err != nil {
		return state, err
	}
	if _, err := clusterapi.Await(ctx, m.Management.Kube.Dynamic, in.Namespace, in.Name, clusterapi.Report.Ready, func(r clusterapi.Report) { status(ctx, r.Progress()) }); err != nil {
		return state, err
	}
	after, err := m.Run(ctx, move.Management)
	if err != nil {
		return state, err
	}
	if !maps.Equal(proof.Machines, after.Machines) {
		return state, fault.New("cluster "+in.Name, fmt.Errorf("its machines changed during the pivot: they were %v and are %v", proof.Machines, after.Machines), "see slipway status; then run the same command again")
	}
	state.Objects, state.Machines = after.Objects, after.Machines
	return state, nil
}

// remove pivots the objects back to the seed.
func (k managementMoveKind) remove(ctx context.Context, state ManagementMoveState) error {
	in := state.ManagementMoveInputs
	machine, err := in.reachNow(ctx)
	if err != nil {
		return fault.New("seed at "+in.Address, err, "run slipway down, which deletes all resources with the environment's ownership tag")
	}
	defer machine.Close()
	if in.Local != "" {
		if in.Kubeconfig, err = k.seeds.ForMoveBack(ctx, machine, in, func(text string) { status(ctx, text) }); err != nil || in.Kubeconfig == "" {
			return err
		}
	}
	_, err = MoveBack(ctx, machine, in, func(text string) { status(ctx, text) })
	return err
}

// move returns what to move, with connections through the machine.
func (in ManagementMoveInputs) move(ctx context.Context, machine Way) (move.Move, error) {
	m := move.Move{Cluster: types.NamespacedName{Namespace: in.Namespace, Name: in.Name}, Kubeconfig: in.ManagementKubeconfig,
		Seed: move.Side{Name: "seed"}, Management: move.Side{Name: "management cluster"}, Progress: func(text string) { status(ctx, text) }}
	var err error
	if m.Seed.Kube, m.Seed.Config, err = cluster(machine, in.Kubeconfig); err != nil {
		return m, err
	}
	m.Management.Kube, m.Management.Config, err = cluster(machine, in.ManagementKubeconfig)
	return m, err
}

// MoveBack pivots a cluster's objects back to the seed, so that the cluster does not have
// to delete itself; it returns false if they were there already. It gives the controllers
// on the seed some time to read the cloud.
func MoveBack(ctx context.Context, machine Way, in ManagementMoveInputs, progress func(string)) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, moveTime, fmt.Errorf("it is not done after %s", moveTime))
	defer cancel()
	m, err := in.move(ctx, machine)
	if err != nil {
		return false, err
	}
	m.Progress = progress
	if away, err := in.away(ctx, m); err != nil || !away {
		return false, err
	}
	if _, err := m.Run(ctx, move.Seed); err != nil {
		return false, err
	}
	learning, stop := context.WithTimeout(ctx, learnTime)
	defer stop()
	if _, err := clusterapi.Await(learning, m.Seed.Kube.Dynamic, in.Namespace, in.Name, clusterapi.Report.Ready, func(r clusterapi.Report) { progress(r.Progress()) }); err != nil && ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	return true, nil
}

// away reports whether objects must be pivoted back to the seed, or an interrupted pivot
// completed. A cluster that does not answer and has no record counts as gone.
func (in ManagementMoveInputs) away(ctx context.Context, m move.Move) (bool, error) {
	record, err := move.Read(ctx, m.Seed.Kube, m.Cluster)
	if err != nil || record != nil {
		return record != nil, err
	}
	if here, err := clusterapi.Exists(ctx, m.Seed.Kube.Dynamic, in.Namespace, in.Name); err != nil || here {
		return false, err
	}
	asking, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	there, err := clusterapi.Exists(asking, m.Management.Kube.Dynamic, in.Namespace, in.Name)
	return there && err == nil, nil
}

// location is the cluster that holds a cluster's objects.
type location struct {
	move.Side
	place move.Place
}

// locate finds the objects of a cluster: where the record on the seed says; without a
// record, on the seed. A replaced seed has no record: then the cluster itself is asked,
// with the last known kubeconfig, because it may be self-managed.
func locate(ctx context.Context, machine Way, seeds *LocalSeeds, in ClusterInputs, before ClusterState) (location, error) {
	if in.Local != "" {
		var err error
		if in.Kubeconfig, err = seeds.forCluster(ctx, machine, in, before); err != nil {
			return location{}, err
		}
		if in.Kubeconfig == "" {
			return reach(machine, before.AdminKubeconfig)
		}
	}
	seed := location{Side: move.Side{Name: "seed"}, place: move.Seed}
	var err error
	if seed.Kube, seed.Config, err = cluster(machine, in.Kubeconfig); err != nil {
		return seed, err
	}
	record, err := move.Read(ctx, seed.Kube, types.NamespacedName{Namespace: in.Namespace, Name: in.Name})
	if err != nil {
		return seed, err
	}
	if record.Place() == move.Management {
		return reach(machine, record.Kubeconfig)
	}
	if record != nil || before.AdminKubeconfig == "" {
		return seed, nil
	}
	if here, err := clusterapi.Exists(ctx, seed.Kube.Dynamic, in.Namespace, in.Name); err != nil || here {
		return seed, err
	}
	itself, err := reach(machine, before.AdminKubeconfig)
	if err != nil {
		return seed, err
	}
	asking, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	there, err := clusterapi.Exists(asking, itself.Kube.Dynamic, in.Namespace, in.Name)
	if err != nil {
		return seed, fault.New("cluster "+in.Name, fmt.Errorf("the seed does not know it, and the cluster itself does not answer: %w", err),
			"see its servers with slipway status; if it is gone for good, run slipway down, then slipway up")
	}
	if there {
		return itself, nil
	}
	// It was made from here, runs, and nobody has its objects: making them again would make
	// another cluster beside it.
	return seed, fault.New("cluster "+in.Name, errors.New("it runs, but neither the seed nor the cluster itself has its objects: the seed lost its data"),
		"run slipway recover, which puts the seed's datastore of a backup back")
}

func reach(machine Way, kubeconfig string) (location, error) {
	l := location{Side: move.Side{Name: "management cluster"}, place: move.Management}
	var err error
	l.Kube, l.Config, err = cluster(machine, kubeconfig)
	return l, err
}
