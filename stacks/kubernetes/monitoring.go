package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// MonitoringInputs are the inputs of Prometheus and what goes with it on a cluster.
type MonitoringInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the cluster's server; on a new server everything is installed again.
	ServerID string `pulumi:"serverID"`
	// Release is that of this binary, which has the objects and the rules.
	Release string `pulumi:"release"`
	// Settings is stack.Settings as JSON. It contains logins.
	Settings string `pulumi:"settings" provider:"secret"`
}

// MonitoringState is the state of monitoring.
type MonitoringState struct{ MonitoringInputs }

// Monitoring is Prometheus and what goes with it in a program. It counts as created when it
// is available.
type Monitoring struct{ pulumi.CustomResourceState }

// MonitoringRefs are the inputs of NewMonitoring.
type MonitoringRefs struct {
	LoginRefs
	Kubeconfig, ServerID pulumi.StringInput
	Release, Settings    string
}

// NewMonitoring adds monitoring to the program.
func NewMonitoring(ctx *pulumi.Context, name string, refs MonitoringRefs, options ...pulumi.ResourceOption) (*Monitoring, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["release"] = pulumi.String(refs.Release)
	properties["settings"] = pulumi.ToSecret(pulumi.String(refs.Settings))
	r := &Monitoring{}
	return r, ctx.RegisterResource("slipway:kubernetes:Monitoring", name, properties, r, options...)
}

func (s MonitoringState) inputs() MonitoringInputs { return s.MonitoringInputs }

type monitoringAddon struct {
	controller[MonitoringInputs, MonitoringState]
}

// Annotate names the resource's type.
func (*monitoringAddon) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Monitoring") }

// monitoringTime is how long monitoring may go without progress until it is available.
const monitoringTime = 10 * time.Minute

type monitoringKind struct{}

func (monitoringKind) object(MonitoringInputs) string { return "monitoring" }

func (monitoringKind) id(MonitoringInputs) string { return "monitoring" }

func (monitoringKind) blank(in MonitoringInputs) MonitoringState { return MonitoringState{in} }

func (k monitoringKind) settle(ctx context.Context, in MonitoringInputs) (MonitoringState, error) {
	settings, err := stack.ParseSettings([]byte(in.Settings))
	if err != nil {
		return k.blank(in), err
	}
	ctx, tell, stop := patient(ctx, monitoringTime, "it is not available")
	defer stop()
	machine, err := in.reach(ctx)
	if err != nil {
		return k.blank(in), err
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return k.blank(in), err
	}
	if err := makeFolders(ctx, machine, settings.Paths()); err != nil {
		return k.blank(in), err
	}
	tell("applying")
	if err := stack.Apply(ctx, on, settings); err != nil {
		return k.blank(in), err
	}
	return k.blank(in), on.WaitAvailable(ctx, stack.Deployments(settings), tell)
}

// makeFolders makes folders on a seed. Those that are there stay as they are: pods run on them.
func makeFolders(ctx context.Context, way Way, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	seed, ok := way.(*remote.Machine)
	if !ok {
		return fault.New("spec.monitoring", errors.New("a seed on this machine has no folders for it"), "add spec.managementCluster, or leave out spec.monitoring")
	}
	if _, err := seed.Run(ctx, "mkdir", append([]string{"--parents", "--mode=0750", "--"}, paths...)...); err != nil {
		return fmt.Errorf("making the folders of monitoring: %w", err)
	}
	return nil
}

// remove takes it away but for its volumes, which have the past.
func (k monitoringKind) remove(ctx context.Context, state MonitoringState) error {
	in := state.MonitoringInputs
	machine, err := in.reachNow(ctx)
	if err != nil {
		return fault.New("seed at "+in.Address, err, "run slipway down, which deletes all resources with the environment's ownership tag")
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	return stack.Remove(ctx, on)
}
