package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/clusterctl/move"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// ManagementMoveInputs are the inputs of the move of a cluster's objects onto
// the cluster itself.
type ManagementMoveInputs struct {
	Login
	// Kubeconfig leads to the seed, ManagementKubeconfig to the cluster.
	Kubeconfig           string `pulumi:"kubeconfig" provider:"secret"`
	ManagementKubeconfig string `pulumi:"managementKubeconfig" provider:"secret"`
	// ServerID is the seed; on another one it is noted anew where the objects are.
	ServerID string `pulumi:"serverID"`
	// Name and Namespace are those of the Cluster.
	Name      string `pulumi:"name"`
	Namespace string `pulumi:"namespace"`
}

// ManagementMoveState is the state of the move, with what arrived.
type ManagementMoveState struct {
	ManagementMoveInputs
	Objects int `pulumi:"objects"`
	// Machines are the providerIDs of the Machines by their names.
	Machines map[string]string `pulumi:"machines"`
}

// ManagementMove is in a program while the objects are on the cluster itself:
// created means that all of them arrived and nothing was made anew, deleted
// that they are back on the seed.
type ManagementMove struct{ pulumi.CustomResourceState }

// ManagementMoveRefs are the inputs of NewManagementMove.
type ManagementMoveRefs struct {
	LoginRefs
	Kubeconfig, ManagementKubeconfig, ServerID pulumi.StringInput
	Name, Namespace                            string
}

// NewManagementMove adds the move to the program.
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

// The longest that a move may take, and how long controllers may take to know
// again what they lost with the objects' status before a cluster is deleted.
const (
	moveTime  = 15 * time.Minute
	learnTime = 3 * time.Minute
	// askTime is how long a cluster that may be gone has to answer.
	askTime = 10 * time.Second
)

type managementMoveKind struct{}

func (managementMoveKind) object(in ManagementMoveInputs) string { return "move of cluster " + in.Name }

func (managementMoveKind) id(in ManagementMoveInputs) string { return in.Namespace + "/" + in.Name }

func (managementMoveKind) blank(in ManagementMoveInputs) ManagementMoveState {
	return ManagementMoveState{ManagementMoveInputs: in}
}

// settle brings the objects to the cluster itself, and waits until its Cluster
// API says that all is ready, with the same machines.
func (k managementMoveKind) settle(ctx context.Context, in ManagementMoveInputs) (ManagementMoveState, error) {
	state := k.blank(in)
	ctx, cancel := context.WithTimeoutCause(ctx, moveTime, fmt.Errorf("it is not done after %s", moveTime))
	defer cancel()
	machine, err := in.open(ctx)
	if err != nil {
		return state, err
	}
	defer machine.Close()
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
		return state, fault.New("cluster "+in.Name, fmt.Errorf("its machines were %v when it moved, and are %v", proof.Machines, after.Machines), "slipway status shows them; then run the same command again")
	}
	state.Objects, state.Machines = after.Objects, after.Machines
	return state, nil
}

// remove brings the objects back to the seed.
func (managementMoveKind) remove(ctx context.Context, state ManagementMoveState) error {
	in := state.ManagementMoveInputs
	machine, err := in.openNow(ctx)
	if err != nil {
		return fault.New("seed at "+in.Address, err, "slipway down goes on without it: it takes what carries the environment's mark")
	}
	defer machine.Close()
	_, err = MoveBack(ctx, machine, in, func(text string) { status(ctx, text) })
	return err
}

// move is what is moved, through the machine.
func (in ManagementMoveInputs) move(ctx context.Context, machine *remote.Machine) (move.Move, error) {
	m := move.Move{Cluster: types.NamespacedName{Namespace: in.Namespace, Name: in.Name}, Kubeconfig: in.ManagementKubeconfig,
		Seed: move.Side{Name: "seed"}, Management: move.Side{Name: "management cluster"}, Progress: func(text string) { status(ctx, text) }}
	var err error
	if m.Seed.Kube, m.Seed.Config, err = cluster(machine, in.Kubeconfig); err != nil {
		return m, err
	}
	m.Management.Kube, m.Management.Config, err = cluster(machine, in.ManagementKubeconfig)
	return m, err
}

// MoveBack brings a cluster's objects back to the seed, so that the cluster can
// be deleted by somebody else than itself; false is that they were there. It
// gives the controllers on the seed some time to read the cloud.
func MoveBack(ctx context.Context, machine *remote.Machine, in ManagementMoveInputs, progress func(string)) (bool, error) {
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

// away says that there is something to bring back to the seed, or to put in
// order. A cluster that does not answer and that no record is about is gone.
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

// location is the cluster with a cluster's objects.
type location struct {
	move.Side
	place move.Place
}

// locate finds where the objects of a cluster are: where the record on the seed
// says; without one on the seed. A seed that was made anew knows nothing: then the
// cluster is asked, by the kubeconfig that was known before, if it may look after
// itself.
func locate(ctx context.Context, machine *remote.Machine, in ClusterInputs, before ClusterState) (location, error) {
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
		return seed, fault.New("cluster "+in.Name, fmt.Errorf("the seed does not know it, and it does not answer itself: %w", err),
			"slipway status shows its servers; if it is gone for good: slipway down, then slipway up")
	}
	if there {
		return itself, nil
	}
	return seed, nil
}

func reach(machine *remote.Machine, kubeconfig string) (location, error) {
	l := location{Side: move.Side{Name: "management cluster"}, place: move.Management}
	var err error
	l.Kube, l.Config, err = cluster(machine, kubeconfig)
	return l, err
}
