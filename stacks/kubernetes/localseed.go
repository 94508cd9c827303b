package kubernetes

import (
	"context"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// LocalSeedInputs are the inputs of the disposable seed on the operator's machine.
type LocalSeedInputs struct {
	// Local are LocalSettings as JSON.
	Local string `pulumi:"local" provider:"secret"`
}

// LocalSeedState is the state of a local seed: nothing but its settings, because it goes
// when the management cluster manages itself, and is made again on any machine.
type LocalSeedState struct{ LocalSeedInputs }

// LocalSeed is the local seed in a program. It counts as created when Cluster API answered
// on it once.
type LocalSeed struct{ pulumi.CustomResourceState }

// NewLocalSeed adds the local seed to the program.
func NewLocalSeed(ctx *pulumi.Context, name, settings string, options ...pulumi.ResourceOption) (*LocalSeed, error) {
	r := &LocalSeed{}
	return r, ctx.RegisterResource("slipway:kubernetes:LocalSeed", name, pulumi.Map{"local": pulumi.ToSecret(pulumi.String(settings))}, r, options...)
}

func (s LocalSeedState) inputs() LocalSeedInputs { return s.LocalSeedInputs }

type localSeed struct {
	controller[LocalSeedInputs, LocalSeedState]
}

// Annotate names the resource's type.
func (*localSeed) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "LocalSeed") }

type localSeedKind struct{ seeds *LocalSeeds }

func (localSeedKind) object(LocalSeedInputs) string { return "local seed" }

func (localSeedKind) id(LocalSeedInputs) string { return "local-seed" }

func (localSeedKind) blank(in LocalSeedInputs) LocalSeedState { return LocalSeedState{in} }

func (k localSeedKind) settle(ctx context.Context, in LocalSeedInputs) (LocalSeedState, error) {
	_, err := k.seeds.Bring(ctx, in.Local, func(text string) { status(ctx, text) })
	return k.blank(in), err
}

// update brings no seed back: if there is none, nothing needs it.
func (k localSeedKind) update(ctx context.Context, _ LocalSeedState, in LocalSeedInputs) (LocalSeedState, error) {
	there, err := k.seeds.Find(ctx, in.Local, func(text string) { status(ctx, text) })
	if err != nil || there == "" {
		return k.blank(in), err
	}
	return k.settle(ctx, in)
}

func (k localSeedKind) remove(ctx context.Context, state LocalSeedState) error {
	return k.seeds.Remove(ctx, state.Local)
}
