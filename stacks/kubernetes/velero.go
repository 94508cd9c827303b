package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/velero"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// VeleroInputs are the inputs of Velero on a cluster.
type VeleroInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the cluster's server; on a new server everything is installed again.
	ServerID string `pulumi:"serverID"`
	// Release is that of the bundle's definitions.
	Release string `pulumi:"release"`
	// Settings is velero.Settings as JSON. It contains a login.
	Settings string `pulumi:"settings" provider:"secret"`
}

// VeleroState is the state of Velero.
type VeleroState struct{ VeleroInputs }

// Velero is Velero in a program. It counts as created when it is available.
type Velero struct{ pulumi.CustomResourceState }

// VeleroRefs are the inputs of NewVelero.
type VeleroRefs struct {
	LoginRefs
	Kubeconfig, ServerID pulumi.StringInput
	Release, Settings    string
}

// NewVelero adds Velero to the program.
func NewVelero(ctx *pulumi.Context, name string, refs VeleroRefs, options ...pulumi.ResourceOption) (*Velero, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["release"] = pulumi.String(refs.Release)
	properties["settings"] = pulumi.ToSecret(pulumi.String(refs.Settings))
	r := &Velero{}
	return r, ctx.RegisterResource("slipway:kubernetes:Velero", name, properties, r, options...)
}

func (s VeleroState) inputs() VeleroInputs { return s.VeleroInputs }

type veleroAddon struct {
	controller[VeleroInputs, VeleroState]
}

// Annotate names the resource's type.
func (*veleroAddon) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Velero") }

// veleroTime is how long Velero may go without progress until it is available.
const veleroTime = 10 * time.Minute

type veleroKind struct{ bundle *bundle.Folder }

func (veleroKind) object(VeleroInputs) string { return "Velero" }

func (veleroKind) id(VeleroInputs) string { return "velero" }

func (veleroKind) blank(in VeleroInputs) VeleroState { return VeleroState{in} }

func (k veleroKind) settle(ctx context.Context, in VeleroInputs) (VeleroState, error) {
	settings, err := velero.ParseSettings([]byte(in.Settings))
	if err != nil {
		return k.blank(in), err
	}
	definitions, err := veleroDefinitions(k.bundle)
	if err != nil {
		return k.blank(in), err
	}
	ctx, tell, stop := patient(ctx, veleroTime, "it is not available")
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
	tell("applying")
	if err := velero.Apply(ctx, on, definitions, settings); err != nil {
		return k.blank(in), err
	}
	return k.blank(in), on.WaitAvailable(ctx, []types.NamespacedName{velero.Deployment()}, tell)
}

// veleroDefinitions reads the definitions of the bundle's Velero.
func veleroDefinitions(from *bundle.Folder) ([]*unstructured.Unstructured, error) {
	if from == nil {
		return nil, errors.New("there is no bundle")
	}
	item := from.Bill().Item(component.VeleroDefinitions)
	if item == nil {
		return nil, fault.New("bundle "+from.Dir(), errors.New("it contains no Velero"), "run slipway bundle build --with velero --dir "+from.Dir())
	}
	text, err := os.ReadFile(from.Blob(item.SHA256))
	if err != nil {
		return nil, fmt.Errorf("reading the definitions of Velero: %w", err)
	}
	return kube.Decode(bytes.NewReader(text))
}

// remove takes the server, its login and its rights away. Its objects and their definitions
// stay, and so does what is in the bucket: Velero's own finalizers would hold them forever.
func (k veleroKind) remove(ctx context.Context, state VeleroState) error {
	in := state.VeleroInputs
	machine, err := in.reachNow(ctx)
	if err != nil {
		return fault.New("seed at "+in.Address, err, "run slipway down, which deletes all resources with the environment's ownership tag")
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	return velero.Remove(ctx, on)
}
