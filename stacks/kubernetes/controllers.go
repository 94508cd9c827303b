package kubernetes

import (
	"context"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/kube"
)

// ControllersInputs are the inputs of Slipway's own controllers.
type ControllersInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the cluster's server; on a new server everything is installed again.
	ServerID string `pulumi:"serverID"`
	// Image is the reference of their image.
	Image string `pulumi:"image"`
	// Replicas of each; one is enough on a single node.
	Replicas int `pulumi:"replicas"`
	// TrustBundle holds additional PEM certificates that they trust.
	TrustBundle string `pulumi:"trustBundle"`
	// Environment holds their environment variables: the proxy.
	Environment map[string]string `pulumi:"environment,optional" provider:"secret"`
	// Version is the version of this binary, which contains their manifests. The
	// provider library reserves the name "version".
	Version string `pulumi:"slipwayVersion"`
}

// ControllersState is the state of Slipway's own controllers.
type ControllersState struct{ ControllersInputs }

// Controllers are the addon provider and the janitor in a program. They count as created
// when they are available.
type Controllers struct{ pulumi.CustomResourceState }

// ControllersRefs are the inputs of NewControllers.
type ControllersRefs struct {
	LoginRefs
	Kubeconfig, ServerID        pulumi.StringInput
	Image, TrustBundle, Version string
	Replicas                    int
	Environment                 map[string]string
}

// NewControllers adds the controllers to the program.
func NewControllers(ctx *pulumi.Context, name string, refs ControllersRefs, options ...pulumi.ResourceOption) (*Controllers, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["image"] = pulumi.String(refs.Image)
	properties["trustBundle"] = pulumi.String(refs.TrustBundle)
	properties["slipwayVersion"] = pulumi.String(refs.Version)
	properties["replicas"] = pulumi.Int(refs.Replicas)
	if len(refs.Environment) > 0 {
		properties["environment"] = pulumi.ToStringMap(refs.Environment)
	}
	r := &Controllers{}
	return r, ctx.RegisterResource("slipway:kubernetes:Controllers", name, properties, r, options...)
}

func (s ControllersState) inputs() ControllersInputs { return s.ControllersInputs }

type ownControllers struct {
	controller[ControllersInputs, ControllersState]
}

// Annotate names the resource's type.
func (*ownControllers) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Controllers") }

// controllersTime is how long they may go without progress until they are available.
const controllersTime = 10 * time.Minute

type controllersKind struct{}

func (controllersKind) object(ControllersInputs) string { return "controllers" }

func (controllersKind) id(ControllersInputs) string { return "controllers" }

func (controllersKind) blank(in ControllersInputs) ControllersState { return ControllersState{in} }

func (k controllersKind) settle(ctx context.Context, in ControllersInputs) (ControllersState, error) {
	machine, err := in.reach(ctx)
	if err != nil {
		return k.blank(in), err
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return k.blank(in), err
	}
	return k.blank(in), applyControllers(ctx, on, controllers.Options{Image: in.Image, Replicas: in.Replicas, TrustBundle: in.TrustBundle, Environment: in.Environment})
}

// applyControllers applies them and waits until they are available.
func applyControllers(ctx context.Context, on *kube.Cluster, options controllers.Options) error {
	ctx, tell, stop := patient(ctx, controllersTime, "they are not available")
	defer stop()
	return applyControllersTelling(ctx, on, options, tell)
}

// applyControllersTelling is applyControllers with another's patience.
func applyControllersTelling(ctx context.Context, on *kube.Cluster, options controllers.Options, tell func(string)) error {
	objects, err := controllers.Objects(options)
	if err != nil {
		return err
	}
	tell("applying")
	if err := on.ApplyObjects(ctx, objects); err != nil {
		return err
	}
	return on.WaitAvailable(ctx, options.Deployments(), tell)
}
